"""Posteriors of traits, their sites and their modes."""

import numpy as np
import pytest
from scipy.integrate import quad
from scipy.special import expit

from mtlirt.irt.blocks import response_block
from mtlirt.irt.curves import FITTING, SCORING, Items, item_reach, trait_grid
from mtlirt.irt.items import item_statistics
from mtlirt.irt.traits import (
    Cavity,
    KnownCurves,
    Posterior,
    Site,
    asked_curves,
    combined,
    log_gaussian_integral,
    mode_site,
    search_again,
    search_windows,
    site,
    start_windows,
    trait_score,
)

MOMENTS = ("mean", "variance", "log_normaliser")
CLOSE = {SCORING: 1e-7, FITTING: 1e-4}
"""Errors allowed, in posterior standard deviations (means), relatively (variances) and absolutely
(log normalisers): what slopes up to about 2.5 need of the trapezoid rule's spacing."""


def assert_moments(found, truth, close):
    """Posteriors equal the dense ones up to a share of their own width."""
    mean, variance, log_normaliser = (np.array([getattr(t, n) for t in truth]) for n in MOMENTS)
    np.testing.assert_allclose((found.mean - mean) / np.sqrt(variance), 0, atol=close)
    np.testing.assert_allclose(found.variance, variance, rtol=close)
    np.testing.assert_allclose(found.log_normaliser, log_normaliser, rtol=1e-11, atol=close)


def answers_of(items, traits, seed=0):
    """Random answers of models with these traits, and a perfect and a zero scorer."""
    rng = np.random.default_rng(seed)
    p = expit(np.multiply.outer(traits, items.slope) + items.intercept)
    drawn = (rng.random(p.shape) < p).astype(np.int8)
    drawn[0], drawn[1] = items.slope > 0, items.slope < 0
    return drawn


CAVITIES = Cavity(np.array([0.0, 0.0, 0.4, -1.5, 2.0]), np.array([1.0, 1.0, 0.5, 0.2, 1.3]))


@pytest.mark.parametrize("count", [1, 5, 50, 1534])
def test_posteriors_of_complete_models_are_dense_integrals(
    count, random_items, shared_posterior, dense_posteriors
):
    items = random_items(count, seed=count)
    responses = answers_of(items, np.array([0.0, 0.0, 0.5, -2.0, 2.5]))
    points = 20_001 if count < 100 else 2_001
    truth = dense_posteriors(responses, np.ones_like(responses), items, CAVITIES, points)
    for quadrature, close in CLOSE.items():
        found, _ = shared_posterior(responses, items, CAVITIES, quadrature)
        assert_moments(found, truth, close)


@pytest.mark.parametrize("count", [1, 5, 50, 1534])
def test_flat_items_are_integrated_to_nine_digits(count, shared_posterior, dense_posteriors):
    items = Items.plain(np.full(count, 0.9), np.linspace(-1.5, 1.5, count))
    responses = answers_of(items, np.array([0.0, 0.0, 0.5, -2.0, 2.5]))
    points = 20_001 if count < 100 else 2_001
    truth = dense_posteriors(responses, np.ones_like(responses), items, CAVITIES, points)
    found, _ = shared_posterior(responses, items, CAVITIES, SCORING)
    assert_moments(found, truth, 1e-9)


