"""Item update of the joint estimator: Newton steps within the box, and the items' losses."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
import numpy.typing as npt

from mtlirt.irt import kernels
from mtlirt.irt.curves import Grid, Items, guessing_gain
from mtlirt.irt.interpolation import histogram_at, weights_at, window_at
from mtlirt.irt.items import ItemStatistics, added_statistics
from mtlirt.irt.kernels import Float, softplus
from mtlirt.irt.sphere import TRAIT_BOUND
from mtlirt.irt.traits import Posterior

SLOPES = (0.0, 4.0)
INTERCEPTS = (-4.0, 4.0)
"""The box of the items (arXiv 2610.05613)."""

MOST_STEPS = 100
SMALL_STEP = 1e-5
"""Items take another Newton step if one moved a logit by more."""


AT_BOUND = 1e-7
"""Parameters so near a bound are at it."""


@dataclass(frozen=True)
class BoxedItems:
    """Items of greatest likelihood in the box at given traits, and minus that likelihood."""

    items: Items
    losses: Float


def at_traits(theta: Float, grid: Grid, shared: bool) -> Posterior:
    """Traits known exactly, as a posterior whose nodes are those of their interpolation.

    Parameters
    ----------
    shared
        Whether all models share one curve.
    """
    nothing = np.zeros(len(theta))
    if shared:
        return Posterior(theta, nothing, nothing, histogram_at(theta, grid))
    window = window_at(theta, grid)
    weights = weights_at(theta, window, grid)
    return Posterior(theta, nothing, nothing, weights, window)


def boxed_items(
    statistics: Sequence[ItemStatistics],
    successes: Float,
    attempts: Float,
    items: Items,
    held: npt.NDArray[np.bool_],
    grid: Grid,
) -> BoxedItems:
    """Items of greatest likelihood in the box, from the statistics of each model chunk.

    Parameters
    ----------
    statistics
        `items.item_statistics` at known traits, see `at_traits`.
    successes, attempts
        Sums of the responses by item, shape (items,).
    items
        Where to start.
    held
        Items that keep their parameters and have no loss.

    Notes
    -----
    Each step goes towards the maximum of the quadratic model in the box, shortened by
    log(1 + r)/r with r the largest change of a logit, so it never overshoots. Cost: an
    division for each grid point and item, a step.
    """
    total = added_statistics(statistics)
    slope, intercept, losses = items.slope.copy(), items.intercept.copy(), np.zeros(len(held))
    correct = np.zeros((0, 0)) if total.correct is None else np.ascontiguousarray(total.correct.T)
    boxed_newton(
        total.products,
        successes,
        attempts,
        np.ascontiguousarray(total.histogram.T),
        correct,
        grid.first,
        grid.step,
        held,
        items.guessing,
        slope,
        intercept,
        losses,
    )
    return BoxedItems(Items(slope, intercept, items.guessing), losses)


@kernels.compiled
def boxed_newton(
    products: Float,
    successes: Float,
    attempts: Float,
    histogram: Float,
    correct: Float,
    first: int,
    step: float,
    held: npt.NDArray[np.bool_],
    guessing: Float,
    slope: Float,
    intercept: Float,
    losses: Float,
) -> None:
    """Move each item's slope and intercept to their maximum in the box; write its loss.

    ``histogram`` holds the attempts on the grid by item, one row where all items share it;
    ``correct`` the successes, no row where nobody guesses. Gradients are those of
    `items.item_derivatives`; the curvature is that of a model's knowing the answer, which with
    guessing is an upper bound, so that no step overshoots (an EM step).
    """
    for j in range(slope.shape[0]):
        if held[j]:
            continue
        counts = histogram[j if histogram.shape[0] > 1 else 0]
        low, high = 0, counts.shape[0]
        while low < high and counts[low] == 0.0:
            low += 1
        while high > low and counts[high - 1] == 0.0:
            high -= 1
        a, d, c = slope[j], intercept[j], guessing[j]
        for _ in range(MOST_STEPS):
            up_a, up_d, aa, ad, dd = 0.0, 0.0, 1e-10, 0.0, 1e-10
            odds, growth = np.exp(a * (first + low) * step + d), np.exp(a * step)
            for k in range(low, high):
                theta = (first + k) * step
                p = odds / (1.0 + odds)
                up, weight = -counts[k] * p, counts[k] * p / (1.0 + odds)
                if c > 0.0:
                    up += correct[j, k] * p / (c + (1.0 - c) * p)
                up_a += up * theta
                up_d += up
                aa += weight * theta * theta
                ad += weight * theta
                dd += weight
                odds *= growth
            if c == 0.0:
                up_a += products[j]
                up_d += successes[j]
            step_a, step_d = boxed_step(up_a, up_d, aa, ad, dd, a, d)
            r = TRAIT_BOUND * abs(step_a) + abs(step_d)
            share = np.log1p(r) / r if r > 1e-8 else 1.0
            a += share * step_a
            d += share * step_d
            if r < SMALL_STEP:
                break
        slope[j] = snapped(a, SLOPES[0], SLOPES[1])
        intercept[j] = snapped(d, INTERCEPTS[0], INTERCEPTS[1])
        loss = -products[j] * slope[j] - successes[j] * intercept[j]
        for k in range(low, high):
            x = slope[j] * (first + k) * step + intercept[j]
            loss += counts[k] * softplus(x)
            if c > 0.0:
                loss -= correct[j, k] * softplus(np.log(c) - x)
        if c > 0.0:
            loss -= (attempts[j] - successes[j]) * np.log1p(-c)
        losses[j] = loss


@kernels.inlined
def snapped(x: float, low: float, high: float) -> float:
    """The value, at a bound if it is as good as there."""
    if x < low + AT_BOUND:
        return low
    return high if x > high - AT_BOUND else x


@kernels.inlined
def boxed_step(
    up_a: float, up_d: float, aa: float, ad: float, dd: float, a: float, d: float
) -> tuple[float, float]:
    """The step of (a, d) to the maximum, in the box, of a quadratic model.

    That is the free maximum if it lies inside, else the best of those on the four edges.
    """
    low_a, high_a = SLOPES[0] - a, SLOPES[1] - a
    low_d, high_d = INTERCEPTS[0] - d, INTERCEPTS[1] - d
    determinant = max(aa * dd - ad * ad, 1e-20)
    best_a, best_d = (dd * up_a - ad * up_d) / determinant, (aa * up_d - ad * up_a) / determinant
    if low_a <= best_a <= high_a and low_d <= best_d <= high_d:
        return best_a, best_d
    best_a, best_d, best = 0.0, 0.0, -np.inf
    for edge in range(4):
        if edge < 2:
            x = low_a if edge == 0 else high_a
            z = min(max((up_d - ad * x) / dd, low_d), high_d)
        else:
            z = low_d if edge == 2 else high_d
            x = min(max((up_a - ad * z) / aa, low_a), high_a)
        gain = up_a * x + up_d * z - ad * x * z - 0.5 * (aa * x * x + dd * z * z)
        if gain > best:
            best_a, best_d, best = x, z, gain
    return best_a, best_d


def item_losses(
    total: ItemStatistics, successes: Float, attempts: Float, items: Items, grid: Grid
) -> Float:
    """Minus the log-likelihood of each item at known traits, shape (items,)."""
    curves = kernels.softplus_table(items.slope, items.intercept, grid.first, grid.count, grid.step)
    losses = np.einsum("gj,gj->j", np.broadcast_to(total.histogram, curves.shape), curves)
    losses -= total.products * items.slope + successes * items.intercept
    if total.correct is not None:
        eta = items.slope * grid.points[:, None] + items.intercept
        losses -= np.einsum("gj,gj->j", total.correct, guessing_gain(eta, items.guessing))
        losses -= (attempts - successes) * np.log1p(-items.guessing)
    return np.asarray(losses)
