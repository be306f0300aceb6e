"""Ranks of models, how sure they are, and which models share one: from the scores' posteriors.

Given the items of a fit, models' scores are independent and normal, so their order is drawn model
by model.
"""

from __future__ import annotations

import itertools
from typing import NamedTuple

import numpy as np
import numpy.typing as npt
from scipy.special import ndtr

Float = npt.NDArray[np.float64]
Ranks = npt.NDArray[np.int64]

DRAWS = 1000
"""Orders of all models that rank intervals rest on."""

FIRST_LOOK = 64
"""Models that the best one of a group is compared with at first."""

SEED = 0
"""Of those orders, as each fit says that is made now."""

SAME_DECIMALS = 9
"""Scores, and standard deviations, that agree to so many decimals are equal."""


class RankIntervals(NamedTuple):
    """The lowest and highest rank of each model's interval, shape (models,) each."""

    low: Ranks
    high: Ranks


def ranks(mean: Float) -> Ranks:
    """1 + the number of better models; equal scores share a rank. Sorts once."""
    falling = -np.round(mean, SAME_DECIMALS)
    return np.searchsorted(np.sort(falling), falling, side="left").astype(np.int64) + 1


def rank_intervals(mean: Float, sd: Float, level: float, seed: int) -> RankIntervals:
    """Intervals that hold each model's true rank with the probability asked for, or more.

    Parameters
    ----------
    mean, sd
        Of the models' scores, shape (models,).
    level
        Between 0 and 1.
    seed
        Of the draws. The order of the models does not matter, and equal posteriors have equal
        intervals.

    Notes
    -----
    The quantiles of a model's rank among the scores drawn from all posteriors; models with equal
    posteriors share their draws. An interval always holds the model's own rank. Costs `DRAWS`
    sorts of all models, and as many numbers of 4 bytes for each.
    """
    models = len(mean)
    mean, sd = np.round(mean, SAME_DECIMALS), np.round(sd, SAME_DECIMALS)
    order = np.lexsort((sd, -mean))
    centre, spread = mean[order], sd[order]
    rng = np.random.default_rng(seed)
    drawn = np.empty((models, DRAWS), np.int32)
    place = np.arange(1, models + 1, dtype=np.int32)
    for k in range(DRAWS):
        drawn[np.argsort(-(centre + spread * rng.standard_normal(models))), k] = place
    low, high = np.empty(models, np.int64), np.empty(models, np.int64)
    differs = (centre[1:] != centre[:-1]) | (spread[1:] != spread[:-1])
    edges = [0, *(np.flatnonzero(differs) + 1), models]
    tail = 0.5 * (1.0 - level)
    for begin, end in itertools.pairwise(edges if models else []):
        ends = np.quantile(drawn[begin:end], [tail, 1.0 - tail], method="inverted_cdf")
        low[order[begin:end]], high[order[begin:end]] = ends
    own = ranks(mean)
    return RankIntervals(np.minimum(low, own), np.maximum(high, own))


def probability_better(mean: Float, sd: Float, other_mean: Float, other_sd: Float) -> Float:
    """P(a score is above another), broadcasting; 1/2 for equal posteriors, and for a tie."""
    gap = np.asarray(mean - other_mean, dtype=np.float64)
    spread = np.sqrt(np.square(sd) + np.square(other_sd))
    certain = np.where(gap == 0.0, 0.5, np.where(gap > 0.0, 1.0, 0.0))
    known = spread > 0.0
    return np.where(known, ndtr(gap / np.where(known, spread, 1.0)), certain)


def tie_groups(mean: Float, sd: Float, level: float) -> Ranks:
    """Numbers of the groups whose models their best one cannot be told from, shape (models,).

    The best model opens group 1; those that follow belong to it as far as the first that it beats
    with probability (1 + level)/2 or more, which opens the next. Costs a few times as many
    comparisons as there are models, and `FIRST_LOOK` a group at least.
    """
    mean, sd = np.round(mean, SAME_DECIMALS), np.round(sd, SAME_DECIMALS)
    order = np.lexsort((sd, -mean))
    centre, spread = mean[order], sd[order]
    groups = np.empty(len(mean), np.int64)
    begin, number = 0, 0
    while begin < len(order):
        number, size = number + 1, FIRST_LOOK
        while True:
            some = slice(begin, begin + size)
            better = probability_better(centre[begin], spread[begin], centre[some], spread[some])
            beaten = np.flatnonzero(better >= 0.5 * (1.0 + level))
            if len(beaten) or begin + size >= len(order):
                break
            size *= 4
        end = begin + int(beaten[0]) if len(beaten) else len(order)
        groups[order[begin:end]] = number
        begin = end
    return groups