def test_perfect_and_zero_scorers_of_flat_items_have_the_published_modes():
    # REF-SCORE: s - n sigma(theta) = theta, se 1/sqrt(1 + n sigma(1 - sigma))
    rows = [
        (0, 1, -0.40106, 0.89795),
        (1, 1, 0.40106, 0.89795),
        (2, 3, 0.28655, 0.75923),
        (2, 4, 0.0, 0.70711),
        (3, 4, 0.50524, 0.71818),
        (0, 4, -1.04260, 0.75147),
        (10, 20, 0.0, 0.40825),
        (15, 20, 0.87681, 0.44065),
        (10, 10, 1.63351, 0.65003),
        (0, 10, -1.63351, 0.65003),
        (10_000, 10_000, 7.23121, 0.34866),
        (0, 10_000, -7.23121, 0.34866),
    ]
    prior = Cavity(np.zeros(1), np.ones(1))
    for right, count, mode, se in rows:
        responses = (np.arange(count) < right).astype(np.int8)[None, :]
        items = Items.plain(np.ones(count), np.zeros(count))
        found = mode_site(response_block(responses), items, prior, 1e-12)
        mean, variance = combined(prior, found.precision, found.shift)
        np.testing.assert_allclose([mean[0], np.sqrt(variance[0])], [mode, se], atol=6e-6)
        repeated = response_block(np.array([[right]], np.int16), np.array([[count]], np.int16))
        alike = mode_site(repeated, Items.plain(np.ones(1), np.zeros(1)), prior, 1e-12)
        np.testing.assert_allclose(alike.precision, found.precision, rtol=1e-9)
        np.testing.assert_allclose(alike.shift, found.shift, rtol=1e-9, atol=1e-9)


def test_ten_thousand_right_answers_are_integrated_where_they_are(
    shared_posterior, windowed_posterior, dense_posteriors
):
    one, prior = Items.plain(np.ones(1), np.zeros(1)), Cavity(np.zeros(1), np.ones(1))
    truth = dense_posteriors([[1e4]], [[1e4]], one, prior)[0]
    assert abs(truth.mode - 7.23121) < 6e-6
    responses = np.ones((1, 10_000), np.int8)
    found, _ = shared_posterior(
        responses, Items.plain(np.ones(10_000), np.zeros(10_000)), prior, SCORING
    )
    block = response_block(np.array([[10_000]], np.int16), np.array([[10_000]], np.int16))
    repeated, _ = windowed_posterior(block, one, prior, SCORING, attempts=1e4)
    assert_moments(found, [truth], CLOSE[SCORING])
    assert_moments(repeated, [truth], CLOSE[SCORING])


@pytest.mark.parametrize("count", [1, 5, 60, 400])
@pytest.mark.parametrize("quadrature", [SCORING, FITTING])
def test_windows_on_complete_models_equal_the_shared_curve(
    count, quadrature, random_items, shared_posterior, windowed_posterior
):
    items = random_items(count, seed=count)
    responses = answers_of(items, np.array([0.0, 0.0, 0.5, -2.0, 2.5]))
    shared, _ = shared_posterior(responses, items, CAVITIES, SCORING)
    found, _ = windowed_posterior(response_block(responses), items, CAVITIES, quadrature)
    close = CLOSE[quadrature]
    np.testing.assert_allclose((found.mean - shared.mean) / np.sqrt(shared.variance), 0, atol=close)
    np.testing.assert_allclose(found.variance, shared.variance, rtol=close)
    np.testing.assert_allclose(found.log_normaliser, shared.log_normaliser, rtol=1e-11, atol=close)


def scattered(items, traits, share, seed):
    """Answers of which a share is missing, never a whole row."""
    responses = answers_of(items, traits, seed)
    missing = np.random.default_rng(seed + 1).random(responses.shape) < share
    missing[:, 0] = False
    return np.where(missing, -1, responses).astype(np.int8)


@pytest.mark.parametrize(("count", "share"), [(5, 0.4), (60, 0.2), (400, 0.6), (400, 0.95)])
def test_windows_of_models_with_missing_cells_are_dense_integrals(
    count, share, random_items, windowed_posterior, dense_posteriors
):
    items = random_items(count, seed=count)
    responses = scattered(items, np.array([0.0, 0.0, 0.5, -2.0, 2.5]), share, seed=count)
    truth = dense_posteriors(responses == 1, responses >= 0, items, CAVITIES, 4_001)
    found, _ = windowed_posterior(response_block(responses), items, CAVITIES, SCORING)
    assert_moments(found, truth, CLOSE[SCORING])


