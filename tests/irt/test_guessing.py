"""Items with a known lower asymptote, against brute force on P = c + (1 - c) sigma."""

import numpy as np
import pytest
from scipy.special import expit, logsumexp
from scipy.stats import binom

from mtlirt.irt import kernels
from mtlirt.irt.blocks import response_block
from mtlirt.irt.curves import (
    EDGES,
    FITTING,
    INTERVALS,
    SCORING,
    Grid,
    Items,
    guessing_gain,
    information_curve,
    item_reach,
    logit_information,
    probability,
)
from mtlirt.irt.items import (
    LIMIT,
    ItemStatistics,
    added_statistics,
    covariance,
    item_derivatives,
    item_statistics,
    newton_steps,
    update_items,
)
from mtlirt.irt.slopes import NO_PRIOR, SlopePrior
from mtlirt.irt.traits import (
    Cavity,
    Posterior,
    combined,
    masked_uncertainty,
    mode_site,
    score_variance,
    site,
    window_curves,
)
from mtlirt.irt.traits import Window as TraitWindow

GRID = Grid(-60, 121, 0.1)
PRIOR = SlopePrior(1.0, 8.0)
CAVITIES = Cavity(np.array([0.0, 0.0, 0.4, -1.5, 2.0]), np.array([1.0, 1.0, 0.5, 0.2, 1.3]))


def items_of(count, seed=0):
    """A quarter each of items with floors 0, .05, .25 and .5; a tenth have negative slopes."""
    rng = np.random.default_rng(seed)
    slope = np.exp(rng.normal(0, 0.3, count)) * np.where(rng.random(count) < 0.1, -1, 1)
    floors = np.resize([0.25, 0.0, 0.5, 0.05], count)
    return Items(slope, rng.normal(0.3, 1.2, count), floors)


def chance(theta, items):
    """P(correct), shape (thetas, items)."""
    eta = np.multiply.outer(theta, items.slope) + items.intercept
    return items.guessing + (1 - items.guessing) * expit(eta)


def logs(theta, items):
    """The logarithms of P = (c + e^eta)/(1 + e^eta) and of 1 - P, shape (2, thetas, items)."""
    eta = np.multiply.outer(theta, items.slope) + items.intercept
    with np.errstate(divide="ignore"):
        right = np.logaddexp(np.log(items.guessing), eta) - np.logaddexp(0.0, eta)
    return np.stack([right, np.log1p(-items.guessing) - np.logaddexp(0.0, eta)])


def log_likelihood(theta, right, attempts, items):
    """Of one model's counts at each theta: sum over items of y log P + (n - y) log(1 - P)."""
    log_right, log_wrong = logs(theta, items)
    return log_right @ right + log_wrong @ (attempts - right)


def answers(items, traits, missing=0.0, seed=0):
    rng = np.random.default_rng(seed)
    p = chance(traits, items)
    drawn = (rng.random(p.shape) < p).astype(np.int8)
    return np.where(rng.random(p.shape) < missing, -1, drawn).astype(np.int8)


def dense(right, attempts, items, mean, variance):
    """Mean, variance and log normaliser of a posterior on a dense grid; and the grid's density."""
    theta = np.linspace(-11, 11, 4_001)
    prior = -0.5 * (theta - mean) ** 2 / variance - 0.5 * np.log(2 * np.pi * variance)
    joint = log_likelihood(theta, right, attempts, items) + prior
    total = logsumexp(joint)
    weight = np.exp(joint - total)
    centre = weight @ theta
    spread = weight @ (theta - centre) ** 2
    return centre, spread, total + np.log(theta[1] - theta[0])


def fixed_part(right, attempts, items):
    """What `window_curves` leaves out: y d + (n - y) log(1 - c), summed over items."""
    return right @ items.intercept + (attempts - right) @ np.log1p(-items.guessing)


def test_probability_and_what_guessing_adds_to_a_success():
    theta, items = np.array([-900.0, -3.0, 0.2, 5.0, 900.0]), items_of(8)
    found = probability(theta[:, None], *items)
    np.testing.assert_allclose(found, chance(theta, items), rtol=1e-14)
    eta = theta[1:4, None] * items.slope + items.intercept
    gain = guessing_gain(eta, items.guessing)
    log_p = np.log(chance(theta[1:4], items))
    np.testing.assert_allclose(eta - np.logaddexp(0, eta) + gain, log_p, rtol=1e-12, atol=1e-14)
    # far below the floor it is log c - eta, far above it and without guessing nothing
    far = guessing_gain(np.array([-1e5, 1e5, -1e5]), np.array([0.25, 0.25, 0.0]))
    np.testing.assert_allclose(far, [np.log(0.25) + 1e5, 0.0, 0.0], atol=1e-300)


