"""Learned priors of the slopes against the marginal likelihood."""

import numpy as np
import pytest
from scipy.optimize import minimize
from scipy.stats import norm

from mtlirt.irt.slopes import (
    DEFAULT,
    DEFAULT_WEIGHT,
    MEAN_VARIANCE,
    POOL_WEIGHT,
    SlopeLikelihood,
    SlopePosterior,
    SlopePrior,
    learn_slope_priors,
    settled_slope_priors,
    widened,
)

START = SlopePrior(1.0, 1.0)


def posterior(estimate, error, prior):
    """Slopes whose responses say N(estimate, error) under a normal prior."""
    variance = 1 / (1 / error + prior.precision)
    return SlopePosterior(variance * (estimate / error + prior.precision * prior.mean), variance)


def settled(evidence, rounds=4000):
    """EM of the priors of some domains until nothing moves; also the last posteriors."""
    priors = [START] * len(evidence)
    for _ in range(rounds):
        slopes = [posterior(*part, prior) for part, prior in zip(evidence, priors, strict=True)]
        before, priors = priors, learn_slope_priors(slopes, priors)
        if np.allclose(before, priors, rtol=1e-13, atol=0):
            break
    return priors, slopes


def drawn(count, mean, sd, error, seed):
    rng = np.random.default_rng(seed)
    variance = np.full(count, error) * rng.uniform(0.5, 2, count)
    return rng.normal(rng.normal(mean, sd, count), np.sqrt(variance)), variance


def penalised(estimate, error, to_mean, to_variance, weight):
    """Marginal likelihood of the estimates, drawn to another prior; maximised by scipy."""

    def loss(x):
        mean, variance = x[0], np.exp(x[1])
        value = norm.logpdf(estimate, mean, np.sqrt(variance + error)).sum()
        value -= 0.5 * (mean - to_mean) ** 2 / MEAN_VARIANCE
        return -value + 0.5 * weight * (x[1] + to_variance / variance)

    options = {"xatol": 1e-9, "fatol": 1e-12, "maxiter": 4000}
    best = minimize(loss, [1.0, np.log(0.1)], method="Nelder-Mead", options=options).x
    return best[0], np.exp(best[1])


@pytest.mark.parametrize("sizes", [(60,), (60, 3, 25)])
def test_the_priors_maximise_the_penalised_marginal_likelihood(sizes):
    truths = [(1.2, 0.3), (0.7, 0.2), (1.5, 0.6)]
    evidence = [
        drawn(size, *truth, 0.05, seed)
        for seed, (size, truth) in enumerate(zip(sizes, truths, strict=False))
    ]
    priors, slopes = settled(evidence)
    # the pool as its documentation states it, from the slopes' posteriors
    mean, variance = (np.concatenate(column) for column in zip(*slopes, strict=True))
    pull = np.mean([1 / prior.precision for prior in priors]) / MEAN_VARIANCE
    pool_mean = (mean.sum() + pull * DEFAULT.mean) / (len(mean) + pull)
    squares = ((mean - pool_mean) ** 2 + variance).sum() + DEFAULT_WEIGHT / DEFAULT.precision
    pool_variance = squares / (len(mean) + DEFAULT_WEIGHT)
    for part, prior in zip(evidence, priors, strict=True):
        best = penalised(*part, pool_mean, pool_variance, POOL_WEIGHT)
        np.testing.assert_allclose((prior.mean, 1 / prior.precision), best, rtol=1e-4)


def test_many_items_outweigh_the_pool():
    evidence = [drawn(4000, 0.8, 0.25, 0.02, 3), drawn(4000, 1.6, 0.5, 0.02, 4)]
    for (estimate, error), prior in zip(evidence, settled(evidence)[0], strict=True):
        mean, variance = penalised(estimate, error, 1.0, 1.0, 0.0)
        assert abs(prior.mean - mean) < 2e-3
        assert abs(1 / prior.precision / variance - 1) < 0.02


def test_few_items_take_the_variance_of_the_pool():
    evidence = [drawn(5000, 1.0, 0.3, 0.01, 5), (np.array([1.4]), np.array([0.5]))]
    large, small = settled(evidence)[0]
    assert abs(small.precision / large.precision - 1) < 0.1
    assert large.mean < small.mean < 1.4


def test_slopes_that_noise_explains_leave_little_variance():
    rng = np.random.default_rng(6)
    error = np.full(400, 0.2)
    (prior,), _ = settled([(rng.normal(1.0, np.sqrt(error)), error)])
    assert 1 / prior.precision < 0.06  # 14 pseudo-items of variance 1.5 among 400 of none
    assert abs(prior.mean - 1.0) < 0.06


def test_a_domain_without_informative_items_gets_the_pool():
    nothing = np.zeros(0)
    evidence = [drawn(3000, 1.1, 0.3, 0.02, 7), (nothing, nothing)]
    full, empty = settled(evidence)[0]
    assert abs(empty.mean - full.mean) < 0.02
    assert abs(empty.precision / full.precision - 1) < 0.1


def test_how_slopes_spread_is_where_em_ends():
    evidence = [drawn(60, 1.2, 0.3, 0.05, 8), drawn(25, 0.7, 0.2, 0.05, 9)]
    told = [SlopeLikelihood(1 / error, estimate / error) for estimate, error in evidence]
    used = [SlopePrior(1.0, 20.0), SlopePrior(1.4, 30.0)]
    priors, default = used, SlopePrior(1.2, 24.0)  # the average mean and variance
    for _ in range(2000):
        slopes = [posterior(*part, prior) for part, prior in zip(evidence, priors, strict=True)]
        priors = learn_slope_priors(slopes, priors, default)
    np.testing.assert_allclose(settled_slope_priors(told, used), priors, rtol=1e-2)


def test_errors_under_too_narrow_a_prior_are_those_of_simulated_slopes():
    rng = np.random.default_rng(11)
    information = np.array([[6.0, 1.5], [1.5, 9.0]])
    used, spread = SlopePrior(1.0, 20.0), SlopePrior(1.0, 4.0)
    inverse = np.linalg.inv(information + np.diag([used.precision, 0.0]))
    entries = np.array([[inverse[0, 0], inverse[0, 1], inverse[1, 1]]])
    ((aa, ad, dd),) = widened(entries, used, spread)
    truth = rng.normal([spread.mean, 0.3], [spread.precision**-0.5, 1.0], (400_000, 2))
    noise = rng.multivariate_normal([0, 0], information, len(truth))
    told = truth @ information + noise + np.array([used.precision * used.mean, 0.0])
    error = told @ inverse - truth
    np.testing.assert_allclose([[aa, ad], [ad, dd]], np.cov(error.T), rtol=0.02, atol=0.001)
    np.testing.assert_array_equal(widened(entries, spread, used), entries)
