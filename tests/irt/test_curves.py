"""Response functions, curves and the trait grid."""

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from scipy.optimize import brentq
from scipy.special import expit

from mtlirt.irt import kernels
from mtlirt.irt.curves import (
    EDGES,
    FITTING,
    INTERVALS,
    SCORING,
    Grid,
    Items,
    information_curve,
    item_reach,
    probability,
    shared_curve,
    trait_grid,
)


def test_probability_is_the_logistic_function_without_overflow():
    theta = np.array([-1e4, -40.0, -1.0, 0.0, 0.3, 40.0, 1e4])[:, None]
    slope, intercept = np.array([1.0, -2.5, 0.0]), np.array([0.4, -1.0, 2.0])
    found = probability(theta, slope, intercept)
    np.testing.assert_allclose(found, expit(theta * slope + intercept), rtol=1e-14, atol=1e-300)
    assert probability(np.array(0.0), np.array(1.0), np.array(0.0)) == 0.5


def test_information_is_the_sum_of_a2_p_q(random_items):
    items, theta = random_items(7), np.linspace(-3, 3, 11)
    p = expit(np.multiply.outer(theta, items.slope) + items.intercept)
    expected = (items.slope**2 * p * (1 - p)).sum(axis=1)
    np.testing.assert_allclose(information_curve(theta, items), expected, rtol=1e-13)


def test_grid_points():
    np.testing.assert_allclose(Grid(-3, 5, 0.5).points, [-1.5, -1.0, -0.5, 0.0, 0.5])


@pytest.mark.parametrize("count", [1, 5, 511, 512, 513, 1534])
def test_softplus_tables_and_their_sums(random_items, count):
    items, grid = random_items(count, seed=count), Grid(-40, 90, 0.11)
    eta = np.multiply.outer(grid.points, items.slope) + items.intercept
    expected = np.logaddexp(0.0, eta)
    place = grid.first, grid.count, grid.step
    table = kernels.softplus_table(*items[:2], *place)
    np.testing.assert_allclose(table, expected, rtol=1e-13, atol=1e-15)
    np.testing.assert_allclose(
        kernels.softplus_sum(*items[:2], *place), expected.sum(1), rtol=1e-12
    )
    np.testing.assert_allclose(shared_curve(items, grid), expected.sum(1), rtol=1e-12)


def test_softplus_far_out_is_linear_on_one_side_and_zero_on_the_other():
    items, grid = Items.plain(np.array([50.0, -50.0]), np.array([50.0, -50.0])), Grid(-50, 101, 1.0)
    expected = np.logaddexp(0.0, np.multiply.outer(grid.points, items.slope) + items.intercept)
    table = kernels.softplus_table(*items[:2], grid.first, grid.count, grid.step)
    np.testing.assert_allclose(table, expected, rtol=1e-13, atol=1e-300)
    np.testing.assert_allclose(shared_curve(items, grid), expected.sum(axis=1), rtol=1e-13)


def test_the_reach_is_the_pull_of_the_most_favourable_answers(random_items):
    items = random_items(12, seed=3)
    reach = item_reach(items, 4.0)
    for edge, up, down in zip(EDGES, reach.up, reach.down, strict=True):
        for theta, pull, best in ((edge, up, np.max), (-edge, down, np.min)):
            eta = items.slope * theta + items.intercept
            right, wrong = items.slope * expit(-eta), -items.slope * expit(eta)
            strongest = best([right, wrong], axis=0).sum()
            np.testing.assert_allclose(pull, 4.0 * abs(strongest), rtol=1e-12, atol=1e-300)


def test_the_reach_bounds_the_information_and_adds_over_chunks(random_items):
    items = random_items(30, seed=4)
    whole = item_reach(items, 1.0)
    for low, high, bound in zip(INTERVALS[:-1], INTERVALS[1:], whole.information, strict=True):
        assert (information_curve(np.linspace(low, high, 21), items) <= bound * (1 + 1e-12)).all()
    parts = [item_reach(items.columns(part), 1.0) for part in (slice(0, 11), slice(11, 30))]
    for total, first, second in zip(whole, *parts, strict=True):
        np.testing.assert_allclose(total, first + second, rtol=1e-12)


ITEM = st.tuples(st.floats(-6, 6), st.floats(-6, 6))
CAVITY = st.tuples(st.floats(-3, 3), st.floats(0.01, 1.2))


@given(
    st.lists(ITEM, min_size=1, max_size=8),
    st.lists(CAVITY, min_size=1, max_size=3),
    st.integers(1, 300),
    st.sampled_from([FITTING, SCORING]),
    st.randoms(use_true_random=False),
)
@settings(max_examples=80, deadline=None)
def test_the_grid_holds_every_mode_and_tail(pairs, cavities, copies, quadrature, random):
    # every item stands for `copies` alike: long domains pull traits far out
    slope, difficulty = np.array(pairs).T.copy()
    items = Items.plain(slope, -slope * difficulty)
    means, variances = np.array(cavities).T
    attempts = float(copies)
    half = len(means) // 2
    chunks = [(means[:half], variances[:half]), (means[half:], variances[half:])]
    grid = trait_grid([item_reach(items, attempts)], chunks, quadrature)
    ends = grid.points[[0, -1]]
    best = (items.slope > 0).astype(float)
    answers = [best, 1 - best, np.ones(len(pairs)), np.zeros(len(pairs))]
    answers.append(np.array([random.random() for _ in pairs]))
    for y in answers:
        for mean, variance in cavities:

            def slope(theta, y=y, mean=mean, variance=variance):
                p = expit(items.slope * theta + items.intercept)
                return attempts * items.slope @ (y - p) - (theta - mean) / variance

            def log_posterior(theta, y=y, mean=mean, variance=variance):
                eta = items.slope * theta + items.intercept
                likelihood = attempts * (y @ eta - np.logaddexp(0, eta).sum())
                return likelihood - 0.5 * (theta - mean) ** 2 / variance

            reach = 1.0 + variance * attempts * np.abs(items.slope).sum()
            mode = brentq(slope, mean - reach, mean + reach)
            assert ends[0] < mode < ends[1]
            for end in ends:
                drop = log_posterior(mode) - log_posterior(end)
                assert drop >= quadrature.depth * (1 - 1e-9) - 1e-6
            information = attempts * information_curve(np.array([mode]), items)[0]
            sd = 1 / np.sqrt(information + 1 / variance)
            assert grid.step <= quadrature.spacing * sd * (1 + 1e-9)


def test_a_trait_that_no_grid_could_hold_is_an_error():
    items = Items.plain(np.full(20, 50.0), np.full(20, -50.0 * 1e6))
    with pytest.raises(FloatingPointError, match="beyond"):
        trait_grid([item_reach(items, 1e6)], [(np.zeros(1), np.ones(1))], SCORING)
