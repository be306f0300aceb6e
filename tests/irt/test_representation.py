"""The factor-analytic prior against dense multivariate normal algebra."""

import numpy as np
import pytest
from scipy.optimize import minimize
from scipy.stats import multivariate_normal

from mtlirt.irt.representation import (
    PRIOR_MODELS,
    PRIOR_UNIQUENESS,
    Representation,
    add_moments,
    canonical,
    composite_moments,
    equal_loadings,
    factor_moments,
    factor_posterior,
    independent,
    largest_rank,
    standardisation,
    standardised,
    update_representation,
)


def random_representation(domains, rank, seed=0):
    rng = np.random.default_rng(seed)
    loadings = rng.normal(0, 0.8 / np.sqrt(max(rank, 1)), (domains, rank))
    return Representation(rng.normal(0, 0.5, domains), loadings, rng.uniform(0.1, 0.9, domains))


def random_sites(models, domains, share_missing=0.3, seed=0):
    """Sites with missing domains; the first model took everything, the last nothing."""
    rng = np.random.default_rng(seed + 100)
    taken = rng.random((models, domains)) >= share_missing
    taken[0], taken[-1] = True, False
    precision = np.where(taken, rng.gamma(1.0, 5.0, taken.shape), 0.0)
    shift = np.where(taken, precision * rng.normal(0, 1, taken.shape), 0.0)
    return precision, shift, taken


class Joint:
    """One model's traits and factors under N(centre, Sigma) and its sites, by full matrices."""

    def __init__(self, precision, shift, representation):
        centre, loadings, _ = representation
        sigma = representation.covariance
        prior = np.linalg.inv(sigma)
        posterior = prior + np.diag(precision)
        pull = prior @ centre + shift
        self.covariance = np.linalg.inv(posterior)
        self.mean = self.covariance @ pull
        logdet = np.linalg.slogdet(sigma)[1] + np.linalg.slogdet(posterior)[1]
        self.log_integral = 0.5 * (pull @ self.mean - centre @ prior @ centre - logdet)
        regression = loadings.T @ prior
        self.factors = regression @ (self.mean - centre)
        within = np.eye(loadings.shape[1]) - regression @ loadings
        self.factor_covariance = within + regression @ self.covariance @ regression.T
        self.cross = self.covariance @ regression.T


RANKS = [0, 1, 2, 3]


@pytest.mark.parametrize("rank", RANKS)
def test_factors_cavities_and_integral_are_those_of_the_joint_normal(rank):
    representation = random_representation(7, rank)
    precision, shift, _ = random_sites(6, 7)
    found = factor_posterior(precision, shift, representation)
    total = 0.0
    for i in range(6):
        joint = Joint(precision[i], shift[i], representation)
        total += joint.log_integral
        np.testing.assert_allclose(found.factors[i], joint.factors, rtol=1e-10, atol=1e-12)
        np.testing.assert_allclose(
            found.factor_covariance[i], joint.factor_covariance, rtol=1e-10, atol=1e-12
        )
        for t in range(7):
            others = np.arange(7) != t
            alone = Joint(precision[i] * others, shift[i] * others, representation)
            np.testing.assert_allclose(found.cavity_mean[i, t], alone.mean[t], rtol=1e-10)
            np.testing.assert_allclose(
                found.cavity_variance[i, t], alone.covariance[t, t], rtol=1e-10
            )
    np.testing.assert_allclose(found.log_integral, total, rtol=1e-12)


def test_the_integral_is_the_marginal_density_of_gaussian_observations():
    representation = random_representation(4, 2, seed=3)
    noise, seen = np.array([0.3, 1.2, 0.05, 2.0]), np.array([0.4, -1.0, 0.2, 1.7])
    found = factor_posterior(1 / noise[None], (seen / noise)[None], representation).log_integral
    scales = -0.5 * (np.log(2 * np.pi * noise) + seen**2 / noise).sum()
    marginal = multivariate_normal(
        representation.centre, representation.covariance + np.diag(noise)
    )
    np.testing.assert_allclose(found + scales, marginal.logpdf(seen), rtol=1e-12)


