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

    Where any of its items may be guessed, the posteriors must be on windows, and the expected
    successes cost as much again.
    """
    products = kernels.column_products(block.responses, posterior.mean)
    window = posterior.window
    if window is None:
        return ItemStatistics(products, posterior.density[:, None])

    def histogram(successes: bool) -> Float:
        return kernels.masked_histogram(
            block.responses,
            block.weight,
            successes,
            posterior.density,
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
        p0, p1, *entries = kernels.item_sums(statistics.histogram, *place, slope, intercept)
        by_slope, by_intercept = statistics.products - p1, successes - p0
    elif statistics.correct is None:
        raise ValueError("items with guessing need the histogram of successes")
    else:
        counts = statistics.histogram, statistics.correct
        sums = kernels.guessed_item_sums(*counts, *place, slope, intercept, guessing)
        by_intercept, by_slope, *entries = sums
    information, curvature = entries[:3], entries[-3:]
    return ItemDerivatives(
        np.stack([by_slope, by_intercept], axis=1),
        np.stack(information[::-1], axis=1),
        np.stack(curvature[::-1], axis=1),
    )


def newton_steps(
    found: ItemDerivatives, items: Items, held: npt.NDArray[np.bool_], prior: SlopePrior
) -> tuple[Float, Float]:
    """Steps of the slopes and intercepts with the expected information; 0 for items held.

    Where the log posterior is more curved along a step than expected, as it may be with guessing,
    the step ends at the top of the parabola. An intercept that would go beyond `LIMIT` stays.
    """
    aa, ad, dd = found.information.T
    gradient_a, gradient_d = found.gradient.T
    gradient_a = gradient_a - prior.precision * (items.slope - prior.mean)
    curvature = aa + prior.precision
    determinant = curvature * dd - ad**2
    free = ~held & (determinant > 0.0)
    divisor = np.where(free, determinant, 1.0)
    step_a = np.where(free, (dd * gradient_a - ad * gradient_d) / divisor, 0.0)
    step_d = np.where(free, (curvature * gradient_d - ad * gradient_a) / divisor, 0.0)
    pinned = free & (np.abs(items.intercept) >= LIMIT) & (items.intercept * step_d > 0.0)
    step_a = np.where(pinned, gradient_a / np.where(pinned, curvature, 1.0), step_a)
    step_d = np.where(pinned, 0.0, step_d)
    excess = excess_curvature(found, step_a, step_d, prior)
    return step_a / excess, step_d / excess


def excess_curvature(
    found: ItemDerivatives, step_a: Float, step_d: Float, prior: SlopePrior
) -> Float:
    """Actual over expected curvature of the log posterior along steps, 1 or more, by item."""
    size = np.maximum(np.maximum(np.abs(step_a), np.abs(step_d)), 1e-300)
    u, v = step_a / size, step_d / size
    expected, actual = (
        (aa + prior.precision) * u**2 + 2.0 * ad * u * v + dd * v**2
        for aa, ad, dd in (found.information.T, found.curvature.T)
    )
    return np.asarray(np.maximum(actual / np.where(expected > 0.0, expected, np.inf), 1.0))


def statistics_of(statistics: ItemStatistics, some: npt.NDArray[np.int64]) -> ItemStatistics:
    """The statistics of some of the items."""
    products, histogram, correct = statistics
    if histogram.shape[1] > 1:
        histogram = np.ascontiguousarray(histogram[:, some])
    if correct is not None:
        correct = np.ascontiguousarray(correct[:, some])
    return ItemStatistics(products[some], histogram, correct)


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
    r the largest change of a logit over the occupied grid, so that it never overshoots; items
    whose last step was large take another. Costs `item_derivatives` once for all items, and
    again for those.
    """
    everyone = added_statistics(statistics)
    occupied = np.flatnonzero(everyone.histogram.any(axis=1))
    ends = (grid.first + np.array([occupied[0], occupied[-1]])) * grid.step
    slope, intercept = items.slope.copy(), items.intercept.copy()
    information = np.zeros((len(slope), 3))
    open_items = np.arange(len(slope))
    for _ in range(MOST_STEPS):
        a, d = slope[open_items], intercept[open_items]
        part = Items(a, d, items.guessing[open_items])
        found = item_derivatives(
            statistics_of(everyone, open_items), successes[open_items], part, grid
        )
        information[open_items] = found.information
        step_a, step_d = newton_steps(found, part, held[open_items], prior)
        r = np.abs(step_a[:, None] * ends + step_d[:, None]).max(axis=1)
        shorten = np.where(r > 1e-8, np.log1p(r) / np.maximum(r, 1e-300), 1.0)
        slope[open_items] = np.clip(a + shorten * step_a, -LIMIT, LIMIT)
        intercept[open_items] = np.clip(d + shorten * step_d, -LIMIT, LIMIT)
        open_items = open_items[r > LARGE_STEP]
        if not len(open_items):
            break
    return ItemUpdate(Items(slope, intercept, items.guessing), information)
