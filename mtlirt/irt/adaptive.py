"""One model's test item by item: its curves on the trait grids, and what an answer would tell."""

from __future__ import annotations

import numpy as np
import numpy.typing as npt

from mtlirt.irt.kernels import (
    Float,
    bounded_sigmoid,
    compiled,
    moments,
    sigmoid,
    softplus,
)

CHUNK = 512
"""Items whose sums stay in the nearest cache."""

SURE = 1e-12
"""An answer whose variance is less tells nothing."""

SPACING, REACH = 0.7, 5.5
"""Of the nodes at which an answer's chance is averaged: their largest distance, and how far they go
out, in standard deviations of the posterior."""


@compiled
def add_answer(
    slope: float,
    intercept: float,
    guessing: float,
    right: bool,
    first: int,
    step: float,
    curve: Float,
) -> None:
    """Add an answer's log-likelihood to a curve at all points of its grid, up to a constant.

    Cost: an exponential and a logarithm for each point.
    """
    for k in range(curve.shape[0]):
        eta = slope * ((first + k) * step) + intercept
        if not right:
            curve[k] -= softplus(eta)
        elif guessing > 0.0:
            curve[k] += np.log(guessing + (1.0 - guessing) * sigmoid(eta))
        else:
            curve[k] -= softplus(-eta)


@compiled
def curve_moments(
    curve: Float,
    start: npt.NDArray[np.int64],
    first: npt.NDArray[np.int64],
    step: Float,
    cavity_mean: Float,
    cavity_variance: Float,
    depth: float,
    mean: Float,
    variance: Float,
) -> None:
    """Write means and variances of N(theta; cavity) exp(curve), one for each domain.

    ``curve`` holds the domains' curves one after another, that of domain t from ``start[t]``. The
    trapezoid rule runs over all points of the grid at which the density is above exp(-depth) of
    its peak.
    """
    gap = np.empty(np.diff(start).max())
    for t in range(len(first)):
        count, begin, peak = start[t + 1] - start[t], start[t], -np.inf
        middle, sharpness = cavity_mean[t], 0.5 / cavity_variance[t]
        for k in range(count):
            off = (first[t] + k) * step[t] - middle
            gap[k] = curve[begin + k] - sharpness * off * off
            peak = max(peak, gap[k])
        low, high = 0, count - 1
        while gap[low] < peak - depth:
            low += 1
        while gap[high] < peak - depth:
            high -= 1
        for k in range(low, high + 1):
            gap[k] = max(gap[k] - peak, -60.0)
        _, centre, spread = moments(gap, low, high)
        mean[t] = (first[t] + low + centre) * step[t]
        variance[t] = spread * step[t] ** 2


@compiled
def expected_reductions(
    slope: Float, intercept: Float, guessing: Float, theta: Float, density: Float
) -> Float:
    """By how much an answer to each item is expected to lessen the variance of a trait.

    By the law of total variance it is the variance of the trait's mean given the answer y,
    Cov(theta, P)^2 / (E[P] (1 - E[P])), where P = P(y = 1 given theta): exact, however wide the
    posterior is, and whichever the sign of the slope.

    Parameters
    ----------
    theta, density
        Nodes, and the posterior's weights at them, which sum to 1.

    Returns
    -------
    numpy.ndarray
        Shape (items,). Cost: items x nodes exponentials, in vector instructions.
    """
    items, nodes = slope.shape[0], theta.shape[0]
    expected, together = np.zeros(items), np.zeros(items)
    middle = 0.0
    for k in range(nodes):
        middle += density[k] * theta[k]
    for begin in range(0, items, CHUNK):
        end = min(begin + CHUNK, items)
        for k in range(nodes):
            place, here, pull = theta[k], density[k], density[k] * (theta[k] - middle)
            for j in range(begin, end):
                chance = bounded_sigmoid(slope[j] * place + intercept[j])
                expected[j] += here * chance
                together[j] += pull * chance
        for j in range(begin, end):
            known = 1.0 - guessing[j]
            chance = guessing[j] + known * expected[j]
            spread = chance * (1.0 - chance)
            shared = known * together[j]
            together[j] = shared * shared / spread if spread > SURE else 0.0
    return together


def posterior_nodes(
    curve: Float,
    first: int,
    step: float,
    cavity_mean: float,
    cavity_variance: float,
    mean: float,
    variance: float,
) -> tuple[Float, Float]:
    """Some points of a grid around a posterior of such moments, and its weights there."""
    sd = np.sqrt(variance)
    stride = max(1, int(SPACING * sd / step))
    half = int(np.ceil(REACH * sd / (stride * step)))
    places = round(mean / step) - first + stride * np.arange(-half, half + 1)
    places = places[(places >= 0) & (places < len(curve))]
    theta = (first + places) * step
    gap = curve[places] - 0.5 * (theta - cavity_mean) ** 2 / cavity_variance
    density = np.exp(gap - gap.max())
    return np.asarray(theta), np.asarray(density / density.sum())