def test_fractions_and_repeated_trials_are_weights(windowed_posterior, dense_posteriors):
    items = Items.plain(np.array([1.0, 0.7, -0.8]), np.array([0.0, -1.0, 0.5]))
    cavity = Cavity(np.array([0.0, 0.3]), np.array([1.0, 0.6]))
    trials = np.array([[3, 0, 40], [1, 7, 0]], np.int16)
    right = np.array([[1, -1, 22], [1, 0, -1]], np.int16)
    truth = dense_posteriors(np.maximum(right, 0), trials, items, cavity)
    found, _ = windowed_posterior(
        response_block(right, trials), items, cavity, SCORING, attempts=40.0
    )
    assert_moments(found, truth, CLOSE[SCORING])
    fractions = np.array([[0.5, np.nan, 0.25], [0.8888, 0.1, np.nan]], np.float32)
    there = ~np.isnan(fractions)
    truth = dense_posteriors(np.nan_to_num(fractions), there, items, cavity)
    found, _ = windowed_posterior(response_block(fractions), items, cavity, SCORING)
    assert_moments(found, truth, CLOSE[SCORING])


def test_half_a_success_on_a_flat_item_leaves_the_mode_at_zero():
    # O10: y = .5 on one item a = 1, b = 0: theta 0, se 1/sqrt(1.25) = .89443
    block = response_block(np.array([[0.5]], np.float32))
    prior = Cavity(np.zeros(1), np.ones(1))
    found = mode_site(block, Items.plain(np.ones(1), np.zeros(1)), prior, 1e-12)
    mean, variance = combined(prior, found.precision, found.shift)
    np.testing.assert_allclose([mean[0], np.sqrt(variance[0])], [0.0, 0.89443], atol=6e-6)


@pytest.mark.parametrize("variance", [1e-8, 1e-3, 1.0, 1e3])
@pytest.mark.parametrize("mean", [-50.0, -4.0, 0.0, 4.0, 50.0])
def test_windows_that_start_badly_placed_still_end_right(
    mean, variance, random_items, windowed_posterior, dense_posteriors
):
    items = random_items(120, seed=9)
    responses = scattered(items, np.array([0.0, 0.0, 0.5, -2.0, 2.5]), 0.3, seed=2)
    truth = dense_posteriors(responses == 1, responses >= 0, items, CAVITIES, 1_001)
    guess = Cavity(np.full(5, mean), np.full(5, variance))
    found, _ = windowed_posterior(response_block(responses), items, CAVITIES, SCORING, guess)
    assert_moments(found, truth, CLOSE[SCORING])


FUNCTIONS = [np.ones_like, lambda x: x, np.square, lambda x: expit(1.2 * x - 0.4)]


def test_the_deposited_histogram_has_the_posteriors_own_expectations(
    random_items, shared_posterior, dense_posteriors
):
    items = random_items(30, seed=5)
    responses = answers_of(items, np.array([0.0, 0.0, 0.5, -2.0, 2.5]))
    found, grid = shared_posterior(responses, items, CAVITIES, SCORING)
    truth = dense_posteriors(responses, np.ones_like(responses), items, CAVITIES)
    for function in FUNCTIONS:
        deposited = found.density @ function(grid.points)
        expected = sum(one.expectation(function) for one in truth)
        np.testing.assert_allclose(deposited, expected, rtol=CLOSE[SCORING])
    np.testing.assert_allclose(found.density @ grid.points, found.mean.sum(), rtol=1e-12)
    second = (found.variance + found.mean**2).sum()
    np.testing.assert_allclose(found.density @ grid.points**2, second, rtol=1e-12)


def test_the_windowed_histograms_have_the_posteriors_own_expectations(
    random_items, windowed_posterior, dense_posteriors, columns_of
):
    items = random_items(30, seed=5)
    responses = scattered(items, np.array([0.0, 0.0, 0.5, -2.0, 2.5]), 0.4, seed=3)
    block = response_block(responses)
    found, grid = windowed_posterior(block, items, CAVITIES, SCORING)
    truth = dense_posteriors(responses == 1, responses >= 0, items, CAVITIES)
    statistics = item_statistics(block, found, grid)
    for function in FUNCTIONS:
        by_model = np.array([one.expectation(function) for one in truth])
        expected = by_model @ (responses >= 0)
        deposited = function(grid.points) @ statistics.histogram
        np.testing.assert_allclose(deposited, expected, rtol=CLOSE[SCORING])
    expected = columns_of(truth, "mean") @ (responses == 1)
    np.testing.assert_allclose(statistics.products, expected, rtol=0, atol=5 * CLOSE[SCORING])