def test_very_sharp_sites_of_many_domains_do_not_overflow():
    representation = random_representation(300, 2, seed=5)
    precision, shift = np.full((1, 300), 1e6), np.full((1, 300), 3e5)
    found = factor_posterior(precision, shift, representation)
    joint = Joint(precision[0], shift[0], representation)
    np.testing.assert_allclose(found.log_integral, joint.log_integral, rtol=1e-9)
    np.testing.assert_allclose(found.factors[0], joint.factors, rtol=1e-6)


@pytest.mark.parametrize("rank", RANKS)
def test_moments_are_sums_of_the_joint_posterior_over_takers(rank):
    representation = random_representation(5, rank, seed=1)
    precision, shift, taken = random_sites(8, 5)
    parts = [
        factor_moments(precision[rows], shift[rows], taken[rows], representation)
        for rows in (slice(0, 3), slice(3, 8))
    ]
    found = add_moments(parts)
    ff, tf, tt = np.zeros((5, 1 + rank, 1 + rank)), np.zeros((5, 1 + rank)), np.zeros(5)
    f, f2, total = np.zeros(rank), np.zeros((rank, rank)), 0.0
    for i in range(8):
        joint = Joint(precision[i], shift[i], representation)
        total += joint.log_integral
        z = np.concatenate([[1.0], joint.factors])
        spread = np.outer(z, z)
        spread[1:, 1:] += joint.factor_covariance
        if taken[i].any():  # a model without data says nothing of the factors
            f += joint.factors
            f2 += spread[1:, 1:]
        for t in np.flatnonzero(taken[i]):
            ff[t] += spread
            tf[t] += joint.mean[t] * z
            tf[t, 1:] += joint.cross[t]
            tt[t] += joint.mean[t] ** 2 + joint.covariance[t, t]
    for one, other in zip(found, (ff, tf, tt, f, f2, taken.any(axis=1).sum(), total), strict=True):
        np.testing.assert_allclose(one, other, rtol=1e-10, atol=1e-12)


def iterate(precision, shift, taken, representation, steps, weak_prior=False):
    """EM, which may never lower the log integral without a prior."""
    last = -np.inf
    for _ in range(steps):
        moments = factor_moments(precision, shift, taken, representation)
        if not weak_prior:
            assert moments.log_integral >= last - 1e-10 * abs(moments.log_integral)
        last = moments.log_integral
        representation = update_representation(moments, weak_prior)
    return representation, last


def drawn_sites(representation, models, precision, seed):
    """Sites of models drawn from the representation, observed with this precision."""
    rng = np.random.default_rng(seed)
    traits = rng.multivariate_normal(representation.centre, representation.covariance, models)
    tau = np.broadcast_to(precision, traits.shape).copy()
    return tau, tau * rng.normal(traits, 1 / np.sqrt(tau)), traits


def test_em_rises_to_the_maximum_likelihood_found_by_scipy():
    truth = Representation(
        np.array([0.3, -0.2, 0.0, 0.5]), np.array([[0.9], [0.7], [-0.6], [0.5]]), np.full(4, 0.4)
    )
    rng = np.random.default_rng(5)
    precision, shift, _ = drawn_sites(truth, 200, rng.gamma(4, 2, (200, 4)), seed=6)
    taken = rng.random((200, 4)) > 0.25
    precision, shift = precision * taken, shift * taken
    start = Representation(np.zeros(4), np.full((4, 1), 0.3), np.ones(4))
    found, value = iterate(precision, shift, taken, start, 1500)

    def unpack(x):
        return Representation(x[:4], np.ascontiguousarray(x[4:8, None]), np.exp(x[8:]))

    def loss(x):
        return -factor_posterior(precision, shift, unpack(x)).log_integral

    x = np.concatenate([np.zeros(4), [0.5, 0.5, -0.5, 0.5], np.log(np.full(4, 0.5))])
    options = {"ftol": 1e-14, "gtol": 1e-7}
    best = minimize(loss, x, method="L-BFGS-B", jac="3-point", options=options)
    assert abs(value + best.fun) < 1e-5
    peak = unpack(best.x)
    np.testing.assert_allclose(found.centre, peak.centre, atol=1e-3)
    np.testing.assert_allclose(found.covariance, peak.covariance, atol=2e-3)


