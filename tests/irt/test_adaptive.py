"""Curves of single answers and what an answer is expected to tell, against plain sums."""

import numpy as np
import pytest
from scipy.special import log_expit

from mtlirt.irt.adaptive import add_answer, curve_moments, expected_reductions, posterior_nodes
from mtlirt.irt.curves import probability

FIRST, COUNT, STEP = -240, 481, 0.05
THETA = (FIRST + np.arange(COUNT)) * STEP


def curve_of(items, answers):
    curve = np.zeros(COUNT)
    for item, right in zip(items, answers, strict=True):
        add_answer(*item, right, FIRST, STEP, curve)
    return curve


@pytest.mark.parametrize("guessing", [0.0, 0.3])
@pytest.mark.parametrize("slope", [2.0, -1.5, 30.0])
@pytest.mark.parametrize("right", [True, False])
def test_an_answer_adds_its_log_likelihood(slope, guessing, right):
    eta = slope * THETA + 0.7
    expected = log_expit(-eta)
    if right:
        expected = (
            np.log(guessing + (1 - guessing) * np.exp(log_expit(eta)))
            if guessing
            else log_expit(eta)
        )
    difference = curve_of([(slope, 0.7, guessing)], [right]) - expected
    np.testing.assert_allclose(difference, difference[0], atol=1e-9)


def test_moments_are_those_of_the_densities():
    curves = [curve_of([(2.0, 0.5, 0.0), (1.0, -1.0, 0.2)], [True, False]), np.zeros(COUNT)]
    cavity_mean, cavity_variance = np.array([0.4, -1.0]), np.array([0.6, 0.9])
    mean, variance = np.empty((2, 2))
    start = np.array([0, COUNT, 2 * COUNT])
    grids = np.full(2, FIRST), np.full(2, STEP)
    curve_moments(
        np.concatenate(curves), start, *grids, cavity_mean, cavity_variance, 28.0, mean, variance
    )
    for t, curve in enumerate(curves):
        density = np.exp(curve - 0.5 * (THETA - cavity_mean[t]) ** 2 / cavity_variance[t])
        density /= density.sum()
        middle = density @ THETA
        np.testing.assert_allclose(mean[t], middle, atol=1e-9)
        np.testing.assert_allclose(variance[t], density @ (THETA - middle) ** 2, rtol=1e-8)
    np.testing.assert_allclose([mean[1], variance[1]], [-1.0, 0.9], atol=1e-9)


def test_reductions_are_those_of_bayes_rule():
    """Against the posteriors after either answer, on all points of the grid."""
    rng = np.random.default_rng(1)
    slope, intercept = rng.normal(0, 2, 700), rng.normal(0, 1.5, 700)
    guessing = np.where(rng.random(700) < 0.5, 0.25, 0.0)
    slope[3] = 0.0
    intercept[4] = 60.0  # everybody passes it
    curve = curve_of([(3.0, 1.0, 0.0), (1.0, -1.0, 0.2)], [True, True])
    prior = np.exp(curve - 0.5 * (THETA - 0.3) ** 2 / 0.8)
    prior /= prior.sum()

    def variance(density):
        density = density / density.sum(axis=-1, keepdims=True)
        middle = density @ THETA
        return (density * (THETA - np.asarray(middle)[..., None]) ** 2).sum(axis=-1)

    chance = probability(THETA, slope[:, None], intercept[:, None], guessing[:, None])
    right = chance @ prior
    left = right * variance(chance * prior)
    left += (1 - right) * variance(np.maximum(1 - chance, 1e-300) * prior)
    before = variance(prior)
    nodes = posterior_nodes(curve, FIRST, STEP, 0.3, 0.8, prior @ THETA, before)
    assert len(nodes[0]) < 25
    found = expected_reductions(slope, intercept, guessing, *nodes)
    np.testing.assert_allclose(found, before - left, atol=5e-3 * before)
    np.testing.assert_allclose(found[[3, 4]], 0.0, atol=1e-12)