def test_repeated_trials_weigh_the_histograms(windowed_posterior, dense_posteriors):
    items = Items.plain(np.array([1.0, 0.7]), np.array([0.0, -1.0]))
    cavity = Cavity(np.array([0.0, 0.3]), np.array([1.0, 0.6]))
    trials = np.array([[3, 5], [1, 0]], np.int16)
    right = np.array([[1, 4], [1, -1]], np.int16)
    block = response_block(right, trials)
    found, grid = windowed_posterior(block, items, cavity, SCORING, attempts=5.0)
    truth = dense_posteriors(np.maximum(right, 0), trials, items, cavity)
    statistics = item_statistics(block, found, grid)
    np.testing.assert_allclose(statistics.histogram.sum(axis=0), [4.0, 5.0], rtol=1e-12)
    score = np.array([one.expectation(FUNCTIONS[-1]) for one in truth])
    deposited = FUNCTIONS[-1](grid.points) @ statistics.histogram
    np.testing.assert_allclose(deposited, score @ trials, rtol=CLOSE[SCORING])


def integral(precision, shift, mean, variance):
    """log of the integral of N(theta; mean, variance) exp(shift theta - precision theta^2/2)."""
    centre = (mean + variance * shift) / (1 + precision * variance)
    sd = np.sqrt(variance / (1 + precision * variance))

    def logarithm(x):
        normal = -0.5 * (x - mean) ** 2 / variance - 0.5 * np.log(2 * np.pi * variance)
        return normal + shift * x - 0.5 * precision * x**2

    top = logarithm(centre)
    value, _ = quad(
        lambda x: np.exp(logarithm(x) - top), centre - 12 * sd, centre + 12 * sd, epsabs=0
    )
    return np.log(value) + top


NORMAL_CASES = [
    (0.0, 0.0, 0.3, 1.0),
    (0.0, 1.5, -0.3, 2.0),
    (4.0, -3.0, 0.7, 0.5),
    (900.0, 1800.0, 0.0, 1.0),
    (2.0, 5.0, -4.0, 1e-3),
]


@pytest.mark.parametrize("case", NORMAL_CASES)
def test_the_integral_of_cavity_and_site(case):
    precision, shift, mean, variance = (np.array([value]) for value in case)
    found = log_gaussian_integral(precision, shift, Cavity(mean, variance))[0]
    np.testing.assert_allclose(found, integral(*case), rtol=1e-10, atol=1e-10)


def test_a_site_turns_its_cavity_into_the_posterior_and_keeps_the_normaliser():
    cavity = Cavity(np.array([0.2, -1.0]), np.array([1.0, 0.4]))
    posterior = Posterior(
        np.array([0.9, -1.3]), np.array([0.3, 0.05]), np.array([-4.0, -30.0]), np.zeros(0)
    )
    found = site(posterior, cavity)
    mean, variance = combined(cavity, found.precision, found.shift)
    np.testing.assert_allclose(mean, posterior.mean, rtol=1e-12)
    np.testing.assert_allclose(variance, posterior.variance, rtol=1e-12)
    for i, expected in enumerate(posterior.log_normaliser):
        case = found.precision[i], found.shift[i], cavity.mean[i], cavity.variance[i]
        assert abs(found.log_scale[i] + integral(*case) - expected) < 1e-9


def test_a_posterior_wider_than_its_cavity_by_rounding_gives_no_negative_precision():
    cavity = Cavity(np.zeros(1), np.ones(1))
    posterior = Posterior(np.zeros(1), np.array([1 + 1e-12]), np.zeros(1), np.zeros(0))
    assert site(posterior, cavity).precision[0] == 0.0


