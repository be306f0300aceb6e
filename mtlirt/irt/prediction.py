"""How probable right answers are, given what is known of traits and items."""

from __future__ import annotations

from typing import NamedTuple

import numpy as np
from scipy.special import ndtri

from mtlirt.irt.curves import probability
from mtlirt.irt.kernels import Float

NODES, WEIGHTS = np.polynomial.hermite_e.hermegauss(31)
"""Nodes and weights of Gauss and Hermite for a standard normal."""


class Prediction(NamedTuple):
    """Probabilities of right answers, and the ends of their intervals, shape (models, items)."""

    probability: Float
    lower: Float
    upper: Float


def predicted(
    mean: Float,
    sd: Float,
    slope: Float,
    intercept: Float,
    guessing: Float,
    covariance: Float,
    level: float,
) -> Prediction:
    """P(correct) of each of some models on each of some items.

    Parameters
    ----------
    mean, sd
        Of the models' traits, shape (models,) for all items or (models, items).
    slope, intercept, guessing
        Of the items, shape (items,).
    covariance
        Entries aa, ad, dd of that of (a, d), shape (items, 3).
    level
        Of the intervals, between 0 and 1.

    Notes
    -----
    The logit a theta + d is taken as normal with the mean a m + d and the variance a^2 v +
    E[theta^2] aa + 2 m ad + dd, trait and item being independent. The probability is the mean of
    P over it, the interval's ends are P at its quantiles. Costs 33 exponentials a pair.
    """
    mean, sd = (part[:, None] if part.ndim == 1 else part for part in (mean, sd))
    aa, ad, dd = covariance.T
    centre = slope * mean + intercept
    variance = slope**2 * sd**2 + (mean**2 + sd**2) * aa + 2.0 * mean * ad + dd
    spread = np.sqrt(np.maximum(variance, 0.0))
    one, zero = np.ones(1), np.zeros(1)
    total = np.zeros(centre.shape)
    for node, weight in zip(NODES, WEIGHTS / WEIGHTS.sum(), strict=True):
        total += weight * probability(centre + node * spread, one, zero, guessing)
    reach = float(ndtri(0.5 + 0.5 * level))
    ends = (probability(centre + side * reach * spread, one, zero, guessing) for side in (-1, 1))
    return Prediction(total, *ends)
