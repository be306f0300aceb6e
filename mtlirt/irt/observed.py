"""How well the responses place the items, when the traits have to be found from them too."""

from __future__ import annotations

from collections.abc import Sequence
from typing import NamedTuple

import numpy as np
import numpy.typing as npt

from mtlirt.irt import cells
from mtlirt.irt.blocks import ResponseBlock
from mtlirt.irt.curves import Grid, Items, log_guessing, logistic
from mtlirt.irt.items import LIMIT
from mtlirt.irt.kernels import Float, added
from mtlirt.irt.slopes import MEAN_VARIANCE, SlopeLikelihood, SlopePosterior, SlopePrior

STRIP = 2048
"""Items that are gone through at a time."""

NORMAL_OGIVE = 1.702
"""A logistic curve is near a normal one of this slope, and the mean of one over a normal trait near
a flatter one."""

LARGEST_SHARE = 0.6
"""The traits' uncertainty takes away no more of the information about any direction of the items.

Beyond that the approximation, which is of second order in the traits' deviations, says too much:
with ten steep items standard errors would be many times too large."""


class TraitUncertainty(NamedTuple):
    """What the traits' posteriors leave open, gathered on the grid at the traits' means.

    Let delta be a trait's deviation from its posterior mean m, v its variance, tau the precision of
    its site, x = 2 m - shift / tau, and w an item's information about its logit. The score of a
    slope then moves as -a w (x delta + delta^2 - v), that of an intercept as -a w delta.

    Attributes
    ----------
    noise, drift
        Sums of v n and of v n^2 over the models, n attempts at an item each, shape (count, items),
        or (count, 1) where all models answered all items once.
    factors
        Covariance of x delta + delta^2 - v and delta, summed over the models that took the domain,
        shape (count, 2, 2); without the part of the first that is the answers' own noise.
    anchored
        Their covariances with the changes of a trait and of its square, shape (count, 2, 2).
    anchor
        The covariance of these two, summed over all models, shape (2, 2).
    variance
        Of the traits about each grid point, shape (count,), with that of being gathered there.
    """

    noise: Float
    drift: Float
    factors: Float
    anchored: Float
    anchor: Float
    variance: Float


def trait_uncertainty(
    traits: Sequence[Float],
    precision: Float,
    shift: Float,
    others: Sequence[Float],
    grid: Grid,
    noise: Float | None = None,
    drift: Float | None = None,
) -> TraitUncertainty:
    """Gather the traits of a domain; models x 10 operations.

    Parameters
    ----------
    traits
        Posterior means and variances, and weights, of the models that took the domain, shape
        (models,) each.
    precision, shift
        Of their sites.
    others
        The same of the models that did not: the convention holds for them too.
    noise, drift
        See `TraitUncertainty`; None where all models answered all items once.
    """
    m, v, weight = traits
    told = precision > 1e-9
    known = np.where(told, precision, 1.0)
    x = 2.0 * m - np.where(told, shift / known, m)
    along = v * x
    square = along * x + 2.0 * v**2
    columns = [square - np.where(told, v / known, 0.0), along, v]
    columns += [2.0 * (m * along + v**2), 2.0 * m * v, v**2]
    own, cross, alone, to_square, to_double, squared = gathered(
        m, weight[:, None] * np.stack(columns, axis=1), grid
    ).T
    one = alone[:, None]
    return TraitUncertainty(
        one if noise is None else noise,
        one if drift is None else drift,
        np.stack([own, cross, cross, alone], axis=1).reshape(-1, 2, 2),
        np.stack([cross, to_square, alone, to_double], axis=1).reshape(-1, 2, 2),
        spread_of_moments(*traits) + spread_of_moments(*others),
        squared / np.maximum(alone, 1e-300) + grid.step**2 / 6.0,
    )


def cell_uncertainty(
    block: ResponseBlock, mean: Float, variance: Float, grid: Grid
) -> tuple[Float, Float]:
    """``noise`` and ``drift`` of `TraitUncertainty` of one block; cells x 2 multiplications.

    The variance is times the weight of the model.
    """
    place = mean / grid.step - grid.first
    start = np.clip(place.astype(np.int64), 0, grid.count - 2)
    share = place - start
    density = np.stack([1.0 - share, share], axis=1) * variance[:, None]
    window = start, np.ones_like(start), np.full_like(start, 2)
    noise, drift = (
        cells.masked_histogram(block.responses, weight, False, density, *window, grid.count)
        for weight in (block.weight, block.weight**2)
    )
    return noise, drift


def spread_of_moments(mean: Float, variance: Float, weight: Float) -> Float:
    """Covariance of the sums of some traits and of their squares, shape (2, 2)."""
    both = weight @ (2.0 * mean * variance)
    squares = weight @ (4.0 * mean**2 * variance + 2.0 * variance**2)
    return np.array([[weight @ variance, both], [both, squares]])