@pytest.mark.parametrize("rank", [2, 3])
def test_em_with_missing_domains_rises_at_higher_ranks(rank):
    truth = random_representation(7, rank, seed=7)
    precision, shift, _ = drawn_sites(truth, 120, 8.0, seed=8)
    taken = np.random.default_rng(9).random(precision.shape) > 0.3
    start = random_representation(7, rank, seed=10)
    _, value = iterate(precision * taken, shift * taken, taken, start, 200)
    at_truth = factor_posterior(precision * taken, shift * taken, truth).log_integral
    assert value > at_truth


@pytest.mark.parametrize("weak_prior", [False, True])
def test_a_domain_that_only_strong_models_took_keeps_its_mean_over_all_models(weak_prior):
    truth = Representation(np.zeros(4), np.full((4, 1), 0.9), np.full(4, 0.19))
    precision, shift, traits = drawn_sites(truth, 6000, 30.0, seed=11)
    taken = np.ones(precision.shape, bool)
    seen = shift[:, :3].sum(axis=1) / precision[:, :3].sum(axis=1)
    taken[:, 3] = seen > np.quantile(seen, 0.62)
    strength = traits[taken[:, 3], 3].mean()
    assert 0.8 < strength < 1.1  # the takers are about 1 sd stronger than all models
    start = Representation(np.zeros(4), np.full((4, 1), 0.7), np.full(4, 0.5))
    found, _ = iterate(precision * taken, shift * taken, taken, start, 300, weak_prior)
    # Monte Carlo error of the centres: about .03
    np.testing.assert_allclose(found.centre, 0.0, atol=0.08)
    _, sd = standardisation(found)
    np.testing.assert_allclose(sd, 1.0, atol=0.06)
    np.testing.assert_allclose(standardised(found).loadings, 0.9, atol=0.04)


def test_the_weak_prior_keeps_uniquenesses_from_zero():
    # correlations .9 .9 .5 ask of the first domain a loading beyond 1: a Heywood case
    observed = np.array([[1.0, 0.9, 0.9], [0.9, 1.0, 0.5], [0.9, 0.5, 1.0]])
    models = 30
    rng = np.random.default_rng(12)
    traits = rng.normal(size=(models, 3))
    traits -= traits.mean(axis=0)
    white = traits @ np.linalg.inv(np.linalg.cholesky(np.cov(traits.T, bias=True))).T
    values, vectors = np.linalg.eigh(observed)
    seen = white @ (vectors * np.sqrt(np.maximum(values, 1e-3))).T
    precision = np.full(seen.shape, 200.0)
    taken = np.ones(seen.shape, bool)
    start = Representation(np.zeros(3), np.full((3, 1), 0.7), np.full(3, 0.5))
    free, _ = iterate(precision, precision * seen, taken, start, 500)
    guarded, _ = iterate(precision, precision * seen, taken, start, 500, weak_prior=True)
    share = guarded.uniqueness / np.diag(guarded.covariance)
    floor = PRIOR_MODELS * PRIOR_UNIQUENESS / (models + PRIOR_MODELS)
    assert (free.uniqueness / np.diag(free.covariance)).min() < 0.1 * floor
    assert share.min() >= floor * (1 - 1e-9)


def test_the_weak_prior_leaves_variances_alone_and_vanishes_with_many_models():
    truth = Representation(np.zeros(4), np.array([[0.9], [-0.7], [0.6], [0.5]]), np.full(4, 0.5))
    precision, shift, _ = drawn_sites(truth, 4000, 20.0, seed=14)
    taken = np.ones(precision.shape, bool)
    moments = factor_moments(precision, shift, taken, truth)
    free, guarded = update_representation(moments, False), update_representation(moments, True)
    np.testing.assert_allclose(np.diag(guarded.covariance), np.diag(free.covariance), rtol=1e-12)
    np.testing.assert_allclose(guarded.covariance, free.covariance, atol=2e-3)
    np.testing.assert_array_equal(guarded.centre, free.centre)


