"""Compiled passes over response blocks and over the trait grid.

All kernels release the GIL, use one thread, and write into float64 arrays; the caller decides what
runs side by side. Kernels call no kernels, only functions that are `inlined`. Response blocks are
read in place: no kernel makes a float copy of a block, an array of models x items, or one of
models x items x nodes.

A block holds int8 responses (1, 0, -1 missing) or float32 weights of correct answers (missing is
0 with weight 0); ``weight`` is the float32 number of attempts behind each cell, or an array of
shape (0, 0) where a response is one attempt. Only positive entries count as correct answers.

A grid is the set of points ``(first + k) * step``, k = 0 .. count - 1.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import TypeVar, cast

import numba
import numpy as np
import numpy.typing as npt

Float = npt.NDArray[np.float64]
Function = TypeVar("Function", bound=Callable[..., object])

MATTERS = 12.0
"""Where a density is below exp(-MATTERS) of its peak it need not be resolved."""

COARSEST = 1.5
"""A posterior's nodes are moved closer where `sharpest` exceeds spacing^2 so many times."""

RUN = 16
"""Grid points that a loop takes at a time: a fixed number becomes vector instructions."""

STEEPEST = 4.0
"""Grids are so fine that no logit changes by more from point to point."""

FAR = 1e300
"""A curve's value beyond the ends of its grid."""

STRIP_BYTES, LINE_BYTES = 2**12, 64
"""Of the rows that are fetched at a time, and of a cache line."""

LEAST = -1.0
"""No response is less."""

REASSOCIATE = {"reassoc", "contract", "nsz", "arcp"}


def added(parts: Sequence[Float]) -> Float:
    """The sum of the parts in their order; a single part itself."""
    total = parts[0]
    for part in parts[1:]:
        total = total + part
    return total


def compiled(function: Function) -> Function:
    """Compile with numba, cached on disk, without the GIL; sums may be reassociated."""
    return cast(
        Function,
        numba.njit(nogil=True, cache=True, fastmath=REASSOCIATE, error_model="numpy")(function),
    )


def inlined(function: Function) -> Function:
    """Make a function part of each kernel that calls it.

    A kernel that calls another compiled function may get one compiled along with it, or one read
    from the cache, which round differently; its results would depend on what the cache held.
    """
    make = numba.njit(fastmath=REASSOCIATE, error_model="numpy", inline="always")
    return cast(Function, make(function))


@inlined
def softplus(x: float) -> float:
    """log(1 + exp(x)) without overflow."""
    return float(max(x, 0.0) + np.log1p(np.exp(-abs(x))))


@inlined
def sigmoid(x: float) -> float:
    """1 / (1 + exp(-x)) without overflow."""
    e = np.exp(-abs(x))
    return float((1.0 if x >= 0.0 else e) / (1.0 + e))


@inlined
def falling_exponential(x: float) -> float:
    """exp(x) for -64 < x <= 0, to 1e-13 relatively: (exp(x / 64 + 1/2) exp(-1/2))^64.

    A polynomial and six squarings, which the compiler turns into vector instructions where the
    library's exponential would be called point by point.
    """
    r = x * (1.0 / 64.0) + 0.5
    square = r * r
    fourth = square * square
    value = (
        (1.0 + r + square * (1 / 2 + r * (1 / 6)))
        + fourth * ((1 / 24 + r * (1 / 120)) + square * (1 / 720 + r * (1 / 5040)))
        + fourth
        * fourth
        * (
            (1 / 40320 + r * (1 / 362880))
            + square * (1 / 3628800 + r * (1 / 39916800))
            + fourth * (1 / 479001600 + r * (1 / 6227020800))
        )
    )
    value *= 0.6065306597126334
    value *= value
    value *= value
    value *= value
    value *= value
    value *= value
    return value * value


