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


MOST_STEPS = 20
LARGE_STEP = 0.3
"""An item takes another Newton step, up to `MOST_STEPS`, if one moved a logit by more."""


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

    Notes
    -----
    Maximises sum_i [y a m + y d] - sum_g n_g log(1 + exp(a theta_g + d)) + log N(a; prior). A step
    is shortened by log(1 + r)/r, r the largest change of a logit over the occupied grid, so that
    it never overshoots; items whose last step was large take another. Costs `kernels.item_sums`
    once for all items, and again for those.
    """
    products = kernels.added([part.products for part in statistics])
    histogram = kernels.added([part.histogram for part in statistics])
    occupied = np.flatnonzero(histogram.any(axis=1))
    ends = (grid.first + np.array([occupied[0], occupied[-1]])) * grid.step
    slope, intercept = items.slope.copy(), items.intercept.copy()
    information = np.zeros((len(slope), 3))
    open_items = np.arange(len(slope))
    for _ in range(MOST_STEPS):
        shared = histogram.shape[1] == 1
        counts = histogram if shared else np.ascontiguousarray(histogram[:, open_items])
        a, d = slope[open_items], intercept[open_items]
        p0, p1, dd, ad, aa = kernels.item_sums(counts, grid.first, grid.step, a, d)
        information[open_items] = np.stack([aa, ad, dd], axis=1)
        gradient_a = products[open_items] - p1 - prior.precision * (a - prior.mean)
        gradient_d = successes[open_items] - p0
        curvature = aa + prior.precision
        determinant = curvature * dd - ad**2
        free = ~held[open_items] & (determinant > 0.0)
        divisor = np.where(free, determinant, 1.0)
        step_a = np.where(free, (dd * gradient_a - ad * gradient_d) / divisor, 0.0)
        step_d = np.where(free, (curvature * gradient_d - ad * gradient_a) / divisor, 0.0)
        r = np.abs(step_a[:, None] * ends + step_d[:, None]).max(axis=1)
        shorten = np.where(r > 1e-8, np.log1p(r) / np.maximum(r, 1e-300), 1.0)
        slope[open_items] = np.clip(a + shorten * step_a, -LIMIT, LIMIT)
        intercept[open_items] = np.clip(d + shorten * step_d, -LIMIT, LIMIT)
        open_items = open_items[r > LARGE_STEP]
        if not len(open_items):
            break
    return ItemUpdate(Items(slope, intercept), information)
