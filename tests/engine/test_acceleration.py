"""Anderson acceleration against the known fixed point of a linear map."""

import numpy as np
import pytest

from mtlirt.engine.acceleration import Anderson


def iterations(size, accelerate):
    rng = np.random.default_rng(0)
    basis, _ = np.linalg.qr(rng.normal(size=(size, size)))
    rates = np.r_[0.97, 0.9, 0.8, 0.5, np.full(size - 4, 0.1)]
    matrix = basis @ np.diag(rates) @ basis.T
    target = rng.normal(size=size)
    memory, point = Anderson(), np.zeros(size)
    for count in range(1, 2000):
        image = matrix @ (point - target) + target
        if np.linalg.norm(image - point) < 1e-10:
            np.testing.assert_allclose(point, target, atol=1e-7)
            return count
        point = memory.step(point, image, np.ones(size)) if accelerate else image
    raise AssertionError("no convergence")


def test_reaches_the_fixed_point_of_a_linear_map_in_a_few_steps():
    assert iterations(12, accelerate=True) < 15
    assert iterations(12, accelerate=False) > 300


def test_the_metric_decides_which_residuals_count():
    memory = Anderson()
    memory.step(np.zeros(2), np.array([1.0, 1e6]), np.array([1.0, 0.0]))
    step = memory.step(np.array([1.0, 5.0]), np.array([1.5, 7.0]), np.array([1.0, 0.0]))
    assert step[0] == pytest.approx(2.0)  # the first coordinate's own secant step: 1/(1 - .5)


def test_starts_anew_when_the_residual_grows():
    memory = Anderson()
    memory.step(np.zeros(1), np.ones(1), np.ones(1))
    np.testing.assert_array_equal(memory.step(np.ones(1), np.full(1, 9.0), np.ones(1)), [9.0])