@inlined
def bounded_sigmoid(x: float) -> float:
    """1 / (1 + exp(-x)), for x beyond 60 that of 60, in vector instructions."""
    e = falling_exponential(max(-abs(x), -60.0))
    return float((1.0 if x >= 0.0 else e) / (1.0 + e))


@inlined
def odds_ratios(slope: Float, step: float, out: Float) -> int:
    """Write exp(-a step), by which exp(-(a theta + d)) changes from grid point to grid point.

    Returns for how many points `odds_against` may go on so: fewer where an item's logit changes by
    so much that odds which were out of range could come back into it.
    """
    steepest = 0.0
    for j in range(slope.shape[0]):
        out[j] = np.exp(-slope[j] * step)
        steepest = max(steepest, abs(slope[j]) * step)
    return RUN if steepest <= STEEPEST else 1


@inlined
def odds_against(
    fresh: bool, theta: float, slope: Float, intercept: Float, ratio: Float, odds: Float
) -> None:
    """Carry exp(-(a theta + d)) from one grid point to the next, or compute it afresh."""
    if fresh:
        for j in range(slope.shape[0]):
            odds[j] = np.exp(-(slope[j] * theta + intercept[j]))
    else:
        for j in range(slope.shape[0]):
            odds[j] *= ratio[j]


