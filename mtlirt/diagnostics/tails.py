"""Tails of sums of independent, skewed terms, and p-values of many tests together."""

from __future__ import annotations

import numpy as np
import numpy.typing as npt
from scipy.stats import false_discovery_control, pearson3

Float = npt.NDArray[np.float64]


def lower_tail(value: Float, variance: Float, third: Float) -> Float:
    """P(sum <= value) for a sum with mean 0 and these central moments; null without variance.

    Notes
    -----
    Pearson's curve of type III, the shifted gamma law that has the same three moments; for
    person fit proposed by Molenaar and Hoijtink (1990, Psychometrika 55).
    """
    known = variance > 0.0
    sd = np.sqrt(np.where(known, variance, 1.0))
    skew = np.where(known, third, 0.0) / sd**3
    return np.where(known, pearson3.cdf(value / sd, skew), np.nan)


def upper_tail(value: Float, variance: Float, third: Float) -> Float:
    """P(sum >= value), as `lower_tail`."""
    return lower_tail(-value, variance, -third)


def adjusted(p: Float) -> Float:
    """P-values adjusted so that rejecting all up to q has a false discovery rate of q.

    Null values stay null and are not counted (Benjamini and Hochberg, 1995).
    """
    out, known = np.full(p.shape, np.nan), ~np.isnan(p)
    if known.any():
        out[known] = false_discovery_control(p[known])
    return out
