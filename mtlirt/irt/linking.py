"""Links between two scales of a trait, found from items whose parameters are known on both.

theta' = A theta + B carries the traits of a new fit to the scale of an anchor. It leaves every
probability as it is where the items become (a/A, d - a B/A), as `engine.state.standardise` does
with the inverse.

Sources, by their equations: Kolen & Brennan, *Test Equating, Scaling, and Linking* (3rd ed., 2014),
chapter 6; Stocking & Lord, Applied Psychological Measurement 7 (1983), 201-210; Haebara, Japanese
Psychological Research 22 (1980), 144-149.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any, Literal, NamedTuple

import numpy as np
import numpy.typing as npt
from scipy.optimize import least_squares

from mtlirt.irt.curves import Items, logistic, probability
from mtlirt.irt.kernels import Float

Method = Literal["haebara", "stocking-lord"]

Bools = npt.NDArray[np.bool_]

NODES = 61
"""Traits at which response curves are compared."""

REACH = 4.0
"""They lie within so many standard deviations of both populations."""

EXACT = 1e-15
"""Relative change of a criterion, its gradient and its arguments at which a search ends."""

LEAST_SHARE = 0.1
"""Items of two fits are taken to differ by this share at least of what independent ones would."""

FLATTEST = 1e-6
"""Below this slope an item has no difficulty."""


class Link(NamedTuple):
    """theta' = scale theta + shift; numbers, or arrays of one for each item or domain."""

    scale: Any
    shift: Any


class KnownItems(NamedTuple):
    """Items with what is known of their parameters.

    Attributes
    ----------
    items
        The parameters.
    covariance
        Entries aa, ad, dd of that of (a, d), shape (items, 3).
    """

    items: Items
    covariance: Float

    def some(self, which: Bools) -> KnownItems:
        """Those that are asked for."""
        return KnownItems(Items(*(part[which] for part in self.items)), self.covariance[which])

    def carried(self, link: Link) -> KnownItems:
        """The same items on the other scale.

        Kolen & Brennan (2014), equations 6.3 and 6.4, for the slope and the intercept d = -a b.
        Floors stay as they are.
        """
        (a, d, c), (scale, shift) = self.items, link
        return KnownItems(
            Items(a / scale, d - a * shift / scale, c), carried_covariance(self.covariance, link)
        )


def carried_covariance(covariance: Float, link: Link) -> Float:
    """Covariances aa, ad, dd of (a, d), shape (items, 3), on the other scale."""
    aa, ad, dd = covariance.T
    scale, ratio = link.scale, link.shift / link.scale
    moved = [aa / scale**2, (ad - ratio * aa) / scale, dd - 2.0 * ratio * ad + ratio**2 * aa]
    return np.stack(moved, axis=1)


def carried_sites(precision: Float, shift: Float, link: Link) -> tuple[Float, Float]:
    """Precisions and shifts of normal sites of theta as those of theta'."""
    moved = precision / link.scale**2
    return moved, shift / link.scale + moved * link.shift


def mean_sigma(new: Float, anchor: Float, weights: Float | None = None) -> Link:
    """The link that gives difficulties the mean and the standard deviation of the anchor's.

    Kolen & Brennan (2014), equations 6.8a and 6.9a: A = sigma(b_anchor)/sigma(b_new) and
    B = mu(b_anchor) - A mu(b_new); here with weighted moments.

    Parameters
    ----------
    new, anchor
        Difficulties b = -d/a of the same items, shape (items,).
    weights
        Of the items; equal by default.
    """
    share = np.ones(len(new)) if weights is None else weights
    centre = [float(np.average(part, weights=share)) for part in (new, anchor)]
    spread = [
        float(np.sqrt(np.average((part - middle) ** 2, weights=share)))
        for part, middle in zip((new, anchor), centre, strict=True)
    ]
    if min(spread) == 0.0:
        return Link(1.0, centre[1] - centre[0])
    scale = spread[1] / spread[0]
    return Link(scale, centre[1] - scale * centre[0])


def first_link(new: KnownItems, anchor: KnownItems) -> Link:
    """Where a search starts: mean/sigma, items weighted by the precision of their difficulties.

    The sign is that of the products of their slopes: a trait may point the other way.
    """
    sign = 1.0 if float(new.items.slope @ anchor.items.slope) >= 0.0 else -1.0
    steep = np.minimum(np.abs(new.items.slope), np.abs(anchor.items.slope)) > FLATTEST
    if not steep.any():
        return Link(sign, 0.0)
    difficulty, variance = [], np.zeros(int(steep.sum()))
    for part in (new.some(steep), anchor.some(steep)):
        a, b = part.items.slope, -part.items.intercept / part.items.slope
        aa, ad, dd = part.covariance.T
        difficulty.append(b)
        variance += (dd + 2.0 * b * ad + b**2 * aa) / a**2
    known = variance > 0.0
    weights = np.where(known, 1.0 / np.where(known, variance, 1.0), 0.0)
    found = mean_sigma(sign * difficulty[0], difficulty[1], weights if known.all() else None)
    return Link(sign * found.scale, found.shift)


