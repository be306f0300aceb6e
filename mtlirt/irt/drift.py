"""Items that drifted between two fits: found, and left out of the link of their scales."""

from __future__ import annotations

from dataclasses import dataclass
from typing import NamedTuple

import numpy as np
from scipy.stats import f as fisher

from mtlirt.irt.kernels import Float
from mtlirt.irt.linking import (
    Bools,
    FittedLink,
    KnownItems,
    Link,
    Method,
    Nodes,
    Population,
    differences,
    first_link,
    fitted_link,
    least_square,
    spread_of,
)

MEDIAN = 2.0 * np.log(2.0)
"""Of chi-square with 2 degrees of freedom."""

LEAST_SCALE = 0.1
"""The items' differences are never taken to be smaller than this share of their sds."""

SOFT_PASSES = 3
"""Searches of the first link, each with the covariances as the last one links them."""

MOST_PASSES = 30
"""Passes after which the items that are left out stay so."""


@dataclass(frozen=True)
class RobustLink:
    """A link through the items that did not drift.

    Attributes
    ----------
    fitted
        The link and its covariance.
    difference
        New minus anchor of (a, d), linked, shape (items, 2).
    variance
        Of these, by both covariances and the scale below, shape (items, 2).
    scale
        How large the items' differences are beside what the covariances and the overlap say.
    p
        Probability of a difference as large as an item's if it did not drift, shape (items,).
    drifted
        Items that are left out, shape (items,).
    """

    fitted: FittedLink
    difference: Float
    variance: Float
    scale: float
    p: Float
    drifted: Bools


def robust_link(
    method: Method,
    new: KnownItems,
    anchor: KnownItems,
    populations: tuple[Population, Population],
    false_discoveries: float,
    overlap: float = 0.0,
) -> RobustLink:
    """Link two scales through common items, without those that drifted.

    Parameters
    ----------
    new, anchor
        The same items on the two scales, 5 or more, with covariances whose sum is positive
        definite.
    populations
        Of the new fit's models and of the anchor's, each on its own scale.
    false_discoveries
        The share of the items left out that may be left out wrongly.
    overlap
        The share of the anchor's models that are in the new fit too.

    Notes
    -----
    The statistic of an item is x = r'V^-1 r, with r the difference of its linked parameters and V
    its covariance, see `mtlirt.irt.linking.spread_of`. If it did not drift, x is s^2 times
    chi-square with 2 degrees of freedom; s^2 is found from the median of x over the items that are
    kept, so it is as sure as a variance with about as many degrees of freedom as items, and
    x/(2 s^2) is referred to F(2, items). The items found by the procedure of Benjamini and
    Hochberg are left out, half of all at most, and the link is found again, until they are the same
    ones. The first link is robust itself: it makes the sum of soft absolute values of the whitened
    differences least.
    """
    first = softly_linked(new, anchor, first_link(new, anchor), overlap)
    own, theirs = populations
    carried = Population(first.scale * own.mean + first.shift, abs(first.scale) * own.sd)
    nodes = Nodes.of((carried, theirs))
    found = judged(new, anchor, first, overlap, np.zeros(len(new.covariance), bool))
    drifted = flagged(found.p, false_discoveries)
    for _ in range(MOST_PASSES):
        pair = new.some(~drifted), anchor.some(~drifted)
        fitted = fitted_link(method, *pair, nodes, first)
        found = judged(new, anchor, fitted.link, overlap, drifted)
        again, drifted = drifted, flagged(found.p, false_discoveries)
        if (again == drifted).all():
            break
    return RobustLink(fitted, found.difference, found.variance, found.scale, found.p, again)


class Judged(NamedTuple):
    """The items' differences under a link; see `RobustLink`."""

    difference: Float
    variance: Float
    scale: float
    p: Float


def judged(
    new: KnownItems, anchor: KnownItems, link: Link, overlap: float, drifted: Bools
) -> Judged:
    """How probable the differences are; their scale is that of items that had not drifted."""
    linked = new.carried(link)
    spread, difference = spread_of(linked, anchor, overlap), differences(linked, anchor)
    whitened = np.einsum("jkl,jl->jk", spread.whitener, difference)
    statistic = (whitened**2).sum(axis=1)
    scale = max(float(np.median(statistic[~drifted])) / MEDIAN, LEAST_SCALE**2)
    p = np.asarray(fisher.sf(0.5 * statistic / scale, 2, len(statistic)))
    variance = scale * np.diagonal(spread.variance, axis1=1, axis2=2)
    return Judged(difference, variance, float(np.sqrt(scale)), p)


def flagged(p: Float, false_discoveries: float) -> Bools:
    """Which items drifted: at most half of them, those with the least probabilities."""
    out = adjusted(p) < false_discoveries
    if out.sum() > len(p) // 2:
        out = np.zeros(len(p), bool)
        out[np.argsort(p, kind="stable")[: len(p) // 2]] = True
    return np.asarray(out)


def softly_linked(new: KnownItems, anchor: KnownItems, start: Link, overlap: float) -> Link:
    """The link that makes the sum of soft absolute values of whitened differences least."""
    link, sign = start, float(np.sign(start.scale))
    for _ in range(SOFT_PASSES):
        whitened = spread_of(new.carried(link), anchor, overlap).whitener

        def residuals(point: Float, whitened: Float = whitened) -> Float:
            there = Link(sign * float(np.exp(point[0])), float(point[1]))
            found = differences(new.carried(there), anchor)
            return np.asarray(np.einsum("jkl,jl->jk", whitened, found).ravel())

        def jacobian(point: Float, whitened: Float = whitened) -> Float:
            scale, shift = sign * float(np.exp(point[0])), float(point[1])
            slope = new.items.slope / scale
            by_scale = np.stack([-slope, slope * shift], axis=1)
            by_shift = np.stack([np.zeros_like(slope), -slope], axis=1)
            parts = [
                np.einsum("jkl,jl->jk", whitened, part).ravel() for part in (by_scale, by_shift)
            ]
            return np.stack(parts, axis=1)

        found = least_square(
            residuals, jacobian, np.array([np.log(abs(link.scale)), link.shift]), "soft_l1"
        )
        link = Link(sign * float(np.exp(found[0])), float(found[1]))
    return link


def adjusted(p: Float) -> Float:
    """Probabilities adjusted for how many there are, after Benjamini & Hochberg (1995).

    The least share of false discoveries at which each is one. NaN stays NaN and is not counted.
    """
    out = np.full(p.shape, np.nan)
    known = np.flatnonzero(~np.isnan(p))
    order = known[np.argsort(-p[known], kind="stable")]
    rank = np.arange(len(order), 0, -1)
    out[order] = np.minimum.accumulate(np.minimum(p[order] * len(order) / rank, 1.0))
    return out