def test_a_cavity_part_is_the_rows_and_column_asked_for():
    cavity = Cavity(np.arange(6.0).reshape(3, 2), np.arange(6.0, 12.0).reshape(3, 2))
    part = cavity.part(np.array([2, 0]), 1)
    np.testing.assert_array_equal(part.mean, [5.0, 1.0])
    np.testing.assert_array_equal(part.variance, [11.0, 7.0])


def test_wrong_answers_to_harder_and_harder_items_lower_the_mode():
    # O04
    difficulty = np.array([2, 2.31013589, 2.61, 2.91, 3.1])
    expected = [-0.10829, -0.17838, -0.22618, -0.25963, -0.28606]
    responses = np.where(np.tri(5, dtype=bool), 0, -1).astype(np.int8)
    prior = Cavity(np.zeros(5), np.ones(5))
    found = mode_site(response_block(responses), Items.plain(np.ones(5), -difficulty), prior, 1e-12)
    mode, _ = combined(prior, found.precision, found.shift)
    np.testing.assert_allclose(mode, expected, atol=6e-6)


@pytest.mark.parametrize("steepness", [1.0, 8.0, 50.0])
def test_modes_of_any_items_are_the_dense_modes(steepness, random_items, dense_posteriors):
    slope, intercept, _ = random_items(40, seed=8)
    items = Items.plain(np.clip(slope * steepness, -50, 50), intercept * steepness)
    responses = scattered(items, np.array([0.0, 0.0, 0.5, -2.0, 2.5]), 0.3, seed=4)
    truth = dense_posteriors(responses == 1, responses >= 0, items, CAVITIES, 11)
    found = mode_site(response_block(responses), items, CAVITIES, 1e-12)
    mode, variance = combined(CAVITIES, found.precision, found.shift)
    np.testing.assert_allclose(mode, [one.mode for one in truth], rtol=1e-9, atol=1e-10)
    for i, one in enumerate(truth):
        there = responses[i] >= 0
        p = expit(items.slope * one.mode + items.intercept)
        information = (items.slope**2 * p * (1 - p))[there].sum()
        np.testing.assert_allclose(1 / variance[i] - 1 / CAVITIES.variance[i], information, 1e-6)


def test_a_model_without_answers_keeps_its_cavity():
    block = response_block(np.full((1, 3), -1, np.int8))
    cavity = Cavity(np.array([0.7]), np.array([0.3]))
    found = mode_site(block, Items.plain(np.ones(3), np.zeros(3)), cavity, 1e-12)
    assert isinstance(found, Site)
    np.testing.assert_array_equal([found.precision[0], found.shift[0]], [0.0, 0.0])


@pytest.mark.parametrize("moved", [0.0, 0.01, 2.0])
def test_a_finished_search_serves_under_another_cavity(moved, random_items, dense_posteriors):
    items = random_items(120, seed=9)
    responses = scattered(items, np.array([0.0, 0.0, 0.5, -2.0, 2.5]), 0.3, seed=2)
    block = response_block(responses)
    other = Cavity(CAVITIES.mean + moved, CAVITIES.variance / (1.0 + moved))
    grid = trait_grid([item_reach(items, 1.0)], [CAVITIES, other], SCORING)
    score = trait_score(block, items)

    def finished(search, cavity):
        evaluated = 0
        while search.unsettled:
            curves = asked_curves(block, items, grid, search)
            evaluated += curves.size
            search = search_windows(search, [score], [curves], cavity, grid, SCORING)
        return search, evaluated

    first, _ = finished(start_windows(CAVITIES, grid, SCORING), CAVITIES)
    known = [KnownCurves.of(first, keep) for keep in (True, False)]
    starts = [search_again(one, [score], other, grid, SCORING) for one in known]
    again, evaluated = finished(starts[0], other)
    if moved < 1.0:
        assert evaluated == 0
    truth = dense_posteriors(responses == 1, responses >= 0, items, other, 1_001)
    assert_moments(again.posterior, truth, CLOSE[SCORING])
    anew, evaluated = finished(starts[1], other)
    assert evaluated > 0
    for name in ("mean", "variance", "log_normaliser"):
        assert (getattr(anew.posterior, name) == getattr(again.posterior, name)).all()
