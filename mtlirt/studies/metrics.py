"""How near estimated traits are to the true ones, and whether their intervals hold the truth."""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray
from scipy.stats import kendalltau, spearmanr

Array = NDArray[np.float64]

HALF_WIDTH = 1.96
"""Standard deviations from the middle of a 95 % interval to its end."""

FLATTEST = 1e-9
"""Estimates with a smaller standard deviation over the models are taken for equal."""

NO_INFORMATION = {"sine": 1.0, "distance": 1.0, "spearman": 0.0, "kendall": 0.0}
"""The metrics of an estimate that is the same for all models."""


def standardised(values: Array) -> Array:
    """Columns (or a vector) with mean 0 and norm sqrt(models); zeros where all are equal."""
    centred = values - values.mean(axis=0)
    spread = np.sqrt((centred**2).mean(axis=0))
    constant = spread <= FLATTEST
    scaled: Array = np.where(constant, 0.0, centred / np.where(constant, 1.0, spread))
    return scaled


def agreement(estimate: Array, truth: Array) -> dict[str, float]:
    """How near estimates of a trait are to the truth, whatever the scale of either.

    Returns
    -------
    dict
        ``sine`` of the angle between them, centred (blind to a sign turned over); ``distance``,
        the root mean squared difference after standardising both; ``spearman``; ``kendall``,
        tau-b. An estimate that is the same for all models is at a right angle to any truth.
    """
    one, other = standardised(estimate), standardised(truth)
    if not one.any():
        return dict(NO_INFORMATION)
    cosine = one @ other / len(one)
    return {
        "sine": float(np.sqrt(np.mean((one - cosine * other) ** 2))),
        "distance": float(np.sqrt(np.mean((one - other) ** 2))),
        "spearman": float(spearmanr(estimate, truth).statistic),
        "kendall": float(kendalltau(estimate, truth).statistic),
    }


def intervals(estimate: Array, sd: Array, truth: Array) -> dict[str, float]:
    """How often 95 % intervals hold the truth, and how long they are.

    Parameters
    ----------
    estimate, sd
        Means and standard deviations, on the scale of a fit: mean 0 and variance 1 over the models.
    truth
        On any scale; it is put on that of the fit.

    Returns
    -------
    dict
        ``coverage`` and ``length``; nothing where the method gives no standard deviations.
    """
    if np.isnan(sd).any():
        return {}
    inside = np.abs(estimate - standardised(truth)) <= HALF_WIDTH * sd
    return {"coverage": float(inside.mean()), "length": float(2 * HALF_WIDTH * sd.mean())}
