"""The response function, its curves on the trait grid, and the grid itself."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import NamedTuple

import numpy as np

from mtlirt.irt import kernels
from mtlirt.irt.kernels import Float


class Items(NamedTuple):
    """Some items: P(correct) = c + (1 - c) sigma(a theta + d), no 1.702.

    Attributes
    ----------
    slope, intercept
        a and d, shape (items,).
    guessing
        c, the chance of a model that knows nothing: known, in [0, 1), 0 where nobody guesses.
    """

    slope: Float
    intercept: Float
    guessing: Float

    @classmethod
    def plain(cls, slope: Float, intercept: Float) -> Items:
        """Items that nobody guesses."""
        return cls(slope, intercept, np.zeros(len(slope)))

    @property
    def guessed(self) -> bool:
        """Whether any item may be guessed."""
        return bool(self.guessing.any())

    def columns(self, part: slice) -> Items:
        """The parameters of a run of items."""
        return Items(self.slope[part], self.intercept[part], self.guessing[part])


@dataclass(frozen=True)
class Grid:
    """The trait grid: the points ``(first + k) * step`` for k = 0 .. count - 1."""

    first: int
    count: int
    step: float

    @property
    def points(self) -> Float:
        """The grid points, shape (count,)."""
        return np.asarray((self.first + np.arange(self.count)) * self.step)


@dataclass(frozen=True)
class Quadrature:
    """How finely and how far a posterior is integrated by the trapezoid rule.

    Attributes
    ----------
    spacing
        Largest distance of nodes in standard deviations of the posterior; the error falls as
        exp(-2 pi^2 / spacing^2).
    depth
        The nodes go out to where the density is exp(-depth) of its peak.
    """

    spacing: float
    depth: float


FITTING = Quadrature(spacing=1.0, depth=15.0)
"""For the rounds of a fit: errors below 1e-6 of a standard deviation in domains of many items, of
up to 1e-3 beside a single very steep item."""

SCORING = Quadrature(spacing=0.7, depth=28.0)
"""For published traits: errors below 1e-10 of a standard deviation in domains of many items, below
1e-6 beside a single very steep item."""


def probability(
    theta: Float, slope: Float, intercept: Float, guessing: Float | float = 0.0
) -> Float:
    """P(correct) = c + (1 - c) sigma(a theta + d), broadcasting."""
    return np.asarray(guessing + (1.0 - guessing) * logistic(slope * theta + intercept))


def logistic(eta: Float) -> Float:
    """1 / (1 + exp(-eta)) without overflow."""
    e = np.exp(-np.abs(eta))
    return np.asarray(np.where(eta >= 0, 1.0, e) / (1.0 + e))


def log_guessing(guessing: Float) -> Float:
    """The logarithm of c, -inf where nobody guesses."""
    with np.errstate(divide="ignore"):
        return np.log(guessing)


def guessing_gain(eta: Float, guessing: Float) -> Float:
    """E = log(1 + c exp(-eta)), what guessing adds to a success's log-likelihood, broadcasting.

    A cell with y successes of n attempts has the log-likelihood y eta - n log(1 + exp(eta)) +
    y E + (n - y) log(1 - c).
    """
    return np.asarray(np.logaddexp(0.0, log_guessing(guessing) - eta))


class LogitInformation(NamedTuple):
    """Of one attempt, what its answer says of the logit eta = a theta + d, shape (thetas, items).

    Attributes
    ----------
    weight
        Fisher information (dP / d eta)^2 / (P (1 - P)) = (1 - c) sigma (1 - sigma)(1 - q).
    guess
        q = c (1 - sigma) / P, the share of right answers that are guesses.
    """

    weight: Float
    guess: Float


def logit_information(theta: Float, items: Items) -> LogitInformation:
    """The information of each item at each theta, shape (thetas,); theta x items evaluations."""
    eta = items.slope * theta[:, None] + items.intercept
    p = logistic(eta)
    weight = p * (1.0 - p)
    if not items.guessed:
        return LogitInformation(weight, np.zeros_like(weight))
    known = logistic(eta - log_guessing(items.guessing))
    return LogitInformation(weight * (1.0 - items.guessing) * known, 1.0 - known)


def information_curve(theta: Float, items: Items) -> Float:
    """Fisher information of the items at each theta, shape of theta; theta x items evaluations."""
    return np.asarray((items.slope**2 * logit_information(theta, items).weight).sum(axis=1))


EDGES = np.array([1.0, 2.0, 3.0, 4.0, 5.0, 6.0, 7.0, 8.0, 10.0, *(12.0 * 2.0 ** np.arange(12))])
"""Distances from 0 at which `Reach` is tabulated."""

INTERVALS = np.concatenate(
    [[-1e4], np.arange(-12.0, -5.0), np.arange(-5.0, 5.0, 0.5), np.arange(5.0, 13.0), [1e4]]
)
"""Ends of the intervals on which `Reach` bounds the information."""


class Reach(NamedTuple):
    """What bounds the grid of a domain, as sums over items, so that item chunks add up.

    Attributes
    ----------
    up, down
        The strongest pull of any answers on a trait at ``+EDGES`` upwards, at ``-EDGES``
        downwards, shape (len(EDGES),).
    information
        Upper bounds of the Fisher information on each of `INTERVALS`.
    """

    up: Float
    down: Float
    information: Float


def item_reach(items: Items, attempts: float) -> Reach:
    """Bounds from one run of items with at most so many attempts a cell; 76 x items.

    They hold with guessing as well: a guessed item's right answer pulls by a (1 - sigma)(1 - q),
    0 <= q <= 1, and what guessing adds to a log-likelihood is convex, so it lessens the curvature.
    """
    # a right answer to an item of positive slope pulls up by a (1 - P), a wrong one to an item
    # of negative slope by |a| P: both are |a| sigma(-(|a| theta + d sign a))
    signs = np.where(items.slope < 0, -1.0, 1.0)
    slope, intercept = items.slope * signs, items.intercept * signs
    centres = 0.5 * (INTERVALS[1:] + INTERVALS[:-1])
    up = kernels.pull_sums(slope, intercept, EDGES)
    down = kernels.pull_sums(-slope, -intercept, -EDGES)
    information = kernels.information_bounds(slope, intercept, centres, 0.5 * np.diff(INTERVALS))
    return Reach(attempts * up, attempts * down, attempts * information)


def trait_grid(
    parts: Sequence[Reach],
    cavities: Sequence[tuple[Float, Float]],
    quadrature: Quadrature,
    least_variance: float | None = None,
) -> Grid:
    """The grid that holds every posterior of a domain to the quadrature's depth.

    Parameters
    ----------
    parts
        The reach of each item chunk.
    cavities
        Means and variances of the traits' priors, for each model chunk.
    least_variance
        A lower bound of any model's prior variance, so that the grid's points do not depend on
        which models there are; by default the least of those given.

    Notes
    -----
    A posterior's slope at theta is at most pull(theta) - (theta - m)/v, and pull falls, so no
    mode lies beyond the first edge at which that is negative for every model; from there a
    posterior falls at least as fast as its prior. Nothing is clipped.
    """
    means = np.concatenate([mean for mean, _ in cavities])
    variances = np.concatenate([variance for _, variance in cavities])
    information = kernels.added([part.information for part in parts]).max()
    least = float(variances.min()) if least_variance is None else least_variance
    step = quadrature.spacing / np.sqrt(information + 1.0 / least)
    up = kernels.added([part.up for part in parts])
    down = kernels.added([part.down for part in parts])
    top = kernels.highest_mode(up, EDGES, means, variances)
    bottom = kernels.highest_mode(down, EDGES, -means, variances)
    if not np.isfinite([top, bottom]).all():
        raise FloatingPointError(f"a trait lies beyond {EDGES[-1]:g} standard deviations")
    tail = np.sqrt(2.0 * quadrature.depth * variances.max())
    last = int(np.ceil((top + tail) / step)) + 1
    first = -int(np.ceil((bottom + tail) / step)) - 1
    return Grid(first, last - first + 1, float(step))


def covering_grid(parts: Sequence[Reach], means: Sequence[Float]) -> Grid:
    """A grid around some traits whose points depend on the items alone."""
    information = kernels.added([part.information for part in parts]).max()
    step = SCORING.spacing / np.sqrt(information + 1.0)
    everyone = np.concatenate(list(means))
    first = int(np.floor(everyone.min() / step)) - 1
    return Grid(first, int(np.ceil(everyone.max() / step)) + 2 - first, float(step))


def shared_curve(items: Items, grid: Grid) -> Float:
    """C(theta) = sum over items of log(1 + exp(a theta + d)) on the grid, shape (count,).

    It is what all models share only where nobody guesses.
    """
    return kernels.softplus_sum(items.slope, items.intercept, grid.first, grid.count, grid.step)
