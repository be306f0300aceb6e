"""The arrays of a fit as the tables of `mtlirt.result`."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np
import numpy.typing as npt
import pandas as pd

from mtlirt.engine.options import FitOptions
from mtlirt.engine.placement import PlacedDomain, weights_taken
from mtlirt.engine.scoring import TraitTable
from mtlirt.engine.state import State
from mtlirt.irt.curves import Items
from mtlirt.irt.items import LIMIT
from mtlirt.irt.kernels import Float
from mtlirt.irt.median import SineMedian, sine_median
from mtlirt.irt.representation import Representation, composite_moments

FEWEST_ITEMS = 3
"""A domain with fewer informative items is flagged as weakly identified."""

NEAR_LIMIT = 0.99 * LIMIT
"""Beyond this a slope or intercept is at the limit: the last standardisation moves it a little."""

FLATTEST = 1e-6
"""Below this slope an item has no difficulty."""


def item_table(
    index: pd.Index,
    domains: Sequence[PlacedDomain],
    state: State,
    covariances: Sequence[Float],
    errors: Sequence[Float],
) -> pd.DataFrame:
    """`Fit.items`: covariances given the traits, and those that count finding them, by domain."""
    slope = np.concatenate([part.slope for part in state.items])
    intercept = np.concatenate([part.intercept for part in state.items])
    limits = np.maximum(np.abs(slope), np.abs(intercept)) >= NEAR_LIMIT
    spread = np.concatenate(covariances), np.concatenate(errors)
    return item_columns(index, domains, state.items, *spread, limits)


def item_columns(
    index: pd.Index,
    domains: Sequence[PlacedDomain],
    items: Sequence[Items],
    spread: Float,
    errors: Float,
    at_limit: npt.NDArray[np.bool_],
) -> pd.DataFrame:
    """`Fit.items` of some parameters and their two kinds of covariances (aa, ad, dd)."""
    slope = np.concatenate([part.slope for part in items])
    intercept = np.concatenate([part.intercept for part in items])
    steep = np.abs(slope) > FLATTEST
    return pd.DataFrame(
        {
            "slope": slope,
            "intercept": intercept,
            "guessing": np.concatenate([part.guessing for part in items]),
            "difficulty": np.where(steep, -intercept / np.where(steep, slope, 1.0), np.nan),
            "slope_variance": spread[:, 0],
            "slope_intercept_covariance": spread[:, 1],
            "intercept_variance": spread[:, 2],
            "slope_se": np.sqrt(errors[:, 0]),
            "intercept_se": np.sqrt(errors[:, 2]),
            "answered": np.concatenate([domain.cells for domain in domains]),
            "successes": np.concatenate([domain.successes for domain in domains]),
            "attempts": np.concatenate([domain.attempts for domain in domains]),
            "constant": np.concatenate([domain.constant for domain in domains]),
            "at_limit": at_limit,
        },
        index=index,
    )


def weak_domains(domains: Sequence[PlacedDomain]) -> npt.NDArray[np.bool_]:
    """Which domains have too few informative items to be well identified."""
    return np.array([(~domain.constant).sum() < FEWEST_ITEMS for domain in domains])


def domain_table(
    domains: Sequence[PlacedDomain],
    state: State,
    representation: Representation,
    options: FitOptions,
    median: SineMedian,
) -> pd.DataFrame:
    """`Fit.domains`."""
    mean = np.array([prior.mean for prior in state.slope_priors])
    precision = np.array([prior.precision for prior in state.slope_priors])
    known = np.full(len(domains), options.priors)
    return pd.DataFrame(
        {
            "items": [len(domain.cells) for domain in domains],
            "models": [len(domain.models) for domain in domains],
            "uniqueness": representation.uniqueness,
            "pooling": np.where(representation.tied & ~state.alone, "joint", "own"),
            "sign_borrowed": state.unsigned & representation.tied,
            "slope_mean": np.where(known, mean, np.nan),
            "slope_sd": np.where(known, 1.0 / np.sqrt(np.where(known, precision, 1.0)), np.nan),
            "weak": weak_domains(domains),
            "flat": [bool(held.all()) for held in state.held],
            "general_weight": median.weights,
            "cosine": median.cosines,
            "fused": np.zeros(len(domains), bool),
        },
        index=pd.Index([domain.name for domain in domains], name="domain"),
    )


def model_table(
    index: pd.Index,
    domains: Sequence[PlacedDomain],
    table: TraitTable,
    representation: Representation,
    general_weights: Float,
) -> pd.DataFrame:
    """`Fit.models`: cells answered, domains taken, equal-weight composite, general trait."""
    answered = np.stack([domain.answered for domain in domains], axis=1)
    weights = np.full(len(domains), 1.0 / len(domains))
    sites = table.precision, table.shift, representation
    mean, variance = composite_moments(*sites, weights)
    general, general_variance = composite_moments(*sites, general_weights)
    total = answered.sum(axis=1)
    return pd.DataFrame(
        {
            "answered": total,
            "domains": (answered > 0).sum(axis=1),
            "overall": np.where(total > 0, mean, np.nan),
            "overall_sd": np.where(total > 0, np.sqrt(variance), np.nan),
            "general": np.where(total > 0, general, np.nan),
            "general_sd": np.where(total > 0, np.sqrt(general_variance), np.nan),
        },
        index=index,
    )


def general_trait(
    domains: Sequence[PlacedDomain], table: TraitTable, flat: npt.NDArray[np.bool_]
) -> SineMedian:
    """The sine median of the traits' means over the models with data, by their weights.

    Weak and flat domains, whose traits are mostly the other domains', have no say in it where
    there are others: lying between those, they would be the median.
    """
    weight = weights_taken(domains).max(axis=1)
    counts = weight > 0.0
    weight, mean = weight[counts] / weight[counts].mean(), table.mean[counts]
    mean = np.sqrt(weight)[:, None] * (mean - weight @ mean / len(weight))
    heard = ~(weak_domains(domains) | flat)
    median = sine_median(np.where(heard | ~heard.any(), mean, 0.0))
    lengths = np.linalg.norm(mean, axis=0) * np.linalg.norm(median.general)
    cosines = np.divide(median.general @ mean, lengths, np.zeros(len(lengths)), where=lengths > 0.0)
    return median._replace(cosines=cosines)


def trait_table(
    index: pd.Index, domains: Sequence[PlacedDomain], table: TraitTable
) -> pd.DataFrame:
    """`Fit.traits`: one row for each model and domain."""
    answered = np.stack([domain.answered for domain in domains], axis=1)
    names = pd.Index([domain.name for domain in domains], name="domain")
    empty = ~(answered > 0).any(axis=1, keepdims=True)
    return pd.DataFrame(
        {
            "mean": np.where(empty, np.nan, table.mean).ravel(),
            "sd": np.where(empty, np.nan, table.sd).ravel(),
            "site_precision": table.precision.ravel(),
            "site_shift": table.shift.ravel(),
            "answered": answered.ravel(),
            "borrowed": ((answered == 0) & ~empty).ravel(),
            **raw_columns(domains),
        },
        index=pd.MultiIndex.from_product([index, names]),
    )


def raw_columns(domains: Sequence[PlacedDomain]) -> dict[str, Float]:
    """Columns of `Fit.traits`: right answers and attempts, model by model."""
    return {
        "correct": np.stack([domain.score for domain in domains], axis=1).ravel(),
        "attempts": np.stack([domain.tries for domain in domains], axis=1).ravel(),
    }


def loading_table(domains: Sequence[PlacedDomain], representation: Representation) -> pd.DataFrame:
    """`Fit.representation`."""
    return pd.DataFrame(
        representation.loadings,
        index=pd.Index([domain.name for domain in domains], name="domain"),
        columns=[f"factor_{k + 1}" for k in range(representation.rank)],
    )