def test_separate_domains_need_no_factors():
    precision, shift, taken = random_sites(9, 3)
    found = update_representation(
        factor_moments(precision, shift, taken, independent(3)), weak_prior=True
    )
    assert found.loadings.shape == (3, 0)
    for t in range(3):
        there = taken[:, t]
        variance = 1 / (1 + precision[there, t])
        mean = variance * shift[there, t]
        np.testing.assert_allclose(found.centre[t], mean.mean(), rtol=1e-10)
        np.testing.assert_allclose(found.uniqueness[t], (mean.var() + variance.mean()), rtol=1e-10)


@pytest.mark.parametrize(("domains", "rank"), [(1, 0), (2, 1), (3, 1), (5, 2), (7, 3)])
def test_standardising_turns_the_covariance_into_the_correlation(domains, rank):
    representation = random_representation(domains, rank, seed=15)
    centre, sd = standardisation(representation)
    np.testing.assert_array_equal(centre, representation.centre)
    found = standardised(representation)
    np.testing.assert_array_equal(found.centre, 0.0)
    correlation = representation.covariance / np.outer(sd, sd)
    np.testing.assert_allclose(found.covariance, correlation, rtol=1e-12, atol=1e-12)
    np.testing.assert_allclose(np.diag(found.covariance), 1.0, rtol=1e-12)


@pytest.mark.parametrize("pair", [(0.9, 0.4), (-0.9, 0.4), (0.3, -0.8), (-0.5, -0.5), (0.0, 0.7)])
def test_equal_loadings_give_the_same_correlation(pair):
    found = equal_loadings(np.array([[pair[0]], [pair[1]]]))
    assert abs(abs(found[0, 0]) - abs(found[1, 0])) < 1e-15
    np.testing.assert_allclose(found[0, 0] * found[1, 0], pair[0] * pair[1], atol=1e-15)


def test_the_largest_rank_is_ledermanns_bound():
    published = {1: 0, 2: 1, 3: 1, 4: 1, 5: 2, 6: 3, 7: 3, 8: 4, 9: 5, 10: 6, 15: 10, 56: 45}
    for domains, rank in published.items():
        assert largest_rank(domains) == rank
        if domains > 2:  # as many covariances as loadings up to rotation and uniquenesses
            free = domains * (rank + 1) - rank * (rank - 1) // 2
            assert free <= domains * (domains + 1) // 2
            free = domains * (rank + 2) - (rank + 1) * rank // 2
            assert free > domains * (domains + 1) // 2


@pytest.mark.parametrize("rank", RANKS)
def test_the_canonical_rotation_leaves_the_covariance_alone(rank):
    representation = random_representation(8, rank, seed=16)
    found = canonical(representation)
    np.testing.assert_allclose(found.covariance, representation.covariance, atol=1e-13)
    assert found.rank == rank
    information = found.loadings.T @ (found.loadings / found.uniqueness[:, None])
    np.testing.assert_allclose(information, np.diag(np.diag(information)), atol=1e-12)
    assert (np.diff(np.diag(information)) <= 1e-12).all()
    assert (found.loadings.sum(axis=0) >= -1e-12).all()


def test_the_canonical_rotation_does_not_depend_on_the_one_it_starts_from():
    representation = random_representation(8, 3, seed=17)
    turn, _ = np.linalg.qr(np.random.default_rng(18).normal(size=(3, 3)))
    turned = representation._replace(loadings=representation.loadings @ turn)
    np.testing.assert_allclose(
        canonical(turned).loadings, canonical(representation).loadings, atol=1e-12
    )


@pytest.mark.parametrize("rank", RANKS)
def test_composites_have_the_moments_of_the_joint_posterior(rank):
    representation = random_representation(6, rank, seed=19)
    precision, shift, _ = random_sites(7, 6)
    weights = np.array([0.5, 0.2, 0.1, 0.1, 0.3, -0.2])
    mean, variance = composite_moments(precision, shift, representation, weights)
    for i in range(7):
        joint = Joint(precision[i], shift[i], representation)
        np.testing.assert_allclose(mean[i], weights @ joint.mean, rtol=1e-10, atol=1e-12)
        np.testing.assert_allclose(variance[i], weights @ joint.covariance @ weights, rtol=1e-10)