def gathered(mean: Float, amounts: Float, grid: Grid) -> Float:
    """Amounts at some traits, shape (models, columns), by the two grid points about each."""
    place = mean / grid.step - grid.first
    start = np.clip(place.astype(np.intp), 0, grid.count - 2)
    share = place - start
    ends = [(start, 1.0 - share), (start + 1, share)]
    return np.stack(
        [
            sum(np.bincount(at, part * column, grid.count) for at, part in ends)
            for column in amounts.T
        ],
        axis=1,
    )


def pull(items: Items, grid: Grid, variance: Float) -> tuple[Float, Float]:
    """How items' scores move with the trait at each grid point, which has a variance about it.

    The score is u (theta, 1), u = y (1 - q) - sigma, with q the share of right answers that are
    guesses; over y, u has mean 0 and variance w, and du/d eta = q u - w. Returned are the variance
    of d(score)/d theta over y, its entries aa, ad, dd, shape (3, count, items), and a w, shape
    (count, items), on average about each point.
    """
    theta = grid.points[:, None]
    flat = 1.0 / np.sqrt(1.0 + items.slope**2 * variance[:, None] / NORMAL_OGIVE**2)
    eta = flat * (items.slope * theta + items.intercept)
    p, known = logistic(eta), logistic(eta - log_guessing(items.guessing))
    weight = p * (1.0 - p) * (1.0 - items.guessing) * known
    turn = items.slope * (1.0 - known)
    by_slope = 1.0 + theta * turn
    noise = weight * np.stack([by_slope**2, by_slope * turn, turn**2])
    return noise, items.slope * flat * weight


def observed_covariance(
    items: Items,
    information: Float,
    traits: TraitUncertainty,
    root: Float,
    grid: Grid,
    prior: SlopePrior,
    held: npt.NDArray[np.bool_],
) -> Float:
    """Covariance of each item's (a, d): entries aa, ad, dd, shape (items, 3); 0 for items held.

    Parameters
    ----------
    information
        Expected information of (a, d) if the traits were known, without the prior, shape
        (items, 3), averaged over the traits' posteriors.
    root
        `anchored_root` of the traits.
    prior
        Of the slopes.

    Notes
    -----
    The observed information is the complete one less the variance of the score over the traits'
    posteriors (Louis 1982, eq. 3.1), here to second order in their deviations and averaged over the
    answers that go with each trait: the answers' noise falls on each item by itself, the rest on
    all alike. It is G H G' with G = a w at each grid point, for slopes and for intercepts, so that
    the inverse takes one matrix of twice the grid's size. H loses what moves the mean and the
    variance of the traits over the models, which are 0 and 1 by convention, not estimated. The
    mean of the slopes' prior is found with them as well.

    Where some cells are missing, what two items have in common is taken in proportion to the
    shares of the models that answered each. An item that responses and prior do not identify gets
    0. An intercept that is not placed within +-`LIMIT` counts as known. Costs items x count^2, and
    memory for 4 x count numbers an item.
    """
    free = np.flatnonzero(~held)
    strips = [free[start : start + STRIP] for start in range(0, len(free), STRIP)]
    known = items, information, traits, grid, prior, root, mean_pull(prior, len(free))
    found = [item_errors(*known, some) for some in strips]
    out = np.zeros((len(held), 3))
    if not found:
        return out
    shares, directions = np.linalg.eigh(added([part.common for part in found]))
    more = 1.0 / (1.0 - np.minimum(shares, LARGEST_SHARE))
    for some, part in zip(strips, found, strict=True):
        by_slope, by_intercept = (directions.T @ spread for spread in part.spread)
        squares = np.stack([by_slope**2, by_slope * by_intercept, by_intercept**2])
        entries = part.covariance + np.einsum("csj,s->cj", squares, more)
        entries[1:, part.lost] = 0.0
        out[some] = np.where(part.usable, entries, 0.0).T
    return out


def slope_likelihood(slopes: SlopePosterior, observed: Float, prior: SlopePrior) -> SlopeLikelihood:
    """What the responses tell of some slopes, the traits having to be found from them too.

    Parameters
    ----------
    slopes
        Posteriors as if the traits were known.
    observed
        Their variances by `observed_covariance`; 0 for those not identified, of which nothing is
        told.

    Notes
    -----
    At the posterior's mode the gradient of the log-likelihood is that of the prior, and its
    curvature is what is observed, which is not less than 1 - `LARGEST_SHARE` of the complete.
    """
    told = (observed > 0.0) & (slopes.variance > 0.0)
    complete = 1.0 / np.where(told, slopes.variance, 1.0) - prior.precision
    information = 1.0 / np.where(told, observed, 1.0) - prior.precision
    information = np.clip(information, (1.0 - LARGEST_SHARE) * complete, complete)
    shift = information * slopes.mean + prior.precision * (slopes.mean - prior.mean)
    return SlopeLikelihood(np.where(told, information, 0.0), np.where(told, shift, 0.0))


