"""Items' correlations with the trait, and items that a wrong key would explain."""

from __future__ import annotations

from typing import NamedTuple

import numpy as np
import numpy.typing as npt
from scipy.special import ndtr

from mtlirt.diagnostics.posterior import Float
from mtlirt.diagnostics.residuals import cell_moments, probability_slope
from mtlirt.diagnostics.tails import adjusted
from mtlirt.irt.blocks import ResponseBlock
from mtlirt.irt.curves import Items

COHERENT = 0.1
"""A domain is coherent if a smaller share of its items is negatively correlated with its trait."""

FEWEST_MODELS = 4
"""Fewer answers have no correlation that could be tested."""


class ItemSums(NamedTuple):
    """Sums over models, shape (items,) each; they add up over runs of models.

    Attributes
    ----------
    answered
        Models.
    y, t, yy, tt, yt
        Sums of the share of right answers y and of the trait t that the model's other answers
        tell, of their squares and product.
    agreement
        The sum of log(P^2 + (1 - P)^2): another item of the same parameters is answered alike.
    """

    answered: Float
    y: Float
    t: Float
    yy: Float
    tt: Float
    yt: Float
    agreement: Float

    def added(self, other: ItemSums) -> ItemSums:
        """The sums over both runs of models."""
        return ItemSums(*(one + two for one, two in zip(self, other, strict=True)))

    @property
    def correlation(self) -> Float:
        """Of answers and trait, shape (items,); null where either does not vary."""
        n = np.maximum(self.answered, 1.0)
        both = (self.yy - self.y**2 / n) * (self.tt - self.t**2 / n)
        known = both > 1e-12 * n**2
        covariance = self.yt - self.y * self.t / n
        return np.where(known, covariance / np.sqrt(np.where(known, both, 1.0)), np.nan)


def item_sums(block: ResponseBlock, items: Items, traits: Float, variance: Float) -> ItemSums:
    """The sums over some models.

    Parameters
    ----------
    traits, variance
        Of the models: moments of their posteriors, shape (models,) each.

    Notes
    -----
    To the first order a trait without one of its answers is theta - v (y - n P) P'/(P (1 - P)).
    """
    cells = cell_moments(block, items, traits)
    spread = np.where(cells.variance > 0.0, cells.variance, 1.0)
    tried = np.maximum(block.weight, 1.0) if block.weight.size else 1.0
    pull = cells.residual * probability_slope(items, traits) * tried / spread
    t = cells.answered * (traits[:, None] - variance[:, None] * pull)
    y = np.maximum(block.responses, 0) / tried
    p = cells.variance / tried  # P (1 - P), and P^2 + (1 - P)^2 = 1 - 2 P (1 - P)
    return ItemSums(
        cells.answered.sum(axis=0),
        y.sum(axis=0),
        t.sum(axis=0),
        (y**2).sum(axis=0),
        (t**2).sum(axis=0),
        (y * t).sum(axis=0),
        np.log1p(-2.0 * p).sum(axis=0),
    )


def wrongly_keyed(
    sums: ItemSums, slope: Float, constant: npt.NDArray[np.bool_], rate: float
) -> npt.NDArray[np.bool_]:
    """Which items of a domain a wrong key would explain.

    Those are clearly negatively correlated with the trait, and steep: with at least half of the
    domain's median slope, downwards, in a domain whose other items agree with each other.

    Parameters
    ----------
    rate
        False discovery rate of the correlations.
    """
    r = np.where(constant, np.nan, sums.correlation)
    known = ~np.isnan(r) & (sums.answered >= FEWEST_MODELS)
    z = np.full(len(r), np.nan)
    z[known] = np.arctanh(np.clip(r[known], -1 + 1e-9, 1 - 1e-9)) * np.sqrt(
        sums.answered[known] - 3.0
    )
    if not known.any() or (r[known] < 0.0).mean() >= COHERENT:
        return np.zeros(len(r), bool)
    steep = slope < -0.5 * np.median(np.abs(slope[known]))
    with np.errstate(invalid="ignore"):
        return np.asarray((adjusted(ndtr(z)) <= rate) & steep)
