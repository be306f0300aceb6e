"""Which models a distilled benchmark is made with, and which it is judged by."""

from __future__ import annotations

from typing import Literal, get_args

import numpy as np
import numpy.typing as npt
import pandas as pd

from mtlirt.errors import InputError

SplitBy = Literal["score", "strength", "time"]

LEAST = 5
"""Models that training needs."""


def held_back(
    scores: pd.DataFrame,
    *,
    share: float,
    by: SplitBy = "score",
    order: pd.Series | None = None,
    groups: pd.Series | None = None,
    seed: int = 0,
) -> npt.NDArray[np.bool_]:
    """Which models to keep for the test.

    Parameters
    ----------
    scores
        `full_scores` of all models.
    share
        Of the models, kept for the test.
    by
        "score": one model, at random, of each run of models next to each other in strength;
        "strength": the strongest; "time": the latest by `order`.
    order
        By "time": when each model came, null for none: such models train.
    groups
        Models of one group, such as copies of one model, are kept or not together; null is none.
    seed
        Of the draw.

    Returns
    -------
    numpy.ndarray
        True for test models; shape (models,). Strength is the mean over benchmarks of a model's
        full scores, standardised over the models that have it; models without any are never kept.

    Raises
    ------
    InputError
        If an option is out of range, or too few models train.
    """
    if by not in get_args(SplitBy):
        raise InputError(f"split by {by!r}: choose one of {', '.join(get_args(SplitBy))}")
    if not 0.0 < share < 1.0:
        raise InputError(f"share {share} of test models: expected a number between 0 and 1")
    if (by == "time") != (order is not None):
        raise InputError("a split by time needs a column of the model table that says when")
    strength = strengths(scores)
    candidates = np.flatnonzero(~np.isnan(strength))
    units = _units(len(scores), groups)
    heads, first = np.unique(units[candidates], return_index=True)
    if by == "time" and order is not None:
        place = pd.Series(order).rank(method="dense").to_numpy(dtype=np.float64, na_value=-1.0)
    else:
        place = strength
    by_unit = (
        pd.Series(place[candidates]).groupby(units[candidates]).mean().reindex(heads).to_numpy()
    )
    ranked = heads[np.lexsort((candidates[first], by_unit))]
    wanted = round(share * len(ranked))
    if by == "score":
        kept = _one_of_each_run(ranked, wanted, np.random.default_rng(seed))
    else:
        kept = ranked[len(ranked) - wanted :]
    test = np.isin(units, kept) & ~np.isnan(strength)
    training = int((~test & ~np.isnan(strength)).sum())
    if wanted < 1 or training < LEAST:
        raise InputError(
            f"{len(candidates)} models answered all items of a benchmark: {training} would train "
            f"and {int(test.sum())} test; at least {LEAST} and 1 are needed"
        )
    return test


def folds_of(
    scores: pd.DataFrame, folds: int, groups: pd.Series | None = None, seed: int = 0
) -> npt.NDArray[np.intp]:
    """The fold of each model: folds are alike in strength; groups as for `held_back`."""
    strength = np.nan_to_num(strengths(scores), nan=-np.inf)
    units = _units(len(scores), groups)
    by_unit = pd.Series(strength).groupby(units).mean()
    ranked = by_unit.index.to_numpy()[np.argsort(by_unit.to_numpy(), kind="stable")]
    rng = np.random.default_rng(seed)
    dealt = np.concatenate([rng.permutation(folds) for _ in range(-(-len(ranked) // folds))])
    fold = pd.Series(dealt[: len(ranked)], index=ranked)
    return fold.reindex(units).to_numpy(dtype=np.intp)


def strengths(scores: pd.DataFrame) -> npt.NDArray[np.float64]:
    """Means of models' standardised full scores, nan for those without any."""
    benchmarks = scores.iloc[:, :-1]
    spread = benchmarks.std(ddof=0).replace(0.0, 1.0)
    return ((benchmarks - benchmarks.mean()) / spread).mean(axis=1).to_numpy(dtype=np.float64)


def _units(models: int, groups: pd.Series | None) -> npt.NDArray[np.intp]:
    """The number of the first model of each model's group; its own where it has none."""
    units = np.arange(models)
    if groups is None:
        return units
    codes, _ = pd.factorize(groups)
    _, first, inverse = np.unique(codes, return_index=True, return_inverse=True)
    return np.where(codes < 0, units, first[inverse])


def _one_of_each_run(
    ranked: npt.NDArray[np.intp], wanted: int, rng: np.random.Generator
) -> npt.NDArray[np.intp]:
    runs = np.array_split(ranked, max(wanted, 1))
    return np.array([run[rng.integers(len(run))] for run in runs], dtype=np.intp)
