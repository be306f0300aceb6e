"""Means over replications, with their Monte Carlo errors."""

from __future__ import annotations

from typing import NamedTuple

import numpy as np
import pandas as pd


class Mean(NamedTuple):
    """A mean over so many replications, with its Monte Carlo error."""

    mean: float
    error: float
    replications: int


KEYS = ["row", "h", "method", "target", "metric"]


def summarise(results: pd.DataFrame) -> pd.DataFrame:
    """Mean of each metric over the replications in which its method did not fail.

    Parameters
    ----------
    results
        Columns of `mtlirt.studies.replicate.RESULTS`.

    Returns
    -------
    DataFrame
        ``row``, ``h``, ``method``, ``target``, ``metric`` in the order of the results; ``mean``;
        ``error``, its Monte Carlo error: standard deviation over replications / sqrt(their number),
        NaN for a single one; ``replications``.
    """
    grouped = results.groupby(KEYS, sort=False, dropna=False)["value"]
    summary = grouped.agg(mean="mean", sd="std", replications="count").reset_index()
    summary.insert(len(KEYS) + 1, "error", summary.pop("sd") / np.sqrt(summary["replications"]))
    return summary


def chosen(summary: pd.DataFrame, target: str, metric: str) -> pd.DataFrame:
    """The part of a summary with one metric of one target."""
    return summary[(summary["target"] == target) & (summary["metric"] == metric)]


def means_of(summary: pd.DataFrame, target: str, metric: str) -> dict[tuple[str, str], Mean]:
    """The means of one metric of one target by row and method."""
    part = chosen(summary, target, metric)
    keys = zip(part["row"], part["method"], strict=True)
    values = zip(part["mean"], part["error"], part["replications"], strict=True)
    return {key: Mean(*value) for key, value in zip(keys, values, strict=True)}
