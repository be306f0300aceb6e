"""Steep items far from a posterior's mode: narrow features that equal spacing would step over."""

import numpy as np
import pytest

from mtlirt.irt.blocks import response_block
from mtlirt.irt.curves import FITTING, SCORING, Items
from mtlirt.irt.traits import Cavity


def dense(items, answers, cavity):
    """Moments and log normaliser by the trapezoid rule on 400,001 points."""
    x = np.linspace(-12, 12, 400_001)
    log_density = -0.5 * (x - cavity.mean) ** 2 / cavity.variance
    log_density -= 0.5 * np.log(2 * np.pi * cavity.variance)
    for y, a, d in zip(answers, *items[:2], strict=True):
        log_density += y * a * x - np.logaddexp(0, a * x + d)
    peak = log_density.max()
    density = np.exp(log_density - peak)
    total = density.sum()
    mean = (density * x).sum() / total
    variance = (density * (x - mean) ** 2).sum() / total
    return mean, variance, peak + np.log(total * (x[1] - x[0]))


@pytest.mark.parametrize("slope", [5.0, 20.0, 50.0])
@pytest.mark.parametrize("wall", [-1.3, -0.4, 0.0, 0.6, 1.1, 2.2])
@pytest.mark.parametrize("windowed", [False, True])
@pytest.mark.parametrize(("quadrature", "close"), [(SCORING, 5e-6), (FITTING, 2e-3)])
def test_a_wall_is_resolved_wherever_it_stands(
    slope, wall, windowed, quadrature, close, shared_posterior, windowed_posterior
):
    items = Items.plain(np.array([slope, 1.0, 1.2]), np.array([-slope * wall, 0.5, -0.3]))
    answers = np.array([[0, 1, 1]], np.int8)
    cavity = Cavity(np.array([0.1]), np.array([0.7]))
    if windowed:
        found, _ = windowed_posterior(response_block(answers), items, cavity, quadrature)
    else:
        found, _ = shared_posterior(answers, items, cavity, quadrature)
    mean, variance, log_normaliser = dense(items, answers[0], cavity)
    assert found.mean[0] == pytest.approx(mean, abs=close)
    assert found.variance[0] == pytest.approx(variance, abs=close)
    assert found.log_normaliser[0] == pytest.approx(log_normaliser, abs=close)
