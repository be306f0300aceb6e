"""How well given traits predict items that took no part in them: gains from one common slope."""

from __future__ import annotations

from collections.abc import Sequence
from typing import NamedTuple

import numpy as np

from mtlirt.irt import kernels
from mtlirt.irt.blocks import BlockCounts, ResponseBlock
from mtlirt.irt.curves import Grid
from mtlirt.irt.items import ItemStatistics, item_statistics
from mtlirt.irt.kernels import Float
from mtlirt.irt.traits import Posterior, Window

STEP = 0.05
"""Traits are placed on a grid this fine, each shared by its two neighbours."""

MOST_STEPS = 50
SETTLED = 1e-9
"""Newton steps end when the common slope moves by less."""

LONGEST_SLOPE, LONGEST_INTERCEPT = 1.0, 2.0
"""No Newton step is longer."""


class LeftOut(NamedTuple):
    """Items that took no part in some traits, and their responses placed at those.

    Attributes
    ----------
    statistics
        Products of the responses with the traits, and attempts at the grid's points.
    successes, attempts
        By item, shape (items,).
    grid
        Holds all traits.
    """

    statistics: ItemStatistics
    successes: Float
    attempts: Float
    grid: Grid

    @classmethod
    def of(cls, block: ResponseBlock, counts: BlockCounts, traits: Float) -> LeftOut:
        """Place a block's responses at the traits of its models; one pass over it."""
        place = traits / STEP
        lower = np.floor(place).astype(np.int64)
        first = int(lower.min())
        grid = Grid(first, int(lower.max()) + 2 - first, STEP)
        share = np.stack([1.0 - (place - lower), place - lower], axis=1)
        start = lower - first
        if counts.complete:
            window, density = None, np.zeros(grid.count)
            np.add.at(density, np.stack([start, start + 1], axis=1), share)
        else:
            window, density = Window(start, np.ones_like(start), np.full_like(start, 2)), share
        nothing = np.zeros(len(traits))
        placed = Posterior(traits, nothing, nothing, density, window)
        return cls(
            item_statistics(block, placed, grid), counts.item_successes, counts.item_attempts, grid
        )

    def log_likelihood(self, slope: float, intercept: Float) -> Float:
        """Of each item with the slope and its own intercept."""
        first, count, step = self.grid.first, self.grid.count, self.grid.step
        softplus = kernels.softplus_table(
            np.full(len(intercept), slope), intercept, first, count, step
        )
        linear = slope * self.statistics.products + intercept * self.successes
        return np.asarray(linear - (self.statistics.histogram * softplus).sum(axis=0))


def common_slope_gains(parts: Sequence[LeftOut]) -> Float:
    """Gain of each item's log-likelihood by one slope, not negative, that all items share.

    Every item keeps an intercept of its own; that some are guessed is left aside. A trait that
    most items follow gains much; one that some follow and others oppose gains little, whatever
    those items' own slopes would gain.

    Parameters
    ----------
    parts
        Items left out together, from traits of their own each; none may be constant.

    Returns
    -------
    ndarray
        In the order of the parts, over the log-likelihood at slope 0.
    """
    intercepts = [np.log(part.successes / (part.attempts - part.successes)) for part in parts]
    nothing = [
        part.log_likelihood(0.0, intercept)
        for part, intercept in zip(parts, intercepts, strict=True)
    ]
    slope = 0.0
    for _ in range(MOST_STEPS):
        gradient, curvature, pulls = 0.0, 0.0, []
        for part, intercept in zip(parts, intercepts, strict=True):
            products, histogram, _ = part.statistics
            slopes = np.full(len(intercept), slope)
            p0, p1, dd, ad, aa = kernels.item_sums(
                histogram, part.grid.first, part.grid.step, slopes, intercept
            )
            dd = np.maximum(dd, 1e-12)
            pull = part.successes - p0
            gradient += float((products - p1 - ad / dd * pull).sum())
            curvature += float((aa - ad**2 / dd).sum())
            pulls.append((pull, ad, dd))
        step = gradient / curvature if curvature > 0.0 else 0.0
        step = max(float(np.clip(step, -LONGEST_SLOPE, LONGEST_SLOPE)), -slope)
        slope += step
        intercepts = [
            intercept + np.clip((pull - ad * step) / dd, -LONGEST_INTERCEPT, LONGEST_INTERCEPT)
            for intercept, (pull, ad, dd) in zip(intercepts, pulls, strict=True)
        ]
        if abs(step) < SETTLED:
            break
    reached = [
        part.log_likelihood(slope, intercept)
        for part, intercept in zip(parts, intercepts, strict=True)
    ]
    return np.concatenate(reached) - np.concatenate(nothing)
