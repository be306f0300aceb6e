"""Six-point interpolation against the curves themselves, and its transpose."""

import numpy as np
import pytest

from mtlirt.irt.curves import Items, shared_curve
from mtlirt.irt.interpolation import (
    NODES,
    TraitCurves,
    box_grid,
    histogram_at,
    weights_at,
    window_at,
    window_values,
)

GRID = box_grid(4.0, 1.0 / 16.0)


def softplus_curve(theta, items):
    return np.logaddexp(0, np.outer(theta, items.slope) + items.intercept).sum(axis=1)


@pytest.fixture
def items():
    rng = np.random.default_rng(1)
    return Items.plain(rng.uniform(0.3, 1.8, 30), rng.uniform(-2, 2, 30))


@pytest.fixture
def theta():
    return np.concatenate([np.linspace(-4, 4, 101), np.random.default_rng(2).uniform(-4, 4, 50)])


@pytest.mark.parametrize("stride", [0, 1, 2])
def test_values_and_derivatives(items, theta, stride):
    curve = shared_curve(items, GRID)
    if stride:
        window = window_at(theta, GRID, stride)
        curves = TraitCurves.on_windows(window_values(curve, window), window, GRID)
    else:
        curves = TraitCurves.shared(curve, GRID)
    value, slope, bend = curves.at(theta)
    p = 1 / (1 + np.exp(-(np.outer(theta, items.slope) + items.intercept)))
    loose = 100.0 if stride == 2 else 1.0
    np.testing.assert_allclose(value, softplus_curve(theta, items), atol=2e-8 * loose)
    np.testing.assert_allclose(slope, p @ items.slope, atol=2e-6 * loose)
    np.testing.assert_allclose(bend, (p * (1 - p)) @ items.slope**2, atol=1e-4 * loose)


def test_steep_items_err_by_what_the_documentation_says():
    steep = Items.plain(np.array([4.0]), np.array([0.3]))
    theta = np.linspace(-4, 4, 4001)
    value, _, _ = TraitCurves.shared(shared_curve(steep, GRID), GRID).at(theta)
    assert np.abs(value - softplus_curve(theta, steep)).max() < 3e-7


def test_deposit_is_the_transpose(items, theta):
    curve = shared_curve(items, GRID)
    value, _, _ = TraitCurves.shared(curve, GRID).at(theta)
    np.testing.assert_allclose(histogram_at(theta, GRID) @ curve, value.sum(), rtol=1e-12)
    np.testing.assert_allclose(histogram_at(theta, GRID).sum(), len(theta))


def test_weights_reproduce_polynomials_of_degree_five(theta):
    window = window_at(theta, GRID)
    nodes = (GRID.first + window.start[:, None] + np.arange(NODES)) * GRID.step
    for power in range(6):
        found = (weights_at(theta, window, GRID) * nodes**power).sum(axis=1)
        np.testing.assert_allclose(found, theta**power, atol=1e-9)
