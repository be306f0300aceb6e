"""Fits of any size and estimator from random tables, as a snapshot would hold them."""

import json
import re

import numpy as np
import pandas as pd
import pytest

from mtlirt.irt.curves import probability
from mtlirt.result import Fit

POINT = ("joint", "local", "global", "accuracy")
"""Estimators without standard deviations."""


@pytest.fixture(name="make_fit", scope="session")
def make_fit_fixture():
    return make_fit


@pytest.fixture(name="data_of", scope="session")
def data_of_fixture():
    return data_of


def data_of(html):
    """What a report's scripts read."""
    pattern = r'<script type="application/json" id="report-data">(.*?)</script>'
    return json.loads(re.search(pattern, html, flags=re.DOTALL)[1])


def make_fit(
    models=12, domains=("algebra", "law", "reading"), items=8, estimator="marginal", seed=0
):
    """A fit of so many models, or of models of given ids.

    The last model has no data and the one before lacks the first of several domains; the first
    item of a domain is constant, the second of negative slope, the third at a limit.
    """
    rng = np.random.default_rng(seed)
    ids = [f"model-{k:04d}" for k in range(models)] if isinstance(models, int) else list(models)
    point, tied = estimator in POINT, estimator == "marginal" and len(domains) > 1
    shape = len(ids), len(domains)
    loading = np.full(len(domains), 0.8) if tied else np.zeros(len(domains))
    ability = rng.normal(size=(len(ids), 1)) * loading
    traits = ability + rng.normal(size=shape) * np.sqrt(1.0 - loading**2)
    answered = np.full(shape, items)
    if len(ids) > 2 and not point:
        answered[-1] = 0
        answered[-2, : len(domains) > 1] = 0
    empty = (answered == 0).all(axis=1)
    traits[empty] = np.nan
    sd = np.full(shape, np.nan if point else 0.3)
    sd[empty] = np.nan
    overall = traits.mean(axis=1)
    return Fit(
        items=item_table(rng, domains, items, len(ids), estimator),
        domains=pd.DataFrame(
            {
                "items": items,
                "models": (answered > 0).sum(axis=0),
                "uniqueness": np.nan if point else 1.0 - loading**2,
                "pooling": "joint" if tied or estimator in ("joint", "global") else "own",
                "sign_borrowed": False,
                "slope_mean": np.nan if point else 1.0,
                "slope_sd": np.nan if point else 0.4,
                "weak": False,
                "flat": False,
                "general_weight": np.nan if estimator == "joint" else 1.0 / len(domains),
                "cosine": 0.9,
                "fused": estimator == "global",
            },
            index=pd.Index(domains, name="domain"),
        ),
        models=pd.DataFrame(
            {
                "answered": answered.sum(axis=1),
                "domains": (answered > 0).sum(axis=1),
                "overall": overall,
                "overall_sd": sd.mean(axis=1) / np.sqrt(len(domains)),
                "general": overall,
                "general_sd": sd.mean(axis=1) / np.sqrt(len(domains)),
                "weight": 1.0,
                "component": pd.array(np.where(empty, None, 1), "Int64"),
            },
            index=pd.Index(ids, name="model_id"),
        ),
        traits=pd.DataFrame(
            {
                "mean": traits.ravel(),
                "sd": sd.ravel(),
                "site_precision": np.nan if point else np.where(answered, 10.0, 0.0).ravel(),
                "site_shift": np.nan if point else np.where(answered, 10.0 * traits, 0.0).ravel(),
                "answered": answered.ravel(),
                "borrowed": ((answered == 0) & ~empty[:, None]).ravel(),
                "correct": np.floor(answered * 0.6).ravel(),
                "attempts": answered.ravel().astype(float),
            },
            index=pd.MultiIndex.from_product([ids, domains], names=["model_id", "domain"]),
        ),
        representation=pd.DataFrame(
            {"factor_1": loading} if tied else {}, index=pd.Index(domains, name="domain")
        ),
        history=round_table(0 if estimator == "accuracy" else 6),
        info={
            "estimator": estimator,
            "rank": int(tied),
            "rounds": 0 if estimator == "accuracy" else 6,
            "converged": True,
            "settled": True,
            "log_likelihood": None if estimator == "accuracy" else -1234.5,
        },
    )


def item_table(rng, domains, items, models, estimator):
    count = items * len(domains)
    index = pd.MultiIndex.from_product(
        [domains, [f"q{k}" for k in range(items)]], names=["domain", "item_id"]
    )
    place = np.arange(count) % items
    slope = rng.lognormal(0.0, 0.4, count)
    slope[place == 0] = 0.0
    slope[place == 1] *= -0.5
    slope[place == 2] = 4.0
    intercept = -slope * rng.normal(size=count)
    share = np.where(place == 0, 1.0, probability(0.0, slope, intercept))
    with np.errstate(invalid="ignore", divide="ignore"):
        difficulty = np.where(slope == 0.0, np.nan, -intercept / slope)
    unknown = estimator == "accuracy"
    variance = np.nan if estimator in POINT else 0.01
    return pd.DataFrame(
        {
            "slope": np.nan if unknown else slope,
            "intercept": np.nan if unknown else intercept,
            "guessing": 0.0,
            "difficulty": np.nan if unknown else difficulty,
            "slope_variance": variance,
            "slope_intercept_covariance": variance,
            "intercept_variance": variance,
            "answered": models,
            "successes": share * models,
            "attempts": float(models),
            "constant": place == 0,
            "at_limit": (place == 2) & (not unknown),
            "component": pd.array([1] * count, "Int64"),
        },
        index=index,
    )


def round_table(rounds):
    number = np.arange(1, rounds + 1)
    return pd.DataFrame(
        {
            "objective": -1000.0 - 50.0 * 0.3**number,
            "change": 0.3**number,
            "rank": 1,
            "fused": 0,
            "domain_seconds": 0.1,
            "shared_seconds": 0.01,
            "converged": number == rounds,
        },
        index=pd.Index(number, name="number"),
    )
