"""Passes over blocks with missing cells, against NumPy, however many cells there are."""

import numpy as np
import pytest

from mtlirt.irt import cells, kernels

MODELS, ITEMS, COUNT = 30, 40, 25
RNG_SEED = 7


def draw(kind):
    """A block whose models answered none, one, a few, some or all of the items; its counts."""
    rng = np.random.default_rng(RNG_SEED)
    share = np.resize([0.0, 1 / ITEMS, 0.1, 0.5, 1.0], MODELS)
    there = rng.random((MODELS, ITEMS)) < share[:, None]
    right = rng.random((MODELS, ITEMS)) < 0.5
    if kind == "single":
        responses = np.where(there, right, -1).astype(np.int8)
        return responses, np.zeros((0, 0), np.float32), there * 1.0, (there & right) * 1.0
    trials = np.where(there, rng.integers(1, 5, there.shape), 0).astype(np.float32)
    successes = (trials * right).astype(np.float32)
    return successes, trials, trials.astype(float), successes.astype(float)


def windows():
    rng = np.random.default_rng(RNG_SEED + 1)
    nodes = rng.integers(0, 8, MODELS)
    stride = rng.integers(1, 4, MODELS)
    return rng.integers(0, COUNT - 22, MODELS), stride, nodes


@pytest.mark.parametrize("kind", ["single", "trials"])
@pytest.mark.parametrize("successes", [False, True])
def test_curves_are_sums_over_the_cells_that_count(kind, successes):
    responses, weight, attempts, right = draw(kind)
    start, stride, nodes = windows()
    table = np.random.default_rng(3).normal(size=(COUNT, ITEMS))
    out = np.ones((MODELS, 8))
    cells.masked_curves(responses, weight, successes, table, start, stride, nodes, out)
    counts = right if successes else attempts
    for i in range(MODELS):
        points = start[i] + stride[i] * np.arange(nodes[i])
        np.testing.assert_allclose(out[i, : nodes[i]], 1 + table[points] @ counts[i], atol=1e-12)
        assert (out[i, nodes[i] :] == 1).all()


@pytest.mark.parametrize("kind", ["single", "trials"])
@pytest.mark.parametrize("successes", [False, True])
def test_histograms_are_densities_of_those_who_answered(kind, successes):
    responses, weight, attempts, right = draw(kind)
    start, stride, nodes = windows()
    density = np.random.default_rng(4).random((MODELS, 8))
    found = cells.masked_histogram(
        responses, weight, successes, density, start, stride, nodes, COUNT
    )
    counts, expected = right if successes else attempts, np.zeros((COUNT, ITEMS))
    for i in range(MODELS):
        for k in range(nodes[i]):
            expected[start[i] + k * stride[i]] += density[i, k] * counts[i]
    np.testing.assert_allclose(found, expected, atol=1e-12)
    assert (found[expected == 0] == 0).all()


def test_a_coarse_window_closes_in_on_its_posterior_and_keeps_both_modes():
    """Nodes far below the peak are left behind; those between two peaks are not."""
    count, step, depth = 2001, 0.01, 15.0
    theta = (np.arange(count) - 1000) * step
    near = 0.5 * ((theta - 1.0) / 0.05) ** 2
    both = -np.logaddexp(-0.5 * ((theta + 4) / 0.05) ** 2, -0.5 * ((theta - 4) / 0.05) ** 2)
    curves = np.stack([near, both])
    stride = np.array([40, 40])
    start, nodes = np.array([20, 20]), np.array([50, 50])
    coarse = np.stack([curve[20 : 20 + 50 * 40 : 40] for curve in curves])
    settled = np.zeros(2, bool)
    found = np.empty((3, 2))
    wide = np.full(2, 1e12)
    left = kernels.own_curve_posteriors(
        np.zeros(2), coarse, -1000, count, step, start, stride, nodes, settled,
        np.zeros(2), wide, 1.0, depth, *found, np.zeros((2, 50)),
    )  # fmt: skip
    assert left == 2
    last = start + (nodes - 1) * stride
    for i, modes in enumerate([(1.0, 1.0), (-4.0, 4.0)]):
        low, high = (curves[i] < depth).nonzero()[0][[0, -1]]
        assert start[i] <= low
        assert high <= last[i]
        assert stride[i] < 40
        reach = theta[last[i]] - theta[start[i]] - (modes[1] - modes[0])
        assert reach <= (3 * 40 + 2 * stride[i]) * step + 1e-9
