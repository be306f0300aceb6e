"""Standard errors of items, against whole matrices and the errors of fits to simulated data."""

import dask.array as da
import numpy as np
import pytest
from scipy.linalg import eigh
from scipy.special import expit

import mtlirt
from mtlirt.irt.curves import Grid, Items
from mtlirt.irt.items import covariance
from mtlirt.irt.observed import (
    LARGEST_SHARE,
    anchored_root,
    gathered,
    kept_positive,
    observed_covariance,
    pull,
    slope_likelihood,
    trait_uncertainty,
)
from mtlirt.irt.slopes import MEAN_VARIANCE, NO_PRIOR, SlopePosterior, SlopePrior

NODES = np.linspace(-6.0, 6.0, 121)
PRIOR = np.exp(-0.5 * NODES**2) / np.exp(-0.5 * NODES**2).sum()
GRID = Grid(-40, 81, 0.1)


def drawn(models, count, guessing=0.0, seed=0):
    rng = np.random.default_rng(seed)
    items = Items(
        rng.lognormal(0.2, 0.3, count), rng.normal(0.0, 0.8, count), np.full(count, guessing)
    )
    theta = rng.normal(size=models)
    p = guessing + (1 - guessing) * expit(theta[:, None] * items.slope + items.intercept)
    return items, (rng.random((models, count)) < p).astype(float)


def curves(items):
    """Of every item at every node: P, and the derivatives of log P and log(1 - P) by eta."""
    sigma = expit(NODES[:, None] * items.slope + items.intercept)
    p = items.guessing + (1 - items.guessing) * sigma
    slope = (1 - items.guessing) * sigma * (1 - sigma)
    return p, slope


def posteriors(items, responses, weight=None):
    p, _ = curves(items)
    weight = np.ones_like(responses) if weight is None else weight
    log = (weight * responses) @ np.log(p).T + (weight * (1 - responses)) @ np.log1p(-p).T
    density = PRIOR * np.exp(log - log.max(axis=1, keepdims=True))
    return density / density.sum(axis=1, keepdims=True)


def complete_information(items, density, weight):
    p, slope = curves(items)
    information = slope**2 / (p * (1 - p))
    mass = density.T @ weight
    return np.stack([(mass * information * NODES[:, None] ** k).sum(axis=0) for k in (2, 1, 0)], 1)


def diagonal_blocks(matrix):
    a, d = np.split(np.arange(len(matrix)), 2)
    return np.stack([matrix[a, a], matrix[a, d], matrix[d, d]], axis=1)


def blocks_of(entries):
    """A block-diagonal matrix from entries aa, ad, dd."""
    aa, ad, dd = (np.diag(part) for part in np.asarray(entries).T)
    return np.block([[aa, ad], [ad, dd]])


@pytest.mark.parametrize("guessing", [0.0, 0.2])
@pytest.mark.parametrize("missing", [0.0, 0.5])
def test_it_inverts_the_whole_information(guessing, missing):
    items, responses = drawn(600, 30, guessing)
    rng = np.random.default_rng(1)
    weight = (rng.random(responses.shape) >= missing) * rng.integers(1, 3, responses.shape)
    density = posteriors(items, responses, weight)
    mean = density @ NODES
    variance = density @ NODES**2 - mean**2
    noise, drift = (gathered(mean, variance[:, None] * weight**k, GRID) for k in (1, 2))
    others = rng.normal(size=40), np.full(40, 0.9), np.ones(40)
    sites = 1.0 / variance - 1.0, mean / variance
    traits = trait_uncertainty(
        (mean, variance, np.ones(len(mean))), *sites, others, GRID, noise, drift
    )
    information = complete_information(items, density, weight)
    prior = SlopePrior(1.0, 4.0)

    own, by_trait = pull(items, GRID, traits.variance)
    everyone = traits.factors[:, 1, 1, None]
    share = noise.sum(axis=0) / everyone.sum()
    beyond = (drift - share**2 * everyone) * by_trait**2
    theta = GRID.points[:, None]
    lost = (own * noise + beyond * np.stack([theta**2, theta, theta**0])).sum(axis=1)
    whole = blocks_of(information - lost.T)
    prior_covariance = np.eye(30) / prior.precision + MEAN_VARIANCE
    whole[:30, :30] += np.linalg.inv(prior_covariance)
    directions = np.kron(np.eye(2), (by_trait * share).T)
    root = anchored_root(traits)
    truth = np.linalg.inv(whole - directions @ root @ root.T @ directions.T)

    held = np.zeros(30, bool)
    got = observed_covariance(items, information, traits, root, GRID, prior, held)
    np.testing.assert_allclose(got, diagonal_blocks(truth), rtol=1e-8)
    held[4] = True
    assert not observed_covariance(items, information, traits, root, GRID, prior, held)[4].any()


def test_known_traits_leave_the_complete_information():
    items, responses = drawn(500, 12)
    theta = np.random.default_rng(2).normal(size=500)
    nothing = np.full(500, 1e-12)
    traits = trait_uncertainty(
        (theta, nothing, np.ones(500)), 1 / nothing, theta / nothing, (theta[:0],) * 3, GRID
    )
    information = complete_information(items, posteriors(items, responses), np.ones((500, 12)))
    held = np.zeros(12, bool)
    got = observed_covariance(
        items, information, traits, anchored_root(traits), GRID, NO_PRIOR, held
    )
    np.testing.assert_allclose(got, covariance(information, NO_PRIOR, held), rtol=1e-6)


