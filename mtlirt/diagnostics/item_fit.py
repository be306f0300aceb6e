"""Item fit: whether the share of right answers follows the item's curve in intervals of traits."""

from __future__ import annotations

from typing import NamedTuple

import numpy as np
from scipy.special import chdtrc

from mtlirt.diagnostics.item_scores import ItemScores
from mtlirt.diagnostics.posterior import Float

INTERVALS = 6
"""Intervals of traits with equal numbers of models."""

LEAST_INFORMATION = 4.0
"""Neighbouring intervals are joined until the right answers in each vary by so much."""

FEWEST_INTERVALS = 3
"""An item with fewer is not tested: its two parameters leave nothing to test."""


class ItemFit(NamedTuple):
    """Tests of items, shape (items,) each; null where there is too little to test.

    Attributes
    ----------
    statistic
        Chi-square if the item follows its curve.
    freedom
        Its degrees of freedom.
    p
        The probability of a larger one.
    gap
        The observed minus the expected share of right answers in the interval where they
        differ most.
    """

    statistic: Float
    freedom: Float
    p: Float
    gap: Float


def interval_functions(points: Float, traits: Float) -> Float:
    """Functions to test: the indicators of intervals of traits, then the trait itself.

    Parameters
    ----------
    points
        The grid, shape (points,).
    traits
        Of the domain's takers: the ends of the intervals are their quantiles.

    Returns
    -------
    numpy.ndarray
        Shape (intervals + 1, points).
    """
    shares = np.arange(1, INTERVALS) / INTERVALS
    ends = np.unique(np.quantile(traits, shares))
    place = np.searchsorted(ends, points)
    indicators = place == np.arange(len(ends) + 1)[:, None]
    return np.vstack([indicators[indicators.any(axis=1)], points])


def item_fit(sums: ItemScores) -> ItemFit:
    """Test items whose sums are those of `interval_functions`.

    Notes
    -----
    The scores of the intervals are freed of those of the item's slope and intercept, which makes
    the test valid at estimates near the maximum, whatever prior they had (Neyman's C(alpha); as
    a Lagrange multiplier test of item response functions: Glas and Suarez Falcon, 2003, Applied
    Psychological Measurement 27). Of so many intervals two directions are left out: their sum,
    which is the score of the intercept, and the one that the slope takes.
    """
    found = [_test(*(part[j] for part in sums)) for j in range(len(sums.score))]
    return ItemFit(*np.array(found, np.float64).reshape(-1, len(ItemFit._fields)).T)


def _test(score: Float, information: Float, mass: Float) -> tuple[float, float, float, float]:
    joined = _joined(np.diag(information)[:-1])
    untested = np.nan, np.nan, np.nan, np.nan
    if joined.shape[1] < FEWEST_INTERVALS:
        return untested
    tested = np.vstack([joined, np.zeros(joined.shape[1])])
    nuisance = np.zeros((len(score), 2))
    nuisance[:-1, 0] = nuisance[-1, 1] = 1.0
    across = tested.T @ information @ nuisance
    carried = across @ np.linalg.pinv(nuisance.T @ information @ nuisance, hermitian=True)
    rest = tested.T @ score - carried @ (nuisance.T @ score)
    before = tested.T @ information @ tested
    scale = 1.0 / np.sqrt(np.diag(before))
    spread = (before - carried @ across.T) * np.outer(scale, scale)
    values, vectors = np.linalg.eigh(spread)
    free = len(values) - 2
    if values[-free] <= 0.0:
        return untested
    statistic = float(((vectors[:, -free:].T @ (scale * rest)) ** 2 / values[-free:]).sum())
    gaps = rest / (joined.T @ mass[:-1])
    return statistic, free, float(chdtrc(free, statistic)), float(gaps[np.abs(gaps).argmax()])


def _joined(information: Float) -> Float:
    """Neighbouring intervals put together, shape (intervals, joined ones), 0 or 1."""
    place, total, joined = np.zeros(len(information), np.intp), 0.0, 0
    for k, amount in enumerate(information):
        place[k] = joined
        total += amount
        if total >= LEAST_INFORMATION:
            joined, total = joined + 1, 0.0
    place = np.minimum(place, max(joined - 1, 0))  # what is left over goes with the last
    return np.asarray((place[:, None] == np.arange(max(joined, 1))).astype(np.float64))