@inlined
def strip_rows(responses: npt.NDArray[np.generic]) -> int:
    """How many rows of a block are fetched at a time: few enough to stay in the nearest cache."""
    return int(max(STRIP_BYTES // max(responses.shape[1] * responses.itemsize, 1), 1))


@inlined
def fetch(responses: npt.NDArray[np.generic], begin: int, end: int) -> float:
    """Touch every cache line of some rows, so that the next loop over them need not wait.

    Loads that nothing waits for come side by side. Returns the least of the values touched, which
    keeps the compiler from leaving the loads out.
    """
    least = 0.0
    for i in range(begin, end):
        for j in range(0, responses.shape[1], LINE_BYTES // responses.itemsize):
            least = min(least, float(responses[i, j]))
    return least


def row_products(responses: npt.NDArray[np.generic], slope: Float) -> Float:
    """Sum over items of response x slope, for each model: one pass over the block."""
    kernel = row_sums if responses.dtype == np.int8 else weighed_row_sums
    return kernel(responses, slope)


def column_products(responses: npt.NDArray[np.generic], trait: Float) -> Float:
    """Sum over models of response x trait, for each item: one pass over the block."""
    kernel = column_sums if responses.dtype == np.int8 else weighed_column_sums
    return kernel(responses, trait)


@compiled
def row_sums(responses: npt.NDArray[np.generic], slope: Float) -> Float:
    """Sum over items of the slopes of correct answers, for each model."""
    models, items = responses.shape
    out = np.zeros(models)
    rows = strip_rows(responses)
    for begin in range(0, models, rows):
        end = min(begin + rows, models)
        if fetch(responses, begin, end) < LEAST:
            out[begin] = np.nan
        for i in range(begin, end):
            total = 0.0
            for j in range(items):
                total += slope[j] if responses[i, j] > 0 else 0.0
            out[i] = total
    return out


@compiled
def weighed_row_sums(responses: npt.NDArray[np.generic], slope: Float) -> Float:
    """The same where an answer may be right in part."""
    models, items = responses.shape
    out = np.zeros(models)
    for i in range(models):
        total = 0.0
        for j in range(items):
            total += max(responses[i, j], 0) * slope[j]
        out[i] = total
    return out


@compiled
def column_sums(responses: npt.NDArray[np.generic], trait: Float) -> Float:
    """Sum over models of the traits of those that answered correctly, for each item."""
    models, items = responses.shape
    out = np.zeros(items)
    rows = strip_rows(responses)
    for begin in range(0, models, rows):
        end = min(begin + rows, models)
        if fetch(responses, begin, end) < LEAST:
            out[0] = np.nan
        for i in range(begin, end):
            value = trait[i]
            for j in range(items):
                out[j] += value if responses[i, j] > 0 else 0.0
    return out


@compiled
def weighed_column_sums(responses: npt.NDArray[np.generic], trait: Float) -> Float:
    """The same where an answer may be right in part."""
    models, items = responses.shape
    out = np.zeros(items)
    for i in range(models):
        for j in range(items):
            out[j] += max(responses[i, j], 0) * trait[i]
    return out


@inlined
def log_one_plus(e: float) -> float:
    """log(1 + e) for 0 <= e <= 1, to 1e-14 relatively, as 2 artanh(e / (2 + e))."""
    z = e / (2.0 + e)
    q = z * z
    fourth = q * q
    low = 1.0 + q * (1 / 3) + fourth * (1 / 5 + q * (1 / 7))
    middle = 1 / 9 + q * (1 / 11) + fourth * (1 / 13 + q * (1 / 15))
    high = 1 / 17 + q * (1 / 19) + fourth * (1 / 21 + q * (1 / 23) + fourth * (1 / 25 + q / 27))
    eighth = fourth * fourth
    return 2.0 * z * (low + eighth * (middle + eighth * high))


@compiled
def softplus_table(slope: Float, intercept: Float, first: int, count: int, step: float) -> Float:
    """log(1 + exp(a theta + d)) on the grid, shape (count, items); count x items evaluations."""
    items = slope.shape[0]
    table, odds, ratio = np.empty((count, items)), np.empty(items), np.empty(items)
    period = odds_ratios(slope, step, ratio)
    for k in range(count):
        theta = (first + k) * step
        odds_against(k % period == 0, theta, slope, intercept, ratio, odds)
        line = table[k]
        for j in range(items):
            smaller = log_one_plus(min(odds[j], 1.0 / odds[j]))
            line[j] = max(slope[j] * theta + intercept[j], 0.0) + smaller
    return table


@compiled
def softplus_sum(slope: Float, intercept: Float, first: int, count: int, step: float) -> Float:
    """Row sums of `softplus_table` without the table, shape (count,).

    The logarithm is taken of products of up to 512 factors 1 + exp(-abs(x)), each at most 2.
    Cost: one division for each grid point and item.
    """
    items = slope.shape[0]
    curve, odds, ratio = np.zeros(count), np.empty(items), np.empty(items)
    period = odds_ratios(slope, step, ratio)
    for k in range(count):
        theta = (first + k) * step
        odds_against(k % period == 0, theta, slope, intercept, ratio, odds)
        total = 0.0
        for begin in range(0, items, 512):
            product = 1.0
            for j in range(begin, min(begin + 512, items)):
                total += max(slope[j] * theta + intercept[j], 0.0)
                product *= 1.0 + min(odds[j], 1.0 / odds[j])
            total += np.log(product)
        curve[k] = total
    return curve


@compiled
def pull_sums(slope: Float, intercept: Float, points: Float) -> Float:
    """Sum over items of abs(a) sigma(-(a theta + d)) at each point, shape of points."""
    out = np.zeros(points.shape[0])
    for k in range(points.shape[0]):
        for j in range(slope.shape[0]):
            out[k] += abs(slope[j]) * sigmoid(-(slope[j] * points[k] + intercept[j]))
    return out


@compiled
def highest_mode(pull: Float, edges: Float, means: Float, variances: Float) -> float:
    """The first edge at which pull - (edge - mean)/variance <= 0 for every model, or inf."""
    for k in range(edges.shape[0]):
        enough = True
        for i in range(means.shape[0]):
            if edges[k] - means[i] < pull[k] * variances[i]:
                enough = False
                break
        if enough:
            return float(edges[k])
    return np.inf


@compiled
def information_bounds(slope: Float, intercept: Float, centres: Float, radius: Float) -> Float:
    """Sum over items of the largest information within a radius of each centre."""
    out = np.zeros(centres.shape[0])
    for k in range(centres.shape[0]):
        for j in range(slope.shape[0]):
            steep = abs(slope[j])
            p = bounded_sigmoid(
                max(abs(slope[j] * centres[k] + intercept[j]) - radius[k] * steep, 0.0)
            )
            out[k] += steep * steep * p * (1.0 - p)
    return out


@inlined
def moments(gap: Float, low: int, high: int) -> tuple[float, float, float]:
    """Sum, mean and variance of the density exp(gap) on the nodes low .. high.

    Mean and variance are in nodes counted from ``low``; ``gap`` is overwritten with the
    normalised density.
    """
    total, first_moment = 0.0, 0.0
    for k in range(low, high + 1):
        gap[k] = falling_exponential(gap[k])
        total += gap[k]
        first_moment += gap[k] * (k - low)
    centre = first_moment / total
    spread = 0.0
    for k in range(low, high + 1):
        gap[k] /= total
        spread += gap[k] * (k - low - centre) ** 2
    return total, centre, spread


@inlined
def sharpest(gap: Float, low: int, high: int) -> float:
    """The largest fall of the slope of a log density from node to node, where it matters.

    ``gap`` is the log density over its peak on the nodes low .. high. A posterior that is Gaussian
    with nodes s standard deviations apart has s^2 everywhere; a steep item far from the mode shows
    as more.
    """
    worst = 0.0
    for k in range(low + 1, high):
        if gap[k] > -MATTERS:
            worst = max(worst, 2.0 * gap[k] - gap[k - 1] - gap[k + 1])
    return worst


@inlined
def log_density(pull: float, precision: float, off: float, curve: float) -> float:
    """Log of a posterior at a distance from its prior's mean, up to a constant."""
    return pull * off - 0.5 * precision * off * off - curve


@compiled
def shared_curve_posteriors(
    score: Float,
    curve: Float,
    first: int,
    step: float,
    prior_mean: Float,
    prior_variance: Float,
    model_weight: Float,
    depth: float,
    mean: Float,
    variance: Float,
    log_normaliser: Float,
    histogram: Float,
) -> None:
    """Posterior of every trait where all models share one curve; see `traits.update_traits`.

    The trapezoid rule runs over the grid points around the mode, out to where the density has
    fallen by exp(-depth); it falls on both sides of its mode. Writes means, variances and log
    normalisers, and adds the posterior's own weights to ``histogram``, times the model's. Cost:
    about 20 exponentials a model, 16 at a time.
    """
    count = curve.shape[0]
    padded = np.full(count + RUN, FAR)
    padded[:count] = curve
    deposited, weight = np.zeros(count + RUN), np.empty(count + RUN)
    node = np.arange(RUN).astype(np.float64)
    rise = np.diff(curve) / step
    for i in range(score.shape[0]):
        pull, centre, precision = score[i], prior_mean[i], 1.0 / prior_variance[i]
        low, high = 0, count - 1
        while low < high:
            half = (low + high) // 2
            if pull - precision * ((first + half + 0.5) * step - centre) > rise[half]:
                low = half + 1
            else:
                high = half
        top = min(max(low, 1), count - 2)
        bend = (rise[top] - rise[top - 1]) / step + precision
        reach = int(np.sqrt(2.0 * depth / bend) / step) + 2
        peak = log_density(pull, precision, (first + top) * step - centre, curve[top])
        start, stop = max(top - reach, 0), min(top + reach, count - 1)
        while start > 0:
            off = (first + start) * step - centre
            if log_density(pull, precision, off, curve[start]) - peak < -depth:
                break
            start = max(start - reach, 0)
        while stop < count - 1:
            off = (first + stop) * step - centre
            if log_density(pull, precision, off, curve[stop]) - peak < -depth:
                break
            stop = min(stop + reach, count - 1)
        total, first_moment, second_moment = 0.0, 0.0, 0.0
        quadratic = -0.5 * precision * step * step
        for begin in range(start, stop + 1, RUN):
            off = (first + begin) * step - centre
            constant = log_density(pull, precision, off, peak)
            linear = (pull - precision * off) * step
            height, share = padded[begin : begin + RUN], weight[begin : begin + RUN]
            for k in range(RUN):
                gap = constant + node[k] * (linear + node[k] * quadratic) - height[k]
                density = falling_exponential(max(gap, -60.0))
                density = density if gap >= -depth else 0.0
                place = node[k] + (begin - top)
                share[k] = density
                total += density
                first_moment += density * place
                second_moment += density * place * place
        scale = 1.0 / total
        counted = scale * model_weight[i]
        for begin in range(start, stop + 1, RUN):
            sums, share = deposited[begin : begin + RUN], weight[begin : begin + RUN]
            for k in range(RUN):
                sums[k] += share[k] * counted
        shift = first_moment * scale
        mean[i] = (first + top + shift) * step
        variance[i] = (second_moment * scale - shift * shift) * step * step
        log_normaliser[i] = (
            peak + np.log(total * step) + 0.5 * np.log(precision / (2.0 * np.pi)) + pull * centre
        )
    for k in range(count):
        histogram[k] += deposited[k]


@compiled
def own_curve_posteriors(
    score: Float,
    curves: Float,
    first: int,
    count: int,
    step: float,
    start: npt.NDArray[np.int64],
    stride: npt.NDArray[np.int64],
    nodes: npt.NDArray[np.int64],
    settled: npt.NDArray[np.bool_],
    prior_mean: Float,
    prior_variance: Float,
    spacing: float,
    depth: float,
    mean: Float,
    variance: Float,
    log_normaliser: Float,
    density: Float,
) -> int:
    """Posterior of each unsettled trait on its own window of the grid; see `traits.Window`.

    ``curves[i, k]`` belongs to grid point ``start + k stride`` of model i. A window that does not
    hold the posterior (its ends have not fallen by exp(-depth), or its points are too far apart)
    is replaced by a better one and its model stays unsettled; returns how many do.
    """
    open_windows = 0
    gap = np.empty(curves.shape[1])
    for i in range(score.shape[0]):
        if settled[i]:
            continue
        pull, centre, precision = score[i], prior_mean[i], 1.0 / prior_variance[i]
        n, width = nodes[i], stride[i] * step
        origin = (first + start[i]) * step
        top, peak = 0, -np.inf
        for k in range(n):
            theta = origin + k * width
            gap[k] = pull * theta - curves[i, k] - 0.5 * precision * (theta - centre) ** 2
            if gap[k] > peak:
                top, peak = k, gap[k]
        at_left, at_right = start[i] < stride[i], start[i] + n * stride[i] >= count
        for k in range(n):
            gap[k] -= peak
        sharp = sharpest(gap, 0, n - 1)
        if top == 0 or top == n - 1:
            sharp = max(sharp, 16.0 * spacing**2)
        coarse = stride[i] > 1 and sharp > COARSEST * spacing**2
        short_left = gap[0] > -depth and not at_left
        short_right = gap[n - 1] > -depth and not at_right
        if coarse or short_left or short_right:
            open_windows += 1
            low, high = 0, n - 1
            while low < top and gap[low + 1] < -depth:
                low += 1
            while high > top and gap[high - 1] < -depth:
                high -= 1
            reach_left, reach_right = (top - low) * stride[i], (high - top) * stride[i]
            if short_left:
                reach_left = max(2 * reach_left, n * stride[i])
            if short_right:
                reach_right = max(2 * reach_right, n * stride[i])
            middle, wanted = start[i] + top * stride[i], stride[i]
            if coarse:
                wanted = max(1, min(wanted - 1, int(wanted * spacing / np.sqrt(sharp))))
            before = min((reach_left + wanted - 1) // wanted, middle // wanted)
            after = min((reach_right + wanted - 1) // wanted, (count - 1 - middle) // wanted)
            start[i], stride[i], nodes[i] = middle - before * wanted, wanted, before + after + 1
            continue
        settled[i] = True
        low, high = 0, n - 1
        while gap[low] < -depth:
            low += 1
        while gap[high] < -depth:
            high -= 1
        for k in range(n):
            density[i, k] = 0.0
        total, shift, spread = moments(gap, low, high)
        for k in range(low, high + 1):
            density[i, k] = gap[k]
        mean[i] = origin + (low + shift) * width
        variance[i] = spread * width**2
        log_normaliser[i] = peak + np.log(total * width) + 0.5 * np.log(precision / (2.0 * np.pi))
    return open_windows


@compiled
def gaussian_sites(
    mean: Float,
    variance: Float,
    log_normaliser: Float,
    cavity_mean: Float,
    cavity_variance: Float,
    out: Float,
) -> None:
    """Write precision, shift and log scale of each posterior's site to rows; see `traits.site`."""
    for i in range(mean.shape[0]):
        m, v = cavity_mean[i], cavity_variance[i]
        precision = max(1.0 / variance[i] - 1.0 / v, 0.0)
        shift = mean[i] * (precision + 1.0 / v) - m / v
        shrink = 1.0 + precision * v
        exponent = 2.0 * shift * m + shift * shift * v - precision * m * m
        out[0, i], out[1, i] = precision, shift
        out[2, i] = log_normaliser[i] + 0.5 * np.log(shrink) - exponent / (2.0 * shrink)


@inlined
def attempts_at(histogram: Float, k: int, out: Float) -> bool:
    """Write the attempts at grid point k by item to ``out``; whether there are any."""
    some = 0.0
    if histogram.shape[1] == 1:
        some = histogram[k, 0]
        for j in range(out.shape[0]):
            out[j] = some
    else:
        for j in range(out.shape[0]):
            out[j] = histogram[k, j]
            some += out[j]
    return some > 0.0


@compiled
def item_sums(histogram: Float, first: int, step: float, slope: Float, intercept: Float) -> Float:
    """Expected successes and information of every item under the histogram of attempts.

    ``histogram`` has shape (count, items), or (count, 1) where all items share it. Returns, in
    rows, the sums over the grid of n P, n P theta, n P(1-P), n P(1-P) theta and n P(1-P) theta^2.
    Cost: one division for each occupied grid point and item.
    """
    count, items = histogram.shape[0], slope.shape[0]
    sums = np.zeros((5, items))
    p0, p1, w0, w1, w2 = sums[0], sums[1], sums[2], sums[3], sums[4]
    odds, ratio, attempts = np.empty(items), np.empty(items), np.empty(items)
    period = odds_ratios(slope, step, ratio)
    for k in range(count):
        theta = (first + k) * step
        odds_against(k % period == 0, theta, slope, intercept, ratio, odds)
        if not attempts_at(histogram, k, attempts):
            continue
        for j in range(items):
            p = 1.0 / (1.0 + odds[j])
            expected = attempts[j] * p
            info = expected * (1.0 - p)
            p0[j] += expected
            p1[j] += expected * theta
            w0[j] += info
            w1[j] += info * theta
            w2[j] += info * theta * theta
    return sums


@compiled
def guessed_item_sums(
    attempts: Float,
    successes: Float,
    first: int,
    step: float,
    slope: Float,
    intercept: Float,
    guessing: Float,
) -> Float:
    """Gradient, information and curvature of items that may be guessed.

    Of n attempts and r successes, shape (count, items), q r are guesses, q = c (1 - sigma)/P.
    Returns, in rows, the sums over the grid of r (1 - q) - n sigma times 1 and theta, of the
    expected information n (1 - c) sigma (1 - sigma)(1 - q) times 1, theta and theta^2, and
    likewise of the curvature n sigma (1 - sigma) - r q (1 - q). Cost: two divisions for each grid
    point and item.
    """
    count, items = attempts.shape
    sums = np.zeros((8, items))
    g0, g1, w0, w1, w2 = sums[0], sums[1], sums[2], sums[3], sums[4]
    v0, v1, v2 = sums[5], sums[6], sums[7]
    odds, ratio = np.empty(items), np.empty(items)
    period = odds_ratios(slope, step, ratio)
    for k in range(count):
        theta = (first + k) * step
        odds_against(k % period == 0, theta, slope, intercept, ratio, odds)
        for j in range(items):
            p, n = 1.0 / (1.0 + odds[j]), attempts[k, j]
            known = 1.0 / (1.0 + guessing[j] * odds[j]) if guessing[j] > 0.0 else 1.0
            plain, knows = n * p * (1.0 - p), known * successes[k, j]
            excess = knows - n * p
            info = (1.0 - guessing[j]) * plain * known
            curvature = plain - knows * (1.0 - known)
            g0[j] += excess
            g1[j] += excess * theta
            w0[j] += info
            w1[j] += info * theta
            w2[j] += info * theta * theta
            v0[j] += curvature
            v1[j] += curvature * theta
            v2[j] += curvature * theta * theta
    return sums


@compiled
def newton_steps(
    gradient: Float,
    information: Float,
    curvature: Float,
    slope: Float,
    intercept: Float,
    held: npt.NDArray[np.bool_],
    prior_mean: float,
    prior_precision: float,
    limit: float,
) -> tuple[Float, Float]:
    """Steps of slopes and intercepts; see `items.newton_steps`. Rows are a, d, or aa, ad, dd."""
    items = slope.shape[0]
    steps_a, steps_d = np.zeros(items), np.zeros(items)
    for j in range(items):
        aa, ad, dd = information[0, j] + prior_precision, information[1, j], information[2, j]
        determinant = aa * dd - ad * ad
        if held[j] or not determinant > 0.0:
            continue
        by_a = gradient[0, j] - prior_precision * (slope[j] - prior_mean)
        by_d = gradient[1, j]
        step_a = (dd * by_a - ad * by_d) / determinant
        step_d = (aa * by_d - ad * by_a) / determinant
        if abs(intercept[j]) >= limit and intercept[j] * step_d > 0.0:
            step_a, step_d = by_a / aa, 0.0
        size = max(max(abs(step_a), abs(step_d)), 1e-300)
        u, v = step_a / size, step_d / size
        expected = aa * u * u + 2.0 * ad * u * v + dd * v * v
        actual = (
            (curvature[0, j] + prior_precision) * u * u
            + 2.0 * curvature[1, j] * u * v
            + curvature[2, j] * v * v
        )
        excess = max(actual / expected, 1.0) if expected > 0.0 else 1.0
        steps_a[j], steps_d[j] = step_a / excess, step_d / excess
    return steps_a, steps_d


@compiled
def take_steps(
    steps_a: Float,
    steps_d: Float,
    low: Float,
    high: Float,
    limit: float,
    slope: Float,
    intercept: Float,
) -> Float:
    """Move items along their steps, shortened by log(1 + r)/r; returns r.

    r is the largest change of a logit at an item's lowest and highest trait.
    """
    reach = np.empty(slope.shape[0])
    for j in range(slope.shape[0]):
        r = max(abs(steps_a[j] * low[j] + steps_d[j]), abs(steps_a[j] * high[j] + steps_d[j]))
        shorten = np.log1p(r) / r if r > 1e-8 else 1.0
        slope[j] = min(max(slope[j] + shorten * steps_a[j], -limit), limit)
        intercept[j] = min(max(intercept[j] + shorten * steps_d[j], -limit), limit)
        reach[j] = r
    return reach