def test_information_is_the_squared_derivative_over_the_variance():
    theta, items = np.linspace(-4, 4, 9), items_of(8)
    p, e = chance(theta, items), 1e-4
    steps = [items._replace(intercept=items.intercept + step) for step in (e, -e)]
    slope = (chance(theta, steps[0]) - chance(theta, steps[1])) / (2 * e)
    found = logit_information(theta, items)
    np.testing.assert_allclose(found.weight, slope**2 / (p * (1 - p)), rtol=1e-6)
    eta = np.multiply.outer(theta, items.slope) + items.intercept
    np.testing.assert_allclose(found.guess, items.guessing * expit(-eta) / p, atol=1e-14)
    expected = (items.slope**2 * slope**2 / (p * (1 - p))).sum(axis=1)
    np.testing.assert_allclose(information_curve(theta, items), expected, rtol=1e-6)


def test_the_reach_bounds_pull_and_curvature_of_guessed_items():
    items, e = items_of(24, seed=1), 1e-4
    reach = item_reach(items, 1.0)

    for k, sign in [(k, sign) for k in range(9) for sign in (1, -1)]:
        theta, most = sign * EDGES[k], (reach.up if sign > 0 else reach.down)[k]
        at = np.array([theta])
        pull = sign * (logs(at + e, items) - logs(at - e, items)) / (2 * e)
        assert pull.max(axis=0).sum() <= most * (1 + 1e-6)
    inside = slice(1, -1)
    ends = INTERVALS[:-1][inside], INTERVALS[1:][inside]
    for low, high, bound in zip(*ends, reach.information[inside], strict=True):
        theta = np.linspace(low, high, 7)
        bend = (2 * logs(theta, items) - logs(theta + e, items) - logs(theta - e, items)) / e**2
        assert (bend.max(axis=0).sum(axis=1) <= bound + 1e-5).all()


@pytest.mark.parametrize("kind", ["int8", "trials", "fractions"])
def test_curves_on_windows_are_log_likelihoods(kind):
    items, rng = items_of(13), np.random.default_rng(2)
    right = rng.integers(-1, 2, (4, 13)).astype(np.int8)
    attempts = (right >= 0).astype(float)
    block = response_block(right)
    if kind == "trials":
        attempts = rng.integers(0, 5, (4, 13)).astype(float)
        right = np.minimum(rng.integers(0, 5, (4, 13)), attempts)
        block = response_block(right.astype(np.int16), attempts.astype(np.int16))
    if kind == "fractions":
        right = np.where(attempts > 0, rng.random((4, 13)).round(2), 0)
        block = response_block(np.where(attempts > 0, right, np.nan).astype(np.float32))
    right = np.maximum(right, 0).astype(float)
    window = TraitWindow(np.array([3, 0, 50, 7]), np.array([2, 30, 7, 1]), np.array([5, 5, 9, 0]))
    found = window_curves(block, items, GRID, window)
    for i, (start, stride, nodes) in enumerate(zip(*window, strict=True)):
        theta = GRID.points[start : start + stride * nodes : stride]
        whole = log_likelihood(theta, right[i], attempts[i], items)
        linear = theta * (right[i] @ items.slope) + fixed_part(right[i], attempts[i], items)
        rtol = 1e-6 if kind == "fractions" else 1e-11  # float32 fractions
        np.testing.assert_allclose(found[i, :nodes], linear - whole, rtol=rtol, atol=1e-11)


