"""Residuals of single cells at the models' traits, and their moments if the model holds."""

from __future__ import annotations

from typing import NamedTuple

import numpy as np

from mtlirt.diagnostics.cells import attempts, successes
from mtlirt.diagnostics.posterior import Float
from mtlirt.irt.blocks import ResponseBlock
from mtlirt.irt.curves import Items, logistic, probability


class CellMoments(NamedTuple):
    """Of each cell of a block, shape (models, items); all 0 where it is missing.

    Attributes
    ----------
    residual
        Successes minus expected ones.
    variance, third
        Their second and third central moments.
    answered
        1 for an answer.
    """

    residual: Float
    variance: Float
    third: Float
    answered: Float


def cell_moments(block: ResponseBlock, items: Items, traits: Float) -> CellMoments:
    """Residuals and their moments at given traits, shape (models,)."""
    right, tried = successes(block), attempts(block)
    p = probability(traits[:, None], *items)
    variance = tried * p * (1.0 - p)
    third = variance * (1.0 - 2.0 * p)
    return CellMoments(right - tried * p, variance, third, (tried > 0.0).astype(np.float64))


def probability_slope(items: Items, traits: Float) -> Float:
    """dP/dtheta of each item at each trait, shape (models, items)."""
    p = logistic(items.slope * traits[:, None] + items.intercept)
    return np.asarray((1.0 - items.guessing) * items.slope * p * (1.0 - p))
