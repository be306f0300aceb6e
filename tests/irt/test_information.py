"""Information of single items, and how their answers move with the trait."""

import numpy as np
import pytest
from scipy.special import expit

from mtlirt.irt.curves import Items, information_curve
from mtlirt.irt.information import item_information, response_moments

THETA = np.linspace(-2.5, 2.5, 11)


@pytest.fixture(params=["plain", "guessed"])
def items(request, rng):
    slope, intercept = rng.normal(1.0, 1.0, 8), rng.normal(size=8)
    guessing = rng.uniform(0.0, 0.4, 8) if request.param == "guessed" else np.zeros(8)
    return Items(slope, intercept, guessing)


@pytest.fixture
def rng():
    return np.random.default_rng(5)


def chance(theta, items):
    return items.guessing + (1 - items.guessing) * expit(items.slope * theta + items.intercept)


def test_item_information_is_the_expected_square_of_the_likelihoods_slope(items):
    step = 1e-5
    above, below = (chance(THETA[:, None] + sign * step, items) for sign in (1, -1))
    p = chance(THETA[:, None], items)
    right = (np.log(above) - np.log(below)) / (2 * step)
    wrong = (np.log1p(-above) - np.log1p(-below)) / (2 * step)
    found = item_information(THETA, items)
    np.testing.assert_allclose(found, p * right**2 + (1 - p) * wrong**2, rtol=1e-7, atol=1e-12)
    np.testing.assert_allclose(found.sum(axis=1), information_curve(THETA, items), rtol=1e-13)


def test_without_guessing_it_is_a2_p_q():
    items = Items.plain(np.array([1.7]), np.array([-0.3]))
    p = expit(1.7 * THETA - 0.3)
    np.testing.assert_allclose(item_information(THETA, items)[:, 0], 1.7**2 * p * (1 - p))


def test_moments_are_the_curves_slope_and_the_answers_variance(items):
    found = response_moments(THETA, items)
    step = 1e-5
    slope = (chance(THETA[:, None] + step, items) - chance(THETA[:, None] - step, items)) / 2 / step
    p = chance(THETA[:, None], items)
    np.testing.assert_allclose(found.rise.T, slope, rtol=1e-7, atol=1e-11)
    np.testing.assert_allclose(found.variance.T, p * (1 - p), rtol=1e-12)
    information = item_information(THETA, items)
    np.testing.assert_allclose((found.rise**2 / found.variance).T, information, rtol=1e-11)


def test_moments_of_an_answer_that_is_nearly_sure_do_not_cancel():
    rise, variance = response_moments(np.array([40.0]), Items.plain(np.ones(1), np.zeros(1)))
    np.testing.assert_allclose([rise[0, 0], variance[0, 0]], np.exp(-40.0), rtol=1e-12)
