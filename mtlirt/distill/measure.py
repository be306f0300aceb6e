"""How far predicted scores are from full ones."""

from __future__ import annotations

from collections.abc import Sequence
from typing import NamedTuple

import numpy as np
import numpy.typing as npt
import pandas as pd
from scipy.stats import spearmanr

Float = npt.NDArray[np.float64]

POINTS = 100.0
"""A share of 1 in points."""


class Predicted(NamedTuple):
    """Predicted scores with their intervals, shape (models, targets)."""

    score: Float
    lower: Float
    upper: Float


def accuracy(predicted: Float, scores: Float, targets: Sequence[str]) -> pd.DataFrame:
    """Errors of predictions against full scores, nan where a model has none.

    Returns
    -------
    pandas.DataFrame
        Index ``target``: ``models`` (compared), ``rmse``, ``bias`` (both in points), ``spearman``
        (null for fewer than 3 models, or where either does not vary).
    """
    rows = []
    for guess, truth in zip(predicted.T, scores.T, strict=True):
        there = ~np.isnan(truth)
        error = POINTS * (guess - truth)[there]
        count = len(error)
        rows.append(
            (
                count,
                float(np.sqrt(np.mean(error**2))) if count else np.nan,
                float(error.mean()) if count else np.nan,
                rank_correlation(guess[there], truth[there]),
            )
        )
    columns = ["models", "rmse", "bias", "spearman"]
    return pd.DataFrame(rows, pd.Index(targets, name="target"), columns)


def with_intervals(
    predicted: Predicted, scores: Float, detectable: Float, targets: Sequence[str]
) -> pd.DataFrame:
    """`accuracy`, and what intervals come to.

    Returns
    -------
    pandas.DataFrame
        Also ``coverage`` (share of full scores inside), ``width`` (mean, points) and
        ``detectable``: the difference of two predictions, in points, beyond which two models
        differ at 95 %.
    """
    table = accuracy(predicted.score, scores, targets)
    there = ~np.isnan(scores)
    inside = (predicted.lower <= scores) & (scores <= predicted.upper)
    width = np.where(there, predicted.upper - predicted.lower, 0.0).sum(axis=0)
    count = np.where(there.any(axis=0), there.sum(axis=0), np.nan)
    return table.assign(
        coverage=(inside & there).sum(axis=0) / count,
        width=POINTS * width / count,
        detectable=POINTS * detectable,
    )


def mean_rmse(table: pd.DataFrame) -> float:
    """The mean over benchmarks, without the grand mean, of the root mean square errors."""
    return float(table["rmse"].iloc[:-1].mean())


def rank_correlation(a: Float, b: Float) -> float:
    """Spearman's; nan for fewer than 3 values, or where either does not vary."""
    if len(a) < 3 or np.ptp(a) == 0.0 or np.ptp(b) == 0.0:
        return float("nan")
    return float(spearmanr(a, b).statistic)
