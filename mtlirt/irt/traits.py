"""Trait update: the posterior of every model's trait under its cavity, and its Gaussian site."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import NamedTuple, TypeVar

import numpy as np
import numpy.typing as npt

from mtlirt.irt import cells, kernels
from mtlirt.irt.blocks import ResponseBlock
from mtlirt.irt.curves import Grid, Items, Quadrature, log_guessing, logit_information
from mtlirt.irt.kernels import Float

Index = npt.NDArray[np.int64]
T = TypeVar("T", bound=np.generic)


class Window(NamedTuple):
    """The grid points at which each model's own curve is known.

    Model i has the points ``start + k stride`` for k = 0 .. nodes - 1, counted from the grid's
    first; nodes = 0 asks for nothing.
    """

    start: Index
    stride: Index
    nodes: Index

    def rows(self, some: Index) -> Window:
        """Those of some models."""
        return Window(self.start[some], self.stride[some], self.nodes[some])


class Cavity(NamedTuple):
    """What the other domains say of a domain's traits: normal means and variances, by model."""

    mean: Float
    variance: Float

    def part(self, rows: Index, domain: int) -> Cavity:
        """Those of some models in one domain, of a cavity of shape (models, domains)."""
        return Cavity(self.mean[rows, domain], self.variance[rows, domain])

    def standard(self, where: npt.NDArray[np.bool_]) -> Cavity:
        """The same, N(0, 1) where the other domains are not to be heard."""
        return Cavity(np.where(where, 0.0, self.mean), np.where(where, 1.0, self.variance))

    def with_ridge(self, precision: Float) -> Cavity:
        """The product with exp(-precision theta^2 / 2), normalised."""
        shrink = 1.0 / (1.0 + precision * self.variance)
        return Cavity(self.mean * shrink, self.variance * shrink)


@dataclass(frozen=True)
class Posterior:
    """Posterior of one trait for each of some models.

    Attributes
    ----------
    mean, variance, log_normaliser
        Moments, and log of the integral of cavity x likelihood, shape (models,).
    density
        The quadrature weights: summed over models, shape (count,), where all share one curve;
        otherwise each model's on its window, shape (models, nodes).
    window
        None where all models share one curve.
    weight
        Of the models in sums over them; None where it is 1 for all.
    """

    mean: Float
    variance: Float
    log_normaliser: Float
    density: Float
    window: Window | None = None
    weight: Float | None = None

    def weighed(self, values: Float) -> Float:
        """Values of the models, shape (models, ...), times their weights."""
        if self.weight is None:
            return values
        return values * self.weight.reshape(-1, *[1] * (values.ndim - 1))


@dataclass(frozen=True)
class Site:
    """A domain's message on its traits: exp(log_scale + shift theta - precision theta^2 / 2)."""

    precision: Float
    shift: Float
    log_scale: Float

    def message(self, weight: Float | None = None) -> Message:
        """What the other domains need of it; with the models' weights, if any."""
        log_scale = self.log_scale if weight is None else self.log_scale * weight
        return Message(self.precision, self.shift, float(log_scale.sum()))


class Message(NamedTuple):
    """Sites of some models, with the sum of their log scales, models weighted."""

    precision: Float
    shift: Float
    log_scale: float


def trait_score(block: ResponseBlock, items: Items) -> Float:
    """A_i = sum over items of y_ij a_j, shape (models,): one pass over the block."""
    return kernels.row_products(block.responses, items.slope)


def shared_curve_posterior(
    scores: Sequence[Float],
    curves: Sequence[Float],
    cavity: Cavity,
    grid: Grid,
    quadrature: Quadrature,
    weight: Float | None = None,
) -> Posterior:
    """Posterior where every model answered every item, from sums over item chunks.

    Parameters
    ----------
    scores
        `trait_score` of each item chunk.
    curves
        `curves.shared_curve` of each item chunk.
    weight
        Of the models; None is 1 for all.

    Notes
    -----
    The posterior is proportional to N(theta; cavity) exp(A theta - C(theta)). It is integrated at
    grid points, centred on its mode, so no curve is interpolated and the posterior's own nodes
    land on the grid of the items' histogram.
    """
    score, curve = kernels.added(scores), kernels.added(curves)
    mean, variance, log_normaliser = (np.empty(len(score)) for _ in range(3))
    histogram = np.zeros(grid.count)
    kernels.shared_curve_posteriors(
        score,
        curve,
        grid.first,
        grid.step,
        cavity.mean,
        cavity.variance,
        np.ones(len(score)) if weight is None else weight,
        quadrature.depth,
        mean,
        variance,
        log_normaliser,
        histogram,
    )
    return Posterior(mean, variance, log_normaliser, histogram, weight=weight)