class Population(NamedTuple):
    """Mean and standard deviation of the traits of a fit's models."""

    mean: float
    sd: float


@dataclass(frozen=True)
class Nodes:
    """Traits on the anchor's scale, and the share of models near each.

    Attributes
    ----------
    at, weight
        Shape (nodes,); weights sum to 1.
    """

    at: Float
    weight: Float

    @classmethod
    def of(cls, populations: tuple[Population, Population]) -> Nodes:
        """Nodes for two normal populations, each of which counts half."""
        low = min(mean - REACH * sd for mean, sd in populations)
        high = max(mean + REACH * sd for mean, sd in populations)
        at = np.linspace(low, high, NODES)
        weight = np.zeros(NODES)
        for mean, sd in populations:
            density = np.exp(-0.5 * ((at - mean) / sd) ** 2)
            weight += density / density.sum()
        return cls(at, weight / weight.sum())


@dataclass(frozen=True)
class Criterion:
    """What a link makes least: half a sum of squares over nodes, and for Haebara items.

    Attributes
    ----------
    method
        "stocking-lord": squares of the difference of the weighted test curves (Stocking & Lord
        1983; SLcrit in Kolen & Brennan 2014). "haebara": the weighted sum of squares of the
        differences of the items' curves (Haebara 1980; Hcrit in Kolen & Brennan 2014).
    new, anchor
        The items on either scale.
    nodes
        Where curves are compared.
    weights
        Of the items, shape (items,); see `item_weights`.
    sign
        That of the scale.
    """

    method: Method
    new: KnownItems
    anchor: KnownItems
    nodes: Nodes
    weights: Float
    sign: float

    def link(self, point: Float) -> Link:
        """The link at log abs(A) and B."""
        return Link(self.sign * float(np.exp(point[0])), float(point[1]))

    def differences(self, point: Float) -> tuple[Float, Float]:
        """Weighted differences of the items' curves, (items, nodes), and derivatives, (2, ...)."""
        link = self.link(point)
        carried = self.new.carried(link).items
        there = (*(part[:, None] for part in carried),)
        rise = slope_of_curve(self.nodes.at, *there) * self.scaled
        curves = [
            probability(self.nodes.at, *(part[:, None] for part in items))
            for items in (carried, self.anchor.items)
        ]
        along_scale = -rise * there[0] * (self.nodes.at - link.shift)
        along_shift = -rise * there[0]
        return (curves[0] - curves[1]) * self.scaled, np.stack([along_scale, along_shift])

    @property
    def scaled(self) -> Float:
        """What each difference is multiplied by, (items, nodes)."""
        of_items = np.sqrt(self.weights) if self.method == "haebara" else self.weights
        return np.asarray(of_items[:, None] * np.sqrt(self.nodes.weight))

    def residuals(self, point: Float) -> Float:
        """What is squared."""
        found = self.differences(point)[0]
        return found.ravel() if self.method == "haebara" else found.sum(axis=0)

    def jacobian(self, point: Float) -> Float:
        """The derivatives of the residuals by log abs(A) and B."""
        found = self.differences(point)[1]
        flat = found.reshape(2, -1) if self.method == "haebara" else found.sum(axis=1)
        return flat.T

    def influences(self, point: Float) -> Float:
        """How far the minimum moves, to first order, when an item is left out: (items, 2).

        One Newton step of the criterion without the item, from the minimum with it.
        """
        difference, derivative = self.differences(point)
        if self.method == "haebara":
            pull = np.einsum("kjq,jq->jk", derivative, difference)
            own = np.einsum("kjq,ljq->jkl", derivative, derivative)
            curvature = own.sum(axis=0)
        else:
            total = derivative.sum(axis=1)
            pull = np.einsum("kq,jq->jk", total, difference)
            own = np.einsum("kq,ljq->jkl", total, derivative)
            curvature = total @ total.T
        return np.asarray(np.linalg.solve(curvature - own, pull[:, :, None])[:, :, 0])


def slope_of_curve(at: Float, slope: Float, intercept: Float, guessing: Float) -> Float:
    """dP/d(a theta + d), broadcasting."""
    right = logistic(slope * at + intercept)
    return np.asarray((1.0 - guessing) * right * (1.0 - right))


class Spread(NamedTuple):
    """What is known of the differences of two fits' linked parameters, shape (items, 2, 2) each.

    Attributes
    ----------
    variance
        V, of the differences.
    whitener
        W with W V W' = 1.
    share
        Times the difference, and added to the anchor's parameters: the average of both fits by
        their precisions, which is uncorrelated with the difference.
    """

    variance: Float
    whitener: Float
    share: Float


