"""Point estimates of traits and items as the tables of `mtlirt.result`."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
import numpy.typing as npt
import pandas as pd

from mtlirt.engine.linked import Linked
from mtlirt.engine.placement import PlacedDomain
from mtlirt.engine.tables import item_columns, raw_columns, weak_domains
from mtlirt.irt.box import INTERCEPTS, SLOPES
from mtlirt.irt.curves import Items
from mtlirt.irt.kernels import Float
from mtlirt.responses.matrix import Responses


@dataclass(frozen=True)
class PointEstimate:
    """Traits without intervals, of the models that took every domain.

    Attributes
    ----------
    traits
        Shape (models, domains).
    items
        By domain; None where none are estimated.
    general
        The general trait, norm sqrt(models).
    fused
        Domains whose trait is the general one.
    weights
        general = traits @ weights, or None where it is not made so.
    tied
        Whether the domains' traits were drawn to each other.
    """

    traits: Float
    items: Sequence[Items] | None
    general: Float
    fused: npt.NDArray[np.bool_]
    weights: Float | None
    tied: bool


def point_tables(
    responses: Responses,
    domains: Sequence[PlacedDomain],
    estimate: PointEstimate,
    component: Linked,
) -> dict[str, pd.DataFrame]:
    """The tables of `Fit` but its history, null where an estimate has nothing to say."""
    names = pd.Index([domain.name for domain in domains], name="domain")
    models = responses.models.index
    return {
        "items": item_point_table(responses.items.index, domains, estimate.items).assign(
            component=component.items
        ),
        "domains": domain_point_table(names, domains, estimate),
        "models": model_point_table(models, domains, estimate).assign(component=component.models),
        "traits": trait_point_table(models, names, domains, estimate),
        "representation": pd.DataFrame(index=names),
    }


def item_point_table(
    index: pd.Index, domains: Sequence[PlacedDomain], items: Sequence[Items] | None
) -> pd.DataFrame:
    """`Fit.items`, without variances."""
    if items is None:
        items = [
            Items(np.full(len(d.cells), np.nan), np.full(len(d.cells), np.nan), d.guessing)
            for d in domains
        ]
    nothing = np.full((len(index), 3), np.nan)
    slope = np.concatenate([part.slope for part in items])
    intercept = np.concatenate([part.intercept for part in items])
    free = ~np.concatenate([domain.constant for domain in domains])
    at_limit = free & (np.isin(slope, SLOPES) | np.isin(intercept, INTERCEPTS))
    return item_columns(index, domains, items, nothing, nothing, at_limit)


def domain_point_table(
    names: pd.Index, domains: Sequence[PlacedDomain], estimate: PointEstimate
) -> pd.DataFrame:
    """`Fit.domains`."""
    nothing = np.full(len(names), np.nan)
    lengths = np.linalg.norm(estimate.traits, axis=0) * np.linalg.norm(estimate.general)
    cosine = estimate.general @ estimate.traits / np.where(lengths > 0.0, lengths, 1.0)
    return pd.DataFrame(
        {
            "items": [len(domain.cells) for domain in domains],
            "models": [len(domain.models) for domain in domains],
            "uniqueness": nothing,
            "pooling": "joint" if estimate.tied else "own",
            "sign_borrowed": np.zeros(len(names), bool),
            "slope_mean": nothing,
            "slope_sd": nothing,
            "weak": weak_domains(domains),
            "flat": np.zeros(len(names), bool),
            "general_weight": nothing if estimate.weights is None else estimate.weights,
            "cosine": np.clip(cosine, -1.0, 1.0),
            "fused": estimate.fused,
        },
        index=names,
    )


def model_point_table(
    index: pd.Index, domains: Sequence[PlacedDomain], estimate: PointEstimate
) -> pd.DataFrame:
    """`Fit.models`: the general trait is the overall one."""
    answered = np.stack([domain.answered for domain in domains], axis=1)
    general = np.full(len(index), np.nan)
    general[domains[0].models] = estimate.general
    nothing = np.full(len(index), np.nan)
    return pd.DataFrame(
        {
            "answered": answered.sum(axis=1),
            "domains": (answered > 0).sum(axis=1),
            "overall": general,
            "overall_sd": nothing,
            "general": general,
            "general_sd": nothing,
            "weight": 1.0,
        },
        index=index,
    )


def trait_point_table(
    index: pd.Index,
    names: pd.Index,
    domains: Sequence[PlacedDomain],
    estimate: PointEstimate,
) -> pd.DataFrame:
    """`Fit.traits`."""
    answered = np.stack([domain.answered for domain in domains], axis=1)
    mean = np.full(answered.shape, np.nan)
    mean[domains[0].models] = estimate.traits
    nothing = np.full(mean.size, np.nan)
    return pd.DataFrame(
        {
            "mean": mean.ravel(),
            "sd": nothing,
            "site_precision": nothing,
            "site_shift": nothing,
            "answered": answered.ravel(),
            "borrowed": np.zeros(mean.size, bool),
            **raw_columns(domains),
        },
        index=pd.MultiIndex.from_product([index, names]),
    )
