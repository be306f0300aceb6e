"""The response function, its curves on the trait grid, and the grid itself."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import NamedTuple

import numpy as np

from mtlirt.irt import kernels
from mtlirt.irt.kernels import Float


class Items(NamedTuple):
    """Slopes a and intercepts d of some items: P(correct) = sigma(a theta + d), no 1.702."""

    slope: Float
    intercept: Float

    def columns(self, part: slice) -> Items:
        """The parameters of a run of items."""
        return Items(self.slope[part], self.intercept[part])


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


FITTING = Quadrature(spacing=1.0, depth=20.0)
"""Errors below 1e-7: for the rounds of a fit."""

SCORING = Quadrature(spacing=0.75, depth=32.0)
"""Errors below 1e-12: for published traits."""


def probability(theta: Float, slope: Float, intercept: Float) -> Float:
    """P(correct) = sigma(a theta + d), broadcasting."""
    eta = slope * theta + intercept
    e = np.exp(-np.abs(eta))
    return np.asarray(np.where(eta >= 0, 1.0, e) / (1.0 + e))


def information_curve(theta: Float, items: Items) -> Float:
    """Fisher information of the items at each theta, shape of theta; theta x items evaluations."""
    p = probability(theta[:, None], items.slope, items.intercept)
    return np.asarray((items.slope**2 * p * (1.0 - p)).sum(axis=1))


EDGES = np.concatenate([np.arange(0.0, 12.5, 0.5), 12.0 * 2.0 ** np.arange(1, 13)])
"""Distances from 0 at which `Reach` is tabulated."""

CENTRES = np.arange(-11.75, 12.0, 0.5)
"""Centres of the intervals on which `Reach` bounds the information."""


class Reach(NamedTuple):
    """What bounds the grid of a domain, as sums over items, so that item chunks add up.

    Attributes
    ----------
    up, down
        The strongest pull of any answers on a trait at ``+EDGES`` upwards, at ``-EDGES``
        downwards, shape (len(EDGES),).
    information
        Upper bounds of the Fisher information on the half-unit intervals of [-12, 12].
    """

    up: Float
    down: Float
    information: Float


def item_reach(items: Items, attempts: float) -> Reach:
    """Bounds from one run of items with at most so many attempts a cell; 90 x items."""
    # a right answer to an item of positive slope pulls up by a (1 - P), a wrong one to an item
    # of negative slope by |a| P: both are |a| sigma(-(|a| theta + d sign a))
    signs = np.where(items.slope < 0, -1.0, 1.0)
    slope, intercept = items.slope * signs, items.intercept * signs
    up = kernels.pull_sums(slope, intercept, EDGES)
    down = kernels.pull_sums(-slope, -intercept, -EDGES)
    information = kernels.information_bounds(slope, intercept, CENTRES, 0.25)
    return Reach(attempts * up, attempts * down, attempts * information)


def trait_grid(
    parts: Sequence[Reach], cavities: Sequence[tuple[Float, Float]], quadrature: Quadrature
) -> Grid:
    """The grid that holds every posterior of a domain to the quadrature's depth.

    Parameters
    ----------
    parts
        The reach of each item chunk.
    cavities
        Means and variances of the traits' priors, for each model chunk.

    Notes
    -----
    A log-concave posterior's slope at theta is at most pull(theta) - (theta - m)/v, so no mode
    lies beyond the first edge at which that is negative for every model; from its mode a
    posterior falls at least as fast as its prior. Nothing is clipped.
    """
    means = np.concatenate([mean for mean, _ in cavities])
    variances = np.concatenate([variance for _, variance in cavities])
    information = np.sum([part.information for part in parts], axis=0).max()
    step = quadrature.spacing / np.sqrt(information + 1.0 / variances.min())
    ends = []
    for side, pulls in ((1.0, [p.up for p in parts]), (-1.0, [p.down for p in parts])):
        pull = np.sum(pulls, axis=0)
        safe = (
            np.min((edge - side * means) / variances) >= total
            for edge, total in zip(EDGES, pull, strict=True)
        )
        mode = next((edge for edge, enough in zip(EDGES, safe, strict=True) if enough), None)
        if mode is None:
            raise FloatingPointError(f"a trait beyond {EDGES[-1]:g} standard deviations")
        ends.append(mode + np.sqrt(2.0 * quadrature.depth * variances.max()))
    last, first = int(np.ceil(ends[0] / step)) + 1, -int(np.ceil(ends[1] / step)) - 1
    return Grid(first, last - first + 1, float(step))


def shared_curve(items: Items, grid: Grid) -> Float:
    """C(theta) = sum over items of log(1 + exp(a theta + d)) on the grid, shape (count,)."""
    return kernels.softplus_sum(items.slope, items.intercept, grid.first, grid.count, grid.step)
