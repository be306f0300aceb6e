"""Items in the box against direct bounded minimisation."""

import numpy as np
import pytest
from scipy.optimize import minimize
from scipy.special import expit

from mtlirt.irt.blocks import response_block
from mtlirt.irt.box import at_traits, boxed_items, item_losses
from mtlirt.irt.curves import Items
from mtlirt.irt.interpolation import box_grid
from mtlirt.irt.items import added_statistics, item_statistics

GRID = box_grid(4.0, 1.0 / 16.0)


def loss(parameters, theta, y, c):
    p = c + (1 - c) * expit(parameters[0] * theta + parameters[1])
    seen = y >= 0
    return -np.where(seen, y * np.log(p) + (1 - y) * np.log1p(-p), 0).sum()


def statistics_of_block(theta, responses, guessed):
    shared = not guessed and (responses >= 0).all()
    block = response_block(responses)
    return [item_statistics(block, at_traits(theta, GRID, shared), GRID, guessed)]


@pytest.mark.parametrize("guessing", [0.0, 0.25])
@pytest.mark.parametrize("missing", [0.0, 0.3])
def test_each_item_reaches_its_bounded_minimum(guessing, missing):
    rng = np.random.default_rng(7)
    theta = rng.normal(size=150)
    slope, intercept = rng.uniform(-1, 5, 25), rng.uniform(-5, 5, 25)
    p = guessing + (1 - guessing) * expit(np.outer(theta, slope) + intercept)
    responses = (rng.random(p.shape) < p).astype(np.int8)
    responses[rng.random(p.shape) < missing] = -1
    y = np.maximum(responses, 0)
    held = np.zeros(25, bool)
    held[3] = True
    start = Items(np.ones(25), np.zeros(25), np.full(25, guessing))
    statistics = statistics_of_block(theta, responses, guessing > 0)
    totals = y.sum(axis=0).astype(float), (responses >= 0).sum(axis=0).astype(float)
    found = boxed_items(statistics, *totals, start, held, GRID)
    assert (found.items.slope[3], found.items.intercept[3], found.losses[3]) == (1.0, 0.0, 0.0)
    for j in np.flatnonzero(~held):
        here = [found.items.slope[j], found.items.intercept[j]]
        starts = [here] if guessing else [[1.0, 0.0], [0.2, 1.0]]  # with guessing: a local minimum
        best = min(
            (
                minimize(
                    loss,
                    at,
                    args=(theta, responses[:, j], guessing),
                    bounds=[(0, 4), (-4, 4)],
                    method="L-BFGS-B",
                )
                for at in starts
            ),
            key=lambda result: result.fun,
        )
        reached = loss(here, theta, responses[:, j], guessing)
        assert reached <= best.fun + 1e-5
        np.testing.assert_allclose(found.losses[j], reached, atol=1e-4)
        assert 0 <= found.items.slope[j] <= 4
        assert -4 <= found.items.intercept[j] <= 4
    assert (found.items.slope == 0).any()
    assert (found.items.slope == 4).any()
    again = item_losses(added_statistics(statistics), *totals, found.items, GRID)
    np.testing.assert_allclose(again[~held], found.losses[~held], rtol=1e-9)
