"""Item update: statistics of a block under the traits' posteriors, and the Newton step."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import NamedTuple

import numpy as np
import numpy.typing as npt

from mtlirt.irt import kernels
from mtlirt.irt.blocks import ResponseBlock
from mtlirt.irt.curves import Grid, Items
from mtlirt.irt.kernels import Float
from mtlirt.irt.slopes import SlopePrior
from mtlirt.irt.traits import Posterior

LIMIT = 50.0
"""No slope or intercept goes beyond +-LIMIT: only separated items without a prior get there."""


class ItemStatistics(NamedTuple):
    """What an item update needs of the models, additive over model chunks.

    Attributes
    ----------
    products
        Sum over models of response x posterior mean, shape (items,).
    histogram
        Expected attempts on the grid, shape (count, items), or (count, 1) if shared by all.
    """

    products: Float
    histogram: Float


@dataclass(frozen=True)
class ItemUpdate:
    """Items after an update, with the information their estimates rest on.

    Attributes
    ----------
    items
        The new parameters.
    information
        Expected information of (a, d), without the prior: its entries aa, ad, dd, shape
        (items, 3), at the parameters before the last step.
    """

    items: Items
    information: Float


def covariance(information: Float, prior: SlopePrior, held: npt.NDArray[np.bool_]) -> Float:
    """Covariance of (a, d): entries aa, ad, dd, shape (items, 3); 0 for items held.

    The inverse of the expected information plus the prior's precision; an item that the two do
    not identify gets 0 as well.
    """
    aa, ad, dd = information.T
    aa = aa + prior.precision
    determinant = aa * dd - ad**2
    usable = ~held & (determinant > 1e-12 * aa * dd)
    scale = np.where(usable, 1.0 / np.where(usable, determinant, 1.0), 0.0)
    return np.stack([dd * scale, -ad * scale, aa * scale], axis=1)


def item_statistics(block: ResponseBlock, posterior: Posterior, grid: Grid) -> ItemStatistics:
    """Statistics of one block; one pass over it (complete), or cells x nodes (masked)."""
    products = kernels.column_products(block.responses, posterior.mean)
    if posterior.window is None:
        return ItemStatistics(products, posterior.density[:, None])
    window = posterior.window
    histogram = kernels.masked_histogram(
        block.responses,
        block.weight,
        posterior.density,
        window.start,
        window.stride,
        window.nodes,
        grid.count,
    )
    return ItemStatistics(products, histogram)


def update_items(
    statistics: Sequence[ItemStatistics],
    successes: Float,
    items: Items,
    held: npt.NDArray[np.bool_],
    prior: SlopePrior,
    grid: Grid,
    steps: int,
) -> ItemUpdate:
    """Newton steps of every item's expected log-likelihood plus log prior, in (a, d).

    Parameters
    ----------
    statistics
        Of each model chunk, summed here in their order.
    successes
        Sum of the responses by item, shape (items,).
    items
        Parameters to start from.
    held
        Items that keep their parameters (constant ones).
    steps
        Number of Newton steps.

    Notes
    -----
    Maximises sum_i [y a m + y d] - sum_g n_g log(1 + exp(a theta_g + d)) + log N(a; prior). A step
    is shortened by log(1 + r)/r, r the largest change of a logit over the occupied grid, so that
    it never overshoots. Costs `kernels.item_sums` a step.
    """
    products = np.sum([part.products for part in statistics], axis=0)
    histogram = np.sum([part.histogram for part in statistics], axis=0)
    occupied = np.flatnonzero(histogram.any(axis=1))
    ends = (grid.first + np.array([occupied[0], occupied[-1]])) * grid.step
    slope, intercept = items
    information = np.zeros((len(slope), 3))
    for _ in range(steps):
        p0, p1, dd, ad, aa = kernels.item_sums(histogram, grid.first, grid.step, slope, intercept)
        information = np.stack([aa, ad, dd], axis=1)
        gradient_a = products - p1 - prior.precision * (slope - prior.mean)
        gradient_d = successes - p0
        curvature = aa + prior.precision
        determinant = curvature * dd - ad**2
        free = ~held & (determinant > 0.0)
        divisor = np.where(free, determinant, 1.0)
        step_a = np.where(free, (dd * gradient_a - ad * gradient_d) / divisor, 0.0)
        step_d = np.where(free, (curvature * gradient_d - ad * gradient_a) / divisor, 0.0)
        r = np.abs(step_a[:, None] * ends + step_d[:, None]).max(axis=1)
        shorten = np.log1p(r) / np.maximum(r, 1e-300)
        shorten = np.where(r > 1e-8, shorten, 1.0)
        slope = np.clip(slope + shorten * step_a, -LIMIT, LIMIT)
        intercept = np.clip(intercept + shorten * step_d, -LIMIT, LIMIT)
    return ItemUpdate(Items(slope, intercept), information)