def spread_of(linked: KnownItems, anchor: KnownItems, overlap: float) -> Spread:
    """The spread of differences when so large a share of the anchor's models is in both fits.

    With V_a and V_n the covariances of the two fits, and I_a = V_a^-1 the anchor's information, of
    which the models of both hold the share o, the errors of the fits have the covariance
    V_a (o I_a) V_n = o V_n. So V = V_a + (1 - 2 o) V_n, and the average's share is (V_a - o V_n)
    V^-1. In no direction is V taken to be less than `LEAST_SHARE` of V_a + V_n: that would
    be so of fits that share all their responses.
    """
    lower = np.linalg.cholesky(matrices(linked.covariance + anchor.covariance))
    inverse = np.linalg.inv(lower)
    both = inverse @ matrices(linked.covariance) @ inverse.swapaxes(1, 2)
    own, turn = np.linalg.eigh(both)
    left = np.maximum(1.0 - 2.0 * overlap * own, LEAST_SHARE)
    share = np.clip((1.0 - (1.0 + overlap) * own) / left, 0.0, 1.0)
    there, back = lower @ turn, turn.swapaxes(1, 2) @ inverse
    return Spread(
        (there * left[:, None, :]) @ there.swapaxes(1, 2),
        back / np.sqrt(left)[:, :, None],
        (there * share[:, None, :]) @ back,
    )


def item_weights(
    method: Method, new: KnownItems, anchor: KnownItems, nodes: Nodes, link: Link
) -> Float:
    """What each item counts, from the variances of its curves; the mean of the sizes is 1.

    The variance v of an item's difference of curves is the mean over the nodes, by the delta
    method from the sum of both covariances, whatever responses the fits share. Haebara's squares
    count 1/v. In a test curve an item counts s/v, s the root mean square of its rise: so an item
    that both fits know well, and which tells models apart, counts most. Items with falling curves
    count negatively there, that is, by their wrong answers. Curves are those of the two fits'
    average: weights that follow the errors of one side would bias the link.
    """
    linked = new.carried(link)
    spread = spread_of(linked, anchor, 0.0)
    moved = np.einsum("jkl,jl->jk", spread.share, differences(linked, anchor))
    slope, intercept = anchor.items.slope + moved[:, 0], anchor.items.intercept + moved[:, 1]
    average = Items(slope, intercept, anchor.items.guessing)
    rise = slope_of_curve(nodes.at, *(column[:, None] for column in average))
    aa, ad, dd = (spread.variance[:, a, b, None] for a, b in ((0, 0), (0, 1), (1, 1)))
    of_logit = nodes.at**2 * aa + 2.0 * nodes.at * ad + dd
    weights = 1.0 / ((rise**2 * of_logit) @ nodes.weight)
    if method == "stocking-lord":
        weights = weights * slope * np.sqrt((rise**2) @ nodes.weight)
    return np.asarray(weights / np.abs(weights).mean())


def differences(linked: KnownItems, anchor: KnownItems) -> Float:
    """Linked minus anchor of (a, d), shape (items, 2)."""
    pairs = zip(linked.items[:2], anchor.items[:2], strict=True)
    return np.stack([mine - theirs for mine, theirs in pairs], axis=1)


def matrices(covariance: Float) -> Float:
    """Covariances as matrices, shape (items, 2, 2)."""
    aa, ad, dd = covariance.T
    return np.stack([np.stack([aa, ad], axis=-1), np.stack([ad, dd], axis=-1)], axis=-2)


@dataclass(frozen=True)
class FittedLink:
    """A link and how sure it is.

    Attributes
    ----------
    link
        A and B.
    covariance
        Of (A, B), shape (2, 2).
    """

    link: Link
    covariance: Float

    def trait_variance(self, trait: Float) -> Float:
        """The variance that A and B give to traits on the anchor's scale."""
        before = (trait - self.link.shift) / self.link.scale
        (aa, ab), (_, bb) = self.covariance
        return np.asarray(before**2 * aa + 2.0 * before * ab + bb)


def fitted_link(
    method: Method,
    new: KnownItems,
    anchor: KnownItems,
    nodes: Nodes,
    start: Link,
) -> FittedLink:
    """The link that makes a criterion least, with its covariance.

    Parameters
    ----------
    new, anchor
        The same items on the two scales, at least 3.
    nodes, start
        Where curves are compared, and from where the search goes.

    Notes
    -----
    The covariance is the jackknife's over items, by one Newton step each: it holds what the items'
    errors do to the link, of whatever size they are, and what items that differ do.
    """
    weights = item_weights(method, new, anchor, nodes, start)
    criterion = Criterion(method, new, anchor, nodes, weights, float(np.sign(start.scale)))
    first = np.array([np.log(abs(start.scale)), start.shift])
    found = least_square(criterion.residuals, criterion.jacobian, first)
    link = criterion.link(found)
    moved = criterion.influences(found)
    moved = (moved - moved.mean(axis=0)) * np.array([link.scale, 1.0])
    return FittedLink(link, (len(moved) - 1.0) / len(moved) * moved.T @ moved)


def least_square(
    residuals: Callable[[Float], Float],
    jacobian: Callable[[Float], Float],
    start: Float,
    loss: Literal["linear", "soft_l1"] = "linear",
) -> Float:
    """Where a sum of squares, or of robust losses, is least."""
    ends = {"xtol": EXACT, "ftol": EXACT, "gtol": EXACT}
    found = least_squares(residuals, start, jacobian, x_scale="jac", loss=loss, **ends)
    return np.asarray(found.x)