def test_what_moves_the_mean_or_the_variance_of_the_traits_is_not_open():
    rng = np.random.default_rng(3)
    mean, variance = rng.normal(size=200), rng.uniform(0.05, 0.3, 200)
    nobody = (np.zeros(0),) * 3
    sites = 1e9 * np.ones(200), 1e9 * mean  # x = mean: the answers say nothing else
    traits = trait_uncertainty((mean, variance, np.ones(len(mean))), *sites, nobody, GRID)
    root = anchored_root(traits)
    shift = np.concatenate([np.zeros(GRID.count), np.ones(GRID.count)])
    scale = np.concatenate([np.ones(GRID.count), np.zeros(GRID.count)])
    free = np.zeros((2 * GRID.count, 2 * GRID.count))
    free[np.ix_(scale > 0, scale > 0)] = np.diag(traits.factors[:, 0, 0])
    free[np.ix_(shift > 0, shift > 0)] = np.diag(traits.factors[:, 1, 1])
    assert np.square(root.T @ shift).sum() < 1e-6 * (shift @ free @ shift)
    assert np.square(root.T @ scale).sum() < 0.1 * (scale @ free @ scale)


@pytest.mark.parametrize("size", [0.3, 0.97, 1.4, 30.0])
def test_no_direction_of_an_item_loses_more_than_the_limit(size):
    rng = np.random.default_rng(4)
    half = rng.normal(size=(2, 5, 2, 2))
    complete, lost = half @ half.transpose(0, 1, 3, 2)
    lost *= size

    def entries(matrices):
        return np.stack([matrices[:, 0, 0], matrices[:, 0, 1], matrices[:, 1, 1]])

    got = kept_positive(entries(complete), entries(lost))
    for k in range(5):
        left = np.array([[got[0, k], got[1, k]], [got[1, k], got[2, k]]])
        before = eigh(lost[k], complete[k], eigvals_only=True).max()
        after = eigh(complete[k] - left, complete[k], eigvals_only=True).max()
        assert after == pytest.approx(min(before, LARGEST_SHARE), rel=1e-9)


def test_what_is_told_of_slopes_is_the_posterior_over_the_prior():
    estimate, error, prior = np.array([0.4, 1.3, 2.0]), np.array([0.05, 0.2, 0.1]), (1.1, 12.0)
    variance = 1 / (1 / error + prior[1])
    mean = variance * (estimate / error + prior[1] * prior[0])
    slopes = SlopePosterior(mean, variance)
    known = slope_likelihood(slopes, variance, SlopePrior(*prior))
    np.testing.assert_allclose(known, [1 / error, estimate / error], rtol=1e-9)
    # the mode stays that of the posterior where less is known, up to the limit
    for share in (0.7, 1 - LARGEST_SHARE, 0.1):
        got = slope_likelihood(slopes, 1 / (share / error + prior[1]), SlopePrior(*prior))
        np.testing.assert_allclose(got.information, max(share, 1 - LARGEST_SHARE) / error)
        np.testing.assert_allclose(
            (got.shift + prior[1] * prior[0]) / (got.information + prior[1]), mean, rtol=1e-9
        )
    nothing = slope_likelihood(slopes, np.zeros(3), SlopePrior(*prior))
    np.testing.assert_array_equal(nothing, np.zeros((2, 3)))


@pytest.mark.parametrize(
    ("count", "log_slope", "lowest", "highest"),
    [(16, (0.0, 0.3), 0.935, 0.965), (10, (1.2, 0.5), 0.93, 0.985)],
)
def test_intervals_of_items_hold_the_truth_about_as_often_as_they_say(
    count, log_slope, lowest, highest
):
    """On a scale on which the drawn traits have mean 0 and variance 1, as those of a fit have."""
    rng = np.random.default_rng(5)
    models, domains = 400, 80
    slope = rng.lognormal(*log_slope, (domains, 1, count))
    intercept = slope * rng.normal(0.0, 0.8, (domains, 1, count))
    theta = rng.normal(size=(domains, models, 1))
    p = expit(theta * slope + intercept)
    drawn = (rng.random(p.shape) < p).astype(np.int8)
    fitted = mtlirt.fit(
        {f"d{k:02d}": da.from_array(block, chunks=-1) for k, block in enumerate(drawn)},
        estimator="separate",
    )
    mean, sd = theta.mean(axis=1, keepdims=True), theta.std(axis=1, keepdims=True)
    truths = {"slope": slope * sd, "intercept": intercept + slope * mean}
    for name, truth in truths.items():
        error = fitted.items[name].to_numpy() - truth.ravel()
        inside = abs(error) < 1.96 * fitted.items[f"{name}_se"].to_numpy()
        assert lowest < inside.mean() < highest
        assert (fitted.items[f"{name}_se"] >= fitted.items[f"{name}_variance"] ** 0.5 - 1e-9).all()
