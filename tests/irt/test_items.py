"""Item updates: their statistics, steps, maxima and covariances."""

import numpy as np
import pytest
from scipy.optimize import approx_fprime, minimize
from scipy.special import expit

from mtlirt.irt import kernels
from mtlirt.irt.curves import Grid, Items
from mtlirt.irt.items import LIMIT, ItemStatistics, covariance, update_items
from mtlirt.irt.slopes import NO_PRIOR, SlopePrior

GRID = Grid(-24, 49, 0.25)
FREE = np.zeros(3, bool)
TRUE = Items.plain(np.array([1.2, -0.8, 3.0]), np.array([0.5, -1.5, -2.0]))
PRIOR = SlopePrior(1.0, 8.0)


def population(models=200.0, own=False):
    """Expected statistics of models N(0, 1) on the grid under the true items, slightly off."""
    density = np.exp(-0.5 * GRID.points**2)
    histogram = models * (density / density.sum())[:, None]
    if own:  # items answered by populations of other sizes and places
        shift = np.array([0.0, 0.7, -0.7])
        histogram = np.exp(-0.5 * (GRID.points[:, None] - shift) ** 2)
        histogram *= np.array([80.0, 200.0, 30.0]) / histogram.sum(axis=0)
    p = expit(np.multiply.outer(GRID.points, TRUE.slope) + TRUE.intercept)
    expected = histogram * p
    successes = expected.sum(axis=0) * np.array([1.01, 0.98, 1.0])
    products = GRID.points @ expected + np.array([1.0, -2.0, 0.5])
    return ItemStatistics(products, histogram), successes


def objective(items, statistics, successes, prior):
    """Expected log-likelihood plus log prior, item by item."""
    eta = np.multiply.outer(GRID.points, items.slope) + items.intercept
    curve = (statistics.histogram * np.logaddexp(0, eta)).sum(axis=0)
    linear = items.slope * statistics.products + items.intercept * successes
    return linear - curve - 0.5 * prior.precision * (items.slope - prior.mean) ** 2


def item_objective(j, statistics, successes, prior):
    """The objective of one item as a function of (a, d)."""

    def value(x):
        slope, intercept = TRUE.slope.copy(), TRUE.intercept.copy()
        slope[j], intercept[j] = x
        return objective(Items.plain(slope, intercept), statistics, successes, prior)[j]

    return value


def best(statistics, successes, prior):
    """The maximum of every item's objective by scipy."""
    found = []
    for j in range(3):
        value = item_objective(j, statistics, successes, prior)
        start = [TRUE.slope[j], TRUE.intercept[j]]
        options = {"xatol": 1e-10, "fatol": 1e-13, "maxiter": 2000}
        found.append(minimize(lambda x: -value(x), start, method="Nelder-Mead", options=options).x)  # noqa: B023
    return Items.plain(*np.array(found).T)


@pytest.mark.parametrize("own", [False, True])
def test_item_sums_are_sums_over_the_grid(own):
    statistics, _ = population(own=own)
    theta = GRID.points[:, None]
    p = expit(theta * TRUE.slope + TRUE.intercept)
    n, q = statistics.histogram, p * (1 - p)
    expected = [(n * f).sum(axis=0) for f in (p, p * theta, q, q * theta, q * theta**2)]
    found = kernels.item_sums(n, GRID.first, GRID.step, *TRUE[:2])
    for one, other in zip(found, expected, strict=True):
        np.testing.assert_allclose(one, other, rtol=1e-11, atol=1e-12)


@pytest.mark.parametrize("prior", [NO_PRIOR, PRIOR])
@pytest.mark.parametrize("own", [False, True])
def test_a_short_step_is_newtons_on_finite_differences(own, prior):
    statistics, successes = population(own=own)
    peak = best(statistics, successes, prior)
    near = Items.plain(peak.slope + 1e-4, peak.intercept - 1e-4)
    found = update_items([statistics], successes, near, FREE, prior, GRID)
    for j in range(3):
        value = item_objective(j, statistics, successes, prior)
        x = np.array([near.slope[j], near.intercept[j]])

        def gradient(y, value=value):
            e = 1e-4
            steps = [np.array([e, 0]), np.array([0, e])]
            return np.array([(value(y + s) - value(y - s)) / (2 * e) for s in steps])

        hessian = approx_fprime(x, gradient, 1e-4)
        newton = np.linalg.solve(hessian, -gradient(x))
        moved = [found.items.slope[j] - x[0], found.items.intercept[j] - x[1]]
        np.testing.assert_allclose(moved, newton, rtol=5e-3)
        without_prior = -hessian - np.diag([prior.precision, 0])
        aa, ad, dd = found.information[j]
        np.testing.assert_allclose([[aa, ad], [ad, dd]], without_prior, rtol=2e-3, atol=0.02)


