"""The arrays of a fit as the tables of `mtlirt.result`."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np
import pandas as pd

from mtlirt.engine.options import FitOptions
from mtlirt.engine.placement import PlacedDomain
from mtlirt.engine.scoring import TraitTable
from mtlirt.engine.state import State
from mtlirt.irt.items import LIMIT
from mtlirt.irt.kernels import Float
from mtlirt.irt.representation import Representation, composite_moments

FEWEST_ITEMS = 3
"""A domain with fewer informative items is flagged as weakly identified."""

FLATTEST = 1e-6
"""Below this slope an item has no difficulty."""


def item_table(
    index: pd.Index, domains: Sequence[PlacedDomain], state: State, covariances: Sequence[Float]
) -> pd.DataFrame:
    """`Fit.items`."""
    slope = np.concatenate([part.slope for part in state.items])
    intercept = np.concatenate([part.intercept for part in state.items])
    spread = np.concatenate(covariances)
    steep = np.abs(slope) > FLATTEST
    limits = np.maximum(np.abs(slope), np.abs(intercept)) >= LIMIT
    return pd.DataFrame(
        {
            "slope": slope,
            "intercept": intercept,
            "difficulty": np.where(steep, -intercept / np.where(steep, slope, 1.0), np.nan),
            "slope_variance": spread[:, 0],
            "slope_intercept_covariance": spread[:, 1],
            "intercept_variance": spread[:, 2],
            "answered": np.concatenate([domain.cells for domain in domains]),
            "successes": np.concatenate([domain.successes for domain in domains]),
            "attempts": np.concatenate([domain.attempts for domain in domains]),
            "constant": np.concatenate([domain.constant for domain in domains]),
            "at_limit": limits,
        },
        index=index,
    )


def domain_table(
    domains: Sequence[PlacedDomain],
    state: State,
    representation: Representation,
    options: FitOptions,
) -> pd.DataFrame:
    """`Fit.domains`."""
    informative = np.array([(~domain.constant).sum() for domain in domains])
    mean = np.array([prior.mean for prior in state.slope_priors])
    precision = np.array([prior.precision for prior in state.slope_priors])
    known = np.full(len(domains), options.priors)
    return pd.DataFrame(
        {
            "items": [len(domain.cells) for domain in domains],
            "models": [len(domain.models) for domain in domains],
            "uniqueness": representation.uniqueness,
            "slope_mean": np.where(known, mean, np.nan),
            "slope_sd": np.where(known, 1.0 / np.sqrt(np.where(known, precision, 1.0)), np.nan),
            "weak": informative < FEWEST_ITEMS,
            "flat": [bool(held.all()) for held in state.held],
        },
        index=pd.Index([domain.name for domain in domains], name="domain"),
    )


def model_table(
    index: pd.Index,
    domains: Sequence[PlacedDomain],
    table: TraitTable,
    representation: Representation,
) -> pd.DataFrame:
    """`Fit.models`: cells answered, domains taken, equal-weight composite of the traits."""
    answered = np.stack([domain.answered for domain in domains], axis=1)
    weights = np.full(len(domains), 1.0 / len(domains))
    mean, variance = composite_moments(table.precision, table.shift, representation, weights)
    total = answered.sum(axis=1)
    return pd.DataFrame(
        {
            "answered": total,
            "domains": (answered > 0).sum(axis=1),
            "overall": np.where(total > 0, mean, np.nan),
            "overall_sd": np.where(total > 0, np.sqrt(variance), np.nan),
        },
        index=index,
    )


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
        },
        index=pd.MultiIndex.from_product([index, names]),
    )


def loading_table(domains: Sequence[PlacedDomain], representation: Representation) -> pd.DataFrame:
    """`Fit.representation`."""
    return pd.DataFrame(
        representation.loadings,
        index=pd.Index([domain.name for domain in domains], name="domain"),
        columns=[f"factor_{k + 1}" for k in range(representation.rank)],
    )


def fitted_representation(domains: pd.DataFrame, representation: pd.DataFrame) -> Representation:
    """The representation back from a fit's tables."""
    return Representation(
        np.zeros(len(domains)),
        np.ascontiguousarray(representation.to_numpy(dtype=np.float64)),
        domains["uniqueness"].to_numpy(dtype=np.float64).copy(),
    )