@dataclass(frozen=True)
class WindowedSearch:
    """Posteriors in the making where each model has a curve of its own.

    ``settled`` models are done; the window of the others is to be evaluated next. With guessing
    a posterior may have a second mode: it is seen unless the density falls by exp(-depth) before.

    Attributes
    ----------
    curves
        Of the settled models on their windows, shape (models, nodes).
    """

    posterior: Posterior
    window: Window
    settled: npt.NDArray[np.bool_]
    curves: Float

    @property
    def unsettled(self) -> int:
        """How many models are not done."""
        return int((~self.settled).sum())


def start_windows(guess: Cavity | Posterior, grid: Grid, quadrature: Quadrature) -> WindowedSearch:
    """Windows around a guess of the posteriors, all unsettled."""
    mean, sd = guess.mean, np.sqrt(guess.variance)
    stride = np.maximum(1, (quadrature.spacing * sd / grid.step).astype(np.int64))
    half = np.ceil(np.sqrt(2.0 * quadrature.depth) * sd / (stride * grid.step)).astype(np.int64) + 1
    middle = np.clip(np.rint(mean / grid.step).astype(np.int64) - grid.first, 1, grid.count - 2)
    stride = np.minimum(stride, np.minimum(middle, grid.count - 1 - middle))
    before = np.minimum(half, middle // stride)
    after = np.minimum(half, (grid.count - 1 - middle) // stride)
    return search_in(Window(middle - before * stride, stride, before + after + 1))


def search_in(window: Window) -> WindowedSearch:
    """A search that begins in some windows."""
    models = len(window.nodes)
    nothing, no_nodes = np.zeros(models), np.zeros((models, 0))
    empty = Posterior(nothing, nothing, nothing, no_nodes, window)
    return WindowedSearch(empty, window, np.zeros(models, bool), no_nodes)


def asked_curves(block: ResponseBlock, items: Items, grid: Grid, search: WindowedSearch) -> Float:
    """`window_curves` of the models that a search has not settled."""
    left = np.flatnonzero(~search.settled)
    if len(left) == len(search.settled):
        return window_curves(block, items, grid, search.window)
    return window_curves(block.take(left), items, grid, search.window.rows(left))


def window_curves(block: ResponseBlock, items: Items, grid: Grid, window: Window) -> Float:
    """C_i at the window's points over the cells of one item chunk, shape (models, nodes).

    C_i(theta) = sum over items of n_ij log(1 + exp(eta_j)) - y_ij log(1 + c_j exp(-eta_j)), eta_j
    = a_j theta + d_j; the second part costs as much again, and nothing where nobody guesses.
    """
    out = np.zeros((len(window.nodes), int(window.nodes.max(initial=0))))
    if not out.size:
        return out
    low = int(window.start.min())
    high = int((window.start + window.stride * (window.nodes - 1)).max())
    place = grid.first + low, high - low + 1, grid.step
    window = window._replace(start=window.start - low)
    table = kernels.softplus_table(items.slope, items.intercept, *place)
    cells.masked_curves(block.responses, block.weight, False, table, *window, out)
    if items.guessed:
        shift = log_guessing(items.guessing) - items.intercept
        gain = -kernels.softplus_table(-items.slope, shift, *place)
        cells.masked_curves(block.responses, block.weight, True, gain, *window, out)
    return out


def search_windows(
    search: WindowedSearch,
    scores: Sequence[Float],
    curves: Sequence[Float],
    cavity: Cavity,
    grid: Grid,
    quadrature: Quadrature,
) -> WindowedSearch:
    """One step of the search: integrate where the window holds the posterior, else move it.

    Parameters
    ----------
    curves
        `asked_curves` of each item chunk.
    """
    score, curve, left = kernels.added(scores), kernels.added(curves), ~search.settled
    if left.all():
        return integrated(search.window, score, curve, cavity, grid, quadrature)
    rows = np.flatnonzero(left)
    some = Cavity(cavity.mean[rows], cavity.variance[rows])
    found = integrated(search.window.rows(rows), score[rows], curve, some, grid, quadrature)
    return merged(search, rows, found)


class KnownCurves(NamedTuple):
    """What a finished search leaves to those at the same items.

    Attributes
    ----------
    window
        The windows it ended with.
    values
        The curves of all models on them, one after another; none where they are not kept.
    """

    window: Window
    values: Float

    @classmethod
    def of(cls, search: WindowedSearch, keep: bool) -> KnownCurves:
        """Those of a search."""
        nodes = search.window.nodes
        there = np.arange(search.curves.shape[1]) < nodes[:, None]
        return cls(search.window, search.curves[there] if keep else np.zeros(0))


def search_again(
    known: KnownCurves,
    scores: Sequence[Float],
    cavity: Cavity,
    grid: Grid,
    quadrature: Quadrature,
) -> WindowedSearch:
    """A search under another cavity on the curves of an earlier one, or in its windows."""
    window, values = known
    if not len(values):
        return search_in(window)
    curve = np.zeros((len(window.nodes), int(window.nodes.max())))
    curve[np.arange(curve.shape[1]) < window.nodes[:, None]] = values
    return integrated(window, kernels.added(scores), curve, cavity, grid, quadrature)


def integrated(
    window: Window, score: Float, curve: Float, cavity: Cavity, grid: Grid, quadrature: Quadrature
) -> WindowedSearch:
    """Posteriors of the models whose windows hold them, and better windows of the others."""
    window = Window(*(part.copy() for part in window))
    mean, variance, log_normaliser = np.zeros((3, len(score)))
    settled, density = np.zeros(len(score), bool), np.zeros(curve.shape)
    kernels.own_curve_posteriors(
        score,
        curve,
        grid.first,
        grid.count,
        grid.step,
        *window,
        settled,
        *cavity,
        quadrature.spacing,
        quadrature.depth,
        mean,
        variance,
        log_normaliser,
        density,
    )
    posterior = Posterior(mean, variance, log_normaliser, density, window)
    return WindowedSearch(posterior, window, settled, curve)


def merged(search: WindowedSearch, rows: Index, found: WindowedSearch) -> WindowedSearch:
    """The search with what was found of the models at some rows."""

    def put(everyone: npt.NDArray[T], some: npt.NDArray[T]) -> npt.NDArray[T]:
        out = everyone.copy()
        out[rows] = some
        return out

    def put_nodes(everyone: Float, some: Float) -> Float:
        out = np.zeros((len(everyone), max(everyone.shape[1], some.shape[1])))
        out[:, : everyone.shape[1]] = everyone
        out[rows, : some.shape[1]] = some
        return out

    before, after = search.posterior, found.posterior
    window = Window(*map(put, search.window, found.window))
    posterior = Posterior(
        put(before.mean, after.mean),
        put(before.variance, after.variance),
        put(before.log_normaliser, after.log_normaliser),
        put_nodes(before.density, after.density),
        window,
    )
    curves = put_nodes(search.curves, found.curves)
    return WindowedSearch(posterior, window, put(search.settled, found.settled), curves)


def site(posterior: Posterior, cavity: Cavity) -> Site:
    """The Gaussian site: posterior over cavity, scaled to keep the normaliser.

    Notes
    -----
    precision = 1/v - 1/vc, shift = m/v - mc/vc, and log_scale = log Z - log of the integral of
    N(theta; cavity) exp(shift theta - precision theta^2/2). Where rounding, or guessing, makes a
    posterior wider than its cavity, precision is 0 and only its mean is kept.
    """
    out = np.empty((3, len(posterior.mean)))
    moments = posterior.mean, posterior.variance, posterior.log_normaliser
    kernels.gaussian_sites(*moments, *cavity, out)
    return Site(*out)


def log_gaussian_integral(precision: Float, shift: Float | float, cavity: Cavity) -> Float:
    """Log of the integral of N(theta; cavity) exp(shift theta - precision theta^2 / 2)."""
    mean, variance = cavity
    shrink = 1.0 + precision * variance
    return np.asarray(
        -0.5 * np.log(shrink)
        + (2.0 * shift * mean + shift**2 * variance - precision * mean**2) / (2.0 * shrink)
    )


def combined(cavity: Cavity, precision: Float, shift: Float) -> tuple[Float, Float]:
    """Mean and variance of cavity x site, broadcasting."""
    variance = 1.0 / (1.0 / cavity.variance + precision)
    return variance * (cavity.mean / cavity.variance + shift), variance


def mode_site(block: ResponseBlock, items: Items, cavity: Cavity, tolerance: float) -> Site:
    """Laplace's site at the posterior mode (log_scale 0): for modal (MAP) scores.

    Its precision is the expected information, which with guessing is not the curvature.
    """
    mode, information = (np.empty(len(cavity.mean)) for _ in range(2))
    cells.trait_modes(
        block.responses,
        block.weight,
        *items,
        *cavity,
        tolerance,
        mode,
        information,
    )
    shift = (mode - cavity.mean) / cavity.variance + information * mode
    return Site(information, shift, np.zeros(len(mode)))


def widened(precision: Float, shift: Float, uncertainty: Float) -> tuple[Float, Float]:
    """Precision and shift of sites after the items' own uncertainty is added.

    Parameters
    ----------
    uncertainty
        Variance of the score d log p / d theta that comes from the items' parameters, by model.

    Notes
    -----
    The site's estimate shift/precision keeps its place; its variance 1/precision grows by
    uncertainty / precision^2 (the delta method).
    """
    factor = precision / np.where(precision > 0.0, precision + uncertainty, 1.0)
    return precision * factor, shift * factor


def shared_uncertainty(parts: Sequence[tuple[Items, Float]], mean: Float, grid: Grid) -> Float:
    """Variance of each model's score from the items' uncertainty, all items answered once.

    Parameters
    ----------
    parts
        Items and covariance entries aa, ad, dd, shape (items, 3), of each item chunk.
    mean
        Where to take it, by model.
    """
    curve = np.zeros(grid.count)
    for items, covariance in parts:
        noise, drift = score_variance(items, covariance, grid)
        curve += (noise + drift).sum(axis=1)
    return np.asarray(np.interp(mean, grid.points, curve))


def masked_uncertainty(
    block: ResponseBlock, items: Items, covariance: Float, mean: Float, grid: Grid
) -> Float:
    """The same over each model's own cells of one item chunk; additive over item chunks."""
    place = np.clip(mean / grid.step - grid.first, 0.0, grid.count - 1.001)
    start = place.astype(np.int64)
    two = np.full(len(start), 2, np.int64)
    ends = np.zeros((len(start), 2))
    noise, drift = score_variance(items, covariance, grid)
    window = start, np.ones_like(start), two
    for weight, table in ((block.weight, noise), (block.weight**2, drift)):
        cells.masked_curves(block.responses, weight, False, table, *window, ends)
    share = place - start
    return np.asarray((1.0 - share) * ends[:, 0] + share * ends[:, 1])


def score_variance(items: Items, covariance: Float, grid: Grid) -> tuple[Float, Float]:
    """Variance of an item's score from the uncertainty of (a, d), shape (count, items) each.

    The score is a u, u = y (1 - q) - n sigma, with q the share of right answers that are guesses
    and y the successes of n attempts; du/d eta = q u - n w, with w the information of an attempt.
    Over y, u has mean 0 and variance n w. Returned are the parts that grow as n and as n^2, for
    n = 1.
    """
    theta = grid.points[:, None]
    weight, guess = logit_information(grid.points, items)
    aa, ad, dd = covariance.T
    logit = theta**2 * aa + 2 * theta * ad + dd
    noise = weight * aa
    if items.guessed:
        turn = items.slope * guess
        noise += weight * turn * (2.0 * (theta * aa + ad) + turn * logit)
    return noise, (items.slope * weight) ** 2 * logit