STARTS = {
    "flat": Items.plain(np.zeros(3), np.zeros(3)),
    "wrong signs": Items.plain(-4 * np.sign(TRUE.slope), np.array([3.0, 3.0, -3.0])),
    "steep": Items.plain(np.array([12.0, -12.0, 20.0]), np.array([0.0, 4.0, -9.0])),
    "steep and wrong": Items.plain(np.array([-12.0, 12.0, -20.0]), np.array([6.0, -4.0, 9.0])),
    "far off": Items.plain(np.array([1.0, 1.0, 1.0]), np.array([9.0, -9.0, 9.0])),
}


@pytest.mark.parametrize("start", STARTS)
@pytest.mark.parametrize("prior", [NO_PRIOR, PRIOR])
@pytest.mark.parametrize("own", [False, True])
def test_steps_from_bad_starts_never_overshoot_and_reach_the_maximum(own, prior, start):
    statistics, successes = population(own=own)
    items = STARTS[start]
    value = objective(items, statistics, successes, prior)
    for _ in range(60):
        items = update_items([statistics], successes, items, FREE, prior, GRID).items
        after = objective(items, statistics, successes, prior)
        assert (after >= value - 1e-9 * np.abs(value)).all()
        value = after
    peak = best(statistics, successes, prior)
    np.testing.assert_allclose(items.slope, peak.slope, rtol=1e-5)
    np.testing.assert_allclose(items.intercept, peak.intercept, rtol=1e-5)


def test_an_item_takes_steps_until_it_rests():
    statistics, successes = population()
    found = update_items([statistics], successes, STARTS["wrong signs"], FREE, PRIOR, GRID).items
    again = update_items([statistics], successes, found, FREE, PRIOR, GRID).items
    peak = best(statistics, successes, PRIOR)
    np.testing.assert_allclose(found.slope, peak.slope, atol=0.1)
    np.testing.assert_allclose(again.slope, peak.slope, atol=1e-3)


def test_statistics_of_model_chunks_add_up():
    statistics, successes = population(own=True)
    parts = [
        ItemStatistics(statistics.products * share, statistics.histogram * share)
        for share in (0.3, 0.7)
    ]
    whole = update_items([statistics], successes, STARTS["flat"], FREE, PRIOR, GRID)
    split = update_items(parts, successes, STARTS["flat"], FREE, PRIOR, GRID)
    np.testing.assert_allclose(split.items, whole.items, rtol=1e-12)
    np.testing.assert_allclose(split.information, whole.information, rtol=1e-12)


@pytest.mark.parametrize("prior", [NO_PRIOR, PRIOR])
def test_held_items_keep_their_parameters_and_leave_the_others_alone(prior):
    statistics, successes = population()
    held = np.array([False, True, False])
    start = STARTS["wrong signs"]
    found = update_items([statistics], successes, start, held, prior, GRID).items
    free = update_items([statistics], successes, start, FREE, prior, GRID).items
    assert (found.slope[1], found.intercept[1]) == (start.slope[1], start.intercept[1])
    np.testing.assert_array_equal(found.slope[[0, 2]], free.slope[[0, 2]])
    np.testing.assert_array_equal(found.intercept[[0, 2]], free.intercept[[0, 2]])


def test_separated_items_without_a_prior_stop_at_the_limit():
    # everyone above 0 right, everyone below wrong: the likelihood rises without end
    histogram = np.where(np.abs(GRID.points) < 0.1, 0.0, 1.0)[:, None]
    right = (GRID.points > 0) * histogram[:, 0]
    statistics = ItemStatistics(np.array([right @ GRID.points]), histogram)
    items = Items.plain(np.ones(1), np.zeros(1))
    for _ in range(200):
        items = update_items(
            [statistics], np.array([right.sum()]), items, FREE[:1], NO_PRIOR, GRID
        ).items
        assert np.isfinite(items).all()
        assert np.abs(items).max() <= LIMIT


@pytest.mark.parametrize("prior", [NO_PRIOR, PRIOR])
def test_the_covariance_is_the_inverse_of_information_and_prior(prior):
    information = np.array([[40.0, 3.0, 25.0], [5.0, -8.0, 90.0], [9.0, 2.0, 1.0]])
    found = covariance(information, prior, np.array([False, False, True]))
    for (aa, ad, dd), entries in zip(information[:2], found[:2], strict=True):
        inverse = np.linalg.inv([[aa + prior.precision, ad], [ad, dd]])
        np.testing.assert_allclose(entries, [inverse[0, 0], inverse[0, 1], inverse[1, 1]])
    np.testing.assert_array_equal(found[2], 0.0)


def test_the_covariance_of_what_is_not_identified_is_zero():
    information = np.array([[4.0, 6.0, 9.0], [0.0, 0.0, 0.0]])
    np.testing.assert_array_equal(covariance(information, NO_PRIOR, FREE[:2]), 0.0)
    with_prior = covariance(information, PRIOR, FREE[:2])
    inverse = np.linalg.inv([[12.0, 6.0], [6.0, 9.0]])
    np.testing.assert_allclose(with_prior[0], [inverse[0, 0], inverse[0, 1], inverse[1, 1]])
