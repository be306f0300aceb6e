"""Item update: statistics of a block under the traits' posteriors, and the Newton step."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import NamedTuple

import numpy as np
import numpy.typing as npt

from mtlirt.irt import cells, kernels
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
    correct
        Expected successes on the grid, shape (count, items); None where nobody guesses.
    """

    products: Float
    histogram: Float
    correct: Float | None = None


class ItemDerivatives(NamedTuple):
    """Of each item's expected log-likelihood, without a prior, at some parameters.

    Attributes
    ----------
    gradient
        By a and by d, shape (items, 2).
    information
        Expected information of (a, d): its entries aa, ad, dd, shape (items, 3).
    curvature
        Minus the second derivatives, likewise; without guessing the same.
    """

    gradient: Float
    information: Float
    curvature: Float


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
    not identify gets 0 as well. An intercept that its responses do not place within +-`LIMIT`
    (that of an item which nobody knows, but many guess) counts as known.
    """
    aa, ad, dd = information.T
    aa = aa + prior.precision
    determinant = aa * dd - ad**2
    usable = ~held & (determinant > 1e-12 * aa * dd)
    scale = np.where(usable, 1.0 / np.where(usable, determinant, 1.0), 0.0)
    lost = dd < LIMIT**-2
    return np.stack(
        [dd * scale, np.where(lost, 0.0, -ad * scale), np.where(lost, 0.0, aa * scale)], axis=1
    )


def item_statistics(
    block: ResponseBlock, posterior: Posterior, grid: Grid, guessed: bool = False
) -> ItemStatistics:
    """Statistics of one block; one pass over it (complete), or cells x nodes (masked).

    Each model counts by its weight.
    Where any of its items may be guessed, the posteriors must be on windows, and the expected
    successes cost as much again.
    """
    products = kernels.column_products(block.responses, posterior.weighed(posterior.mean))
    window = posterior.window
    if window is None:
        return ItemStatistics(products, posterior.density[:, None])
    density = posterior.weighed(posterior.density)

    def histogram(successes: bool) -> Float:
        return cells.masked_histogram(
            block.responses,
            block.weight,
            successes,
            density,
            *window,
            grid.count,
        )

    return ItemStatistics(products, histogram(False), histogram(True) if guessed else None)


def added_statistics(parts: Sequence[ItemStatistics]) -> ItemStatistics:
    """The sum of the statistics of model chunks, in their order."""
    correct = [part.correct for part in parts if part.correct is not None]
    return ItemStatistics(
        kernels.added([part.products for part in parts]),
        kernels.added([part.histogram for part in parts]),
        kernels.added(correct) if correct else None,
    )


def item_derivatives(
    statistics: ItemStatistics, successes: Float, items: Items, grid: Grid
) -> ItemDerivatives:
    """Gradient and expected information of every item's expected log-likelihood in (a, d).

    Parameters
    ----------
    statistics
        Of all models.
    successes
        Sum of the responses by item, shape (items,).

    Notes
    -----
    With n attempts and r successes at a grid point, and q = c (1 - sigma)/P the share of right
    answers that are guesses, the gradient is the sum over the grid of (r (1 - q) - n sigma)
    (theta, 1) and the information that of n (1 - c) sigma (1 - sigma)(1 - q) (theta^2, theta, 1).
    Without guessing the sum of r is in the statistics already, and q = 0. Costs one exponential
    for each occupied grid point and item, two with guessing.
    """
    slope, intercept, guessing = items
    place = grid.first, grid.step
    if not items.guessed:
        sums = kernels.item_sums(statistics.histogram, *place, slope, intercept)
        by_slope, by_intercept = statistics.products - sums[1], successes - sums[0]
        information = curvature = sums[4:1:-1]
    elif statistics.correct is None:
        raise ValueError("items with guessing need the histogram of successes")
    else:
        counts = statistics.histogram, statistics.correct
        sums = kernels.guessed_item_sums(*counts, *place, slope, intercept, guessing)
        by_intercept, by_slope = sums[:2]
        information, curvature = sums[4:1:-1], sums[7:4:-1]
    return ItemDerivatives(np.stack([by_slope, by_intercept]).T, information.T, curvature.T)


def newton_steps(
    found: ItemDerivatives, items: Items, held: npt.NDArray[np.bool_], prior: SlopePrior
) -> tuple[Float, Float]:
    """Steps of the slopes and intercepts with the expected information; 0 for items held.

    Where the log posterior is more curved along a step than expected, as it may be with guessing,
    the step ends at the top of the parabola. An intercept that would go beyond `LIMIT` stays.
    """
    gradient, information, curvature = (np.ascontiguousarray(part.T) for part in found)
    return kernels.newton_steps(
        gradient, information, curvature, items.slope, items.intercept, held, *prior, LIMIT
    )


def statistics_of(statistics: ItemStatistics, some: npt.NDArray[np.int64]) -> ItemStatistics:
    """The statistics of some of the items."""
    products, histogram, correct = statistics
    if histogram.shape[1] > 1:
        histogram = np.ascontiguousarray(histogram[:, some])
    if correct is not None:
        correct = np.ascontiguousarray(correct[:, some])
    return ItemStatistics(products[some], histogram, correct)


def occupied_ends(histogram: Float, items: int, grid: Grid) -> tuple[Float, Float]:
    """The lowest and the highest trait with attempts at each item, shape (items,) each.

    Each item's own, so that it does not matter which other items are in its chunk.
    """
    occupied = histogram > 0.0
    first = occupied.argmax(axis=0)
    last = grid.count - 1 - occupied[::-1].argmax(axis=0)
    low, high = ((grid.first + place) * grid.step for place in (first, last))
    return np.broadcast_to(low, items).copy(), np.broadcast_to(high, items).copy()


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
    Maximises sum_i [y a m + y d] - sum_g n_g log(1 + exp(a theta_g + d)) + log N(a; prior), and
    with guessing + sum_g r_g log(1 + c exp(-a theta_g - d)). A step is shortened by log(1 + r)/r,
    r the largest change of a logit over the traits that met the item, so that it never
    overshoots; items whose last step was large take another. Costs `item_derivatives` once for all
    items, and again for those.
    """
    everyone = added_statistics(statistics)
    low, high = occupied_ends(everyone.histogram, len(items.slope), grid)
    slope, intercept = items.slope.copy(), items.intercept.copy()
    information = np.zeros((len(slope), 3))
    numbers = np.arange(len(slope))
    some = everyone
    left: slice | npt.NDArray[np.int64] = slice(None)
    for _ in range(MOST_STEPS):
        part = Items(slope[left], intercept[left], items.guessing[left])
        found = item_derivatives(some, successes[left], part, grid)
        steps = newton_steps(found, part, held[left], prior)
        largest = kernels.take_steps(
            *steps, low[left], high[left], LIMIT, part.slope, part.intercept
        )
        slope[left], intercept[left] = part.slope, part.intercept
        information[left] = found.information
        again = numbers[left][largest > LARGE_STEP]
        if not len(again):
            break
        some, left = statistics_of(everyone, again), again
    return ItemUpdate(Items(slope, intercept, items.guessing), information)
