"""Steps on the sphere against direct constrained minimisation."""

import numpy as np
import pytest
from scipy.optimize import minimize
from scipy.special import expit

from mtlirt.irt.curves import Items, shared_curve
from mtlirt.irt.interpolation import TraitCurves, box_grid
from mtlirt.irt.sphere import Pull, released, sphere_step, standardised_in_box

GRID = box_grid(4.0, 1.0 / 16.0)
MODELS = 25


@pytest.fixture
def domain():
    rng = np.random.default_rng(4)
    items = Items.plain(rng.uniform(0.5, 1.5, 20), rng.uniform(-1, 1, 20))
    truth = standardised_in_box(rng.normal(size=MODELS))
    p = expit(np.outer(truth, items.slope) + items.intercept)
    responses = (rng.random(p.shape) < p).astype(float)
    return items, responses @ items.slope


def objective(theta, items, score, pull):
    curve = np.logaddexp(0, np.outer(theta, items.slope) + items.intercept).sum()
    cosines = theta @ pull.towards / np.linalg.norm(theta) / np.sqrt(MODELS)
    return curve - score @ theta + pull.strength @ np.sqrt(np.clip(1 - cosines**2, 0, None))


@pytest.mark.parametrize("strength", [0.0, 3.0, 10.0])
def test_reaches_the_constrained_minimum(domain, strength):
    items, score = domain
    rng = np.random.default_rng(9)
    general = standardised_in_box(score + rng.normal(0, 3, MODELS))
    pull = Pull(general[:, None], np.array([strength]))
    start = standardised_in_box(score)
    found = start
    for _ in range(60):
        curves = TraitCurves.shared(shared_curve(items, GRID), GRID)
        found = sphere_step(found, score, curves, pull, 5)
    constraints = [
        {"type": "eq", "fun": lambda x: x.sum()},
        {"type": "eq", "fun": lambda x: x @ x - MODELS},
    ]
    other = minimize(
        objective,
        start,
        args=(items, score, pull),
        constraints=constraints,
        options={"maxiter": 500, "ftol": 1e-12},
    )
    assert objective(found, items, score, pull) <= other.fun + 1e-5
    np.testing.assert_allclose([found.sum(), found @ found], [0, MODELS], atol=1e-9)


def test_never_rises_and_keeps_within_reach(domain):
    items, score = domain
    rng = np.random.default_rng(3)
    curves = TraitCurves.shared(shared_curve(items, GRID), GRID)
    for _ in range(20):
        start = standardised_in_box(rng.normal(size=MODELS))
        pull = Pull(
            np.column_stack([standardised_in_box(rng.normal(size=MODELS)) for _ in range(3)]),
            rng.uniform(0, 5, 3),
        )
        moved = sphere_step(start, score, curves, pull, 1, reach=0.2)
        before, after = (objective(x, items, score, pull) for x in (start, moved))
        assert after <= before + 1e-6
        assert np.abs(moved - start).max() < 0.35  # the way back to the sphere may add a little


@pytest.mark.parametrize("bound", [4.0, 2.0, 1.3])
def test_shift_and_scale_into_the_box(bound):
    values = np.random.default_rng(2).standard_t(2, 300)
    found = standardised_in_box(values, bound)
    np.testing.assert_allclose([found.mean(), np.mean(found**2)], [0, 1], atol=1e-10)
    assert np.abs(found).max() <= bound
    inside = np.abs(found) < bound - 1e-9
    slope, intercept = np.polyfit(values[inside], found[inside], 1)
    np.testing.assert_allclose(found[inside], slope * values[inside] + intercept, atol=1e-8)
    assert (np.diff(found[np.argsort(values)]) >= 0).all()


def test_what_no_shift_and_scale_can_do_is_an_error():
    with pytest.raises(ValueError, match="all models are alike"):
        standardised_in_box(np.full(10, 3.0))
    one_apart = np.zeros(40)
    one_apart[0] = 1.0
    with pytest.raises(ValueError, match="cannot tell its models apart"):
        standardised_in_box(one_apart)


def test_a_fused_trait_leaves_just_when_that_lowers_the_objective(domain):
    items, score = domain
    curves = TraitCurves.shared(shared_curve(items, GRID), GRID)
    general = standardised_in_box(np.random.default_rng(8).normal(size=MODELS))
    _, slope, _ = curves.at(general)
    gradient = slope - score
    gradient -= gradient.mean() + general * (general @ gradient) / MODELS
    limit = np.sqrt(MODELS) * np.linalg.norm(gradient)
    assert released(general, score, curves, 1.001 * limit) is None
    for share in (0.2, 0.9):
        moved = released(general, score, curves, share * limit)
        pull = Pull(general[:, None], np.array([share * limit]))
        assert objective(moved, items, score, pull) < objective(general, items, score, pull)