class ItemErrors(NamedTuple):
    """Some items, each with the part of the traits' uncertainty that falls on it by itself.

    Attributes
    ----------
    covariance
        Of (a, d): entries aa, ad, dd, shape (3, items).
    spread
        What the part on all alike pulls the scores by, times the covariance, shape (2, columns,
        items).
    common
        Sum over the items of that pull times the covariance times the pull, (columns, columns).
    usable, lost
        Items that are identified, and those whose intercept is not placed, shape (items,).
    """

    covariance: Float
    spread: Float
    common: Float
    usable: npt.NDArray[np.bool_]
    lost: npt.NDArray[np.bool_]


def item_errors(
    items: Items,
    information: Float,
    traits: TraitUncertainty,
    grid: Grid,
    prior: SlopePrior,
    root: Float,
    mean_pull: float,
    some: npt.NDArray[np.intp],
) -> ItemErrors:
    """Of some of the items; see `observed_covariance`, `anchored_root` and `mean_pull`."""
    chosen = Items(*(part[some] for part in items))
    noise, by_trait = pull(chosen, grid, traits.variance)
    own_noise, own_drift = (
        part if part.shape[1] == 1 else part[:, some] for part in (traits.noise, traits.drift)
    )
    everyone = traits.factors[:, 1, 1, None]
    share = own_noise.sum(axis=0) / everyone.sum()
    theta = grid.points[:, None]
    squares = (
        (own_drift - share**2 * everyone) * by_trait**2 * np.stack([theta**2, theta, theta**0])
    )
    complete = information[some].T + np.array([prior.precision, 0.0, 0.0])[:, None]
    taken = (noise * own_noise + squares).sum(axis=1)
    aa, ad, dd = kept_positive(complete, taken)
    determinant = aa * dd - ad**2
    usable = determinant > 1e-12 * aa * dd
    scale = np.where(usable, 1.0 / np.where(usable, determinant, 1.0), 0.0)
    inverse = np.stack([dd, -ad, aa]) * scale
    own = by_trait * share
    by_slope, by_intercept = (part.T @ own for part in root.reshape(2, grid.count, -1))
    by_slope = np.vstack([by_slope, np.full(len(some), mean_pull)])
    by_intercept = np.vstack([by_intercept, np.zeros(len(some))])
    spread = np.stack(
        [
            inverse[0] * by_slope + inverse[1] * by_intercept,
            inverse[1] * by_slope + inverse[2] * by_intercept,
        ]
    )
    common = by_slope @ spread[0].T + by_intercept @ spread[1].T
    return ItemErrors(inverse, spread, common, usable, dd < LIMIT**-2)


def mean_pull(prior: SlopePrior, items: int) -> float:
    """What the prior's mean, found from the slopes, takes from their prior information.

    With the mean's own prior of variance `MEAN_VARIANCE` the slopes' prior precision is p I - m^2
    1 1', p the prior's and m what is returned.
    """
    return prior.precision / float(np.sqrt(items * prior.precision + 1.0 / MEAN_VARIANCE))


def kept_positive(complete: Float, lost: Float) -> Float:
    """The information that is left, at least 1 - `LARGEST_SHARE` of each item's in any direction.

    The shares lost are the eigenvalues of complete^-1 lost.

    Parameters
    ----------
    complete, lost
        Entries aa, ad, dd, shape (3, items).
    """
    aa, ad, dd = complete
    determinant = np.maximum(aa * dd - ad**2, 1e-300)
    trace = (dd * lost[0] - 2.0 * ad * lost[1] + aa * lost[2]) / determinant
    product = (lost[0] * lost[2] - lost[1] ** 2) / determinant
    largest = 0.5 * (trace + np.sqrt(np.maximum(trace**2 - 4.0 * product, 0.0)))
    kept: Float = complete - lost * (LARGEST_SHARE / np.maximum(largest, LARGEST_SHARE))
    return kept


def anchored_root(traits: TraitUncertainty) -> Float:
    """R with R R' = H less what moves the mean and variance of the traits, (2 count, columns)."""
    count = len(traits.variance)
    whole = np.zeros((2, count, 2, count))
    whole[:, np.arange(count), :, np.arange(count)] = traits.factors
    towards = traits.anchored.transpose(1, 0, 2).reshape(2 * count, 2)
    anchored = towards @ np.linalg.solve(traits.anchor, towards.T)
    left: Float = whole.reshape(2 * count, 2 * count) - anchored
    sizes, directions = np.linalg.eigh(left)
    kept = sizes > 0.0
    return np.ascontiguousarray(directions[:, kept] * np.sqrt(sizes[kept]))