@pytest.mark.parametrize(
    ("count", "missing"), [(1, 0.0), (6, 0.0), (60, 0.0), (60, 0.5), (300, 0.2)]
)
def test_posteriors_are_dense_integrals(count, missing, windowed_posterior):
    items = items_of(count, seed=count)
    given = answers(items, np.array([0.0, 0.0, 0.5, -2.0, 2.5]), missing, seed=count)
    given[0] = np.where(given[0] < 0, -1, 1)
    given[1] = np.where(given[1] < 0, -1, 0)
    right, attempts = np.maximum(given, 0).astype(float), (given >= 0).astype(float)
    rows = zip(right, attempts, *CAVITIES, strict=True)
    truth = np.array([dense(r, n, items, m, v) for r, n, m, v in rows])
    for quadrature, close in ((SCORING, 1e-7), (FITTING, 1e-4)):
        found, _ = windowed_posterior(response_block(given), items, CAVITIES, quadrature)
        fixed = [fixed_part(r, n, items) for r, n in zip(right, attempts, strict=True)]
        np.testing.assert_allclose((found.mean - truth[:, 0]) / np.sqrt(truth[:, 1]), 0, atol=close)
        np.testing.assert_allclose(found.variance, truth[:, 1], rtol=close)
        np.testing.assert_allclose(found.log_normaliser + fixed, truth[:, 2], atol=close)


def test_a_posterior_wider_than_its_cavity_keeps_its_mean():
    # a right answer to a hard item that may be guessed widens what one knows
    items = Items(np.ones(1), np.array([-4.0]), np.array([0.25]))
    cavity = Cavity(np.zeros(1), np.ones(1))
    mean, variance, log_normaliser = dense(np.ones(1), np.ones(1), items, 0.0, 1.0)
    assert variance > 1.05
    posterior = Posterior(*(np.array([x]) for x in (mean, variance, log_normaliser)), np.zeros(0))
    found = site(posterior, cavity)
    assert found.precision[0] == 0.0
    np.testing.assert_allclose(combined(cavity, found.precision, found.shift)[0], mean, rtol=1e-12)


def test_statistics_hold_the_successes_of_each_grid_point(windowed_posterior):
    items = items_of(20)
    given = answers(items, np.array([0.0, 0.0, 0.5, -2.0, 2.5]), 0.3)
    block = response_block(given)
    found, grid = windowed_posterior(block, items, CAVITIES, SCORING)
    statistics = item_statistics(block, found, grid, guessed=True)
    spread = np.zeros((5, grid.count))
    for i, (start, stride, nodes) in enumerate(zip(*found.window, strict=True)):
        spread[i, start : start + stride * nodes : stride] = found.density[i, :nodes]
    np.testing.assert_allclose(statistics.correct, spread.T @ (given == 1), atol=1e-14)
    np.testing.assert_allclose(statistics.histogram, spread.T @ (given >= 0), atol=1e-14)
    assert item_statistics(block, found, grid).correct is None
    whole = added_statistics([statistics, statistics])
    np.testing.assert_allclose(whole.correct, 2 * statistics.correct)


def population(items, models=300, seed=3):
    """Expected statistics of models N(0, 1), known up to .3, that answered four items of five."""
    rng = np.random.default_rng(seed)
    traits = rng.normal(size=models)
    given = answers(items, traits, 0.2, seed)
    weight = np.exp(-0.5 * ((GRID.points[:, None] - traits) / 0.3) ** 2)
    weight /= weight.sum(axis=0)
    attempts, correct = weight @ (given >= 0), weight @ (given == 1)
    return ItemStatistics(GRID.points @ correct, attempts, correct), (given == 1).sum(axis=0)


def objective(items, statistics, prior=NO_PRIOR):
    """Expected log-likelihood plus log prior, item by item."""
    log_right, log_wrong = logs(GRID.points, items)
    wrong = statistics.histogram - statistics.correct
    whole = (statistics.correct * log_right + wrong * log_wrong).sum(axis=0)
    return whole - 0.5 * prior.precision * (items.slope - prior.mean) ** 2


def test_derivatives_are_finite_differences_and_information_their_expectation():
    items, e = items_of(12), 1e-4
    statistics, successes = population(items)
    found = item_derivatives(statistics, successes.astype(float), items, GRID)

    def moved(a, d):
        return items._replace(slope=items.slope + a, intercept=items.intercept + d)

    def difference(value, a, d):
        return (value(moved(a, d)) - value(moved(-a, -d))) / (2 * e)

    def value(changed):
        return objective(changed, statistics)

    gradient = np.stack([difference(value, e, 0), difference(value, 0, e)], axis=1)
    np.testing.assert_allclose(found.gradient, gradient, rtol=1e-6, atol=1e-6)

    def slopes(changed):
        return item_derivatives(statistics, successes.astype(float), changed, GRID).gradient

    by_a, by_d = difference(slopes, e, 0), difference(slopes, 0, e)
    bend = -np.stack([by_a[:, 0], by_a[:, 1], by_d[:, 1]], axis=1)
    np.testing.assert_allclose(found.curvature, bend, rtol=1e-6, atol=1e-5)
    weight = statistics.histogram * logit_information(GRID.points, items).weight
    theta = GRID.points
    expected = np.stack([theta**2 @ weight, theta @ weight, weight.sum(axis=0)], axis=1)
    np.testing.assert_allclose(found.information, expected, rtol=1e-11, atol=1e-12)


def test_derivatives_without_guessing_are_the_two_parameter_models():
    items = items_of(12)._replace(guessing=np.zeros(12))
    statistics, successes = population(items)
    plain = item_derivatives(statistics._replace(correct=None), successes, items, GRID)
    np.testing.assert_array_equal(plain.information, plain.curvature)
    by_intercept, by_slope, *entries = kernels.guessed_item_sums(
        *statistics[1:], GRID.first, GRID.step, *items
    )
    gradient = np.stack([by_slope, by_intercept], axis=1)
    np.testing.assert_allclose(gradient, plain.gradient, rtol=1e-12, atol=1e-10)
    for three in (entries[:3], entries[3:]):
        np.testing.assert_allclose(np.stack(three[::-1], 1), plain.information, rtol=1e-12)


def test_items_with_guessing_need_the_histogram_of_successes():
    items = items_of(4)
    statistics, successes = population(items)
    with pytest.raises(ValueError, match="need the histogram of successes"):
        item_derivatives(statistics._replace(correct=None), successes, items, GRID)


@pytest.mark.parametrize("start", [(1.0, 0.0), (0.0, 0.0), (-4.0, 3.0), (12.0, 0.0), (1.0, -8.0)])
def test_steps_rise_to_a_maximum_from_bad_starts(start):
    items = items_of(40, seed=4)
    statistics, successes = population(items)
    held = np.arange(40) == 7
    now = items._replace(slope=np.full(40, start[0]), intercept=np.full(40, start[1]))
    value = objective(now, statistics, PRIOR)
    for _ in range(40):
        before = now
        now = update_items([statistics], successes, now, held, PRIOR, GRID).items
        after = objective(now, statistics, PRIOR)
        assert (after >= value - 1e-7 * np.abs(value)).all()
        value = after
    assert (now.slope[7], now.intercept[7]) == start
    np.testing.assert_array_equal(now.guessing, items.guessing)
    inside = ~held & (np.abs(now.intercept) < LIMIT)
    assert inside.sum() >= 38
    np.testing.assert_allclose(now.slope[inside], before.slope[inside], atol=1e-4)
    np.testing.assert_allclose(now.intercept[inside], before.intercept[inside], atol=1e-4)
    gradient = item_derivatives(statistics, successes, now, GRID).gradient[inside]
    gradient[:, 0] -= PRIOR.precision * (now.slope[inside] - PRIOR.mean)
    np.testing.assert_allclose(gradient, 0.0, atol=1e-3)


def test_a_step_where_more_curved_than_expected_ends_at_the_top_of_the_parabola():
    items = items_of(12)
    statistics, successes = population(items)
    found = item_derivatives(statistics, successes, items, GRID)
    bent = found._replace(curvature=4.0 * found.information)
    held = np.zeros(12, bool)
    full = newton_steps(found._replace(curvature=found.information), items, held, NO_PRIOR)
    short = newton_steps(bent, items, held, NO_PRIOR)
    np.testing.assert_allclose(short, np.array(full) / 4.0, rtol=1e-12)


def test_an_item_that_fewer_pass_than_guess_says_nothing():
    items = Items(np.ones(1), np.zeros(1), np.array([0.25]))
    weight = np.exp(-0.5 * GRID.points**2)
    attempts = (500 * weight / weight.sum())[:, None]
    correct = 0.2 * attempts
    statistics = ItemStatistics(GRID.points @ correct, attempts, correct)
    held = np.zeros(1, bool)
    for _ in range(6):
        update = update_items([statistics], correct.sum(axis=0), items, held, PRIOR, GRID)
        items = update.items
    assert chance(np.array([3.0]), items)[0, 0] < 0.2501
    spread = covariance(update.information, PRIOR, held)
    np.testing.assert_array_equal(spread[0, 1:], 0.0)
    noise, drift = score_variance(items, spread, GRID)
    assert (noise + drift).max() < 1e-3


def test_modes_are_stationary_points_and_near_the_dense_ones():
    items = items_of(60, seed=6)
    given = answers(items, np.array([0.0, 0.0, 0.5, -2.0, 2.5]), 0.3, seed=6)
    given[0] = np.where(given[0] < 0, -1, 1)
    found = mode_site(response_block(given), items, CAVITIES, 1e-12)
    mode, variance = combined(CAVITIES, found.precision, found.shift)
    theta = np.linspace(-5, 5, 20_001)
    for i, (mean, prior) in enumerate(zip(*CAVITIES, strict=True)):
        right, attempts = np.maximum(given[i], 0), (given[i] >= 0).astype(float)
        joint = log_likelihood(theta, right, attempts, items) - 0.5 * (theta - mean) ** 2 / prior
        assert abs(mode[i] - theta[joint.argmax()]) < 3e-4
        information = logit_information(mode[[i]], items).weight[0] @ (attempts * items.slope**2)
        np.testing.assert_allclose(1 / variance[i], information + 1 / prior, rtol=1e-7)


@pytest.mark.parametrize("easy", [1, 3, 10])
def test_contradictory_answers_have_a_mode_nonetheless(easy):
    # hard items passed, easy ones failed: two modes, where Newton's plain steps may circle
    slope = np.full(40 + easy, 4.0)
    intercept = np.repeat([-14.0, 6.0], [40, easy])
    items = Items(slope, intercept, np.full(40 + easy, 0.25))
    given = np.repeat([1, 0], [40, easy]).astype(np.int8)[None, :]
    for mean in (-3.0, 0.0, 2.0, 5.0):
        cavity, e = Cavity(np.array([mean]), np.ones(1)), 1e-4
        found = mode_site(response_block(given), items, cavity, 1e-12)
        mode = combined(cavity, found.precision, found.shift)[0]

        def value(theta, mean=mean):
            whole = log_likelihood(theta, given[0], np.ones(40 + easy), items)
            return whole - 0.5 * (theta - mean) ** 2

        assert abs(value(mode + e) - value(mode - e))[0] / (2 * e) < 1e-3
        assert value(mode) > max(value(mode + 0.01), value(mode - 0.01))


def test_the_scores_variance_is_the_delta_methods_averaged_over_answers():
    items = Items(np.array([1.3, -0.7, 2.0]), np.array([0.4, 0.9, -1.5]), np.array([0.25, 0, 0.5]))
    spread = np.array([[0.04, 0.01, 0.05], [0.02, -0.01, 0.03], [0.3, -0.2, 0.4]])
    grid, e, attempts = Grid(-40, 81, 0.1), 1e-5, 3
    noise, drift = score_variance(items, spread, grid)

    def score(y, a, d, c, theta):
        """Derivative of y log P + (n - y) log(1 - P) by theta."""
        s = expit(a * theta + d)
        p = c + (1 - c) * s
        return a * (1 - c) * s * (1 - s) * (y / p - (attempts - y) / (1 - p))

    for k in (0, 20, 40, 65, 80):
        theta, p = grid.points[k], chance(grid.points[[k]], items)[0]
        for j, (a, d, c) in enumerate(zip(*items, strict=True)):
            aa, ad, dd = spread[j]
            total = 0.0
            for y in range(attempts + 1):
                by_a = score(y, a + e, d, c, theta) - score(y, a - e, d, c, theta)
                by_d = score(y, a, d + e, c, theta) - score(y, a, d - e, c, theta)
                square = by_a**2 * aa + 2 * by_a * by_d * ad + by_d**2 * dd
                total += binom.pmf(y, attempts, p[j]) * square / (2 * e) ** 2
            expected = attempts * noise[k, j] + attempts**2 * drift[k, j]
            np.testing.assert_allclose(expected, total, rtol=1e-6)
    block = response_block(np.array([[2, 0, 1]], np.int16), np.full((1, 3), attempts, np.int16))
    found = masked_uncertainty(block, items, spread, grid.points[[65]], grid)
    whole = (attempts * noise + attempts**2 * drift)[65].sum()
    np.testing.assert_allclose(found, whole, rtol=1e-9)
