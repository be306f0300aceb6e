"""Limits that were once crossed: far traits, many trials, separated items, tight tolerances."""

import itertools

import dask.array as da
import numpy as np
from scipy.special import expit, logsumexp

from mtlirt.engine.fit import fit
from mtlirt.irt.blocks import response_block
from mtlirt.irt.curves import SCORING, Items, item_reach, shared_curve, trait_grid
from mtlirt.irt.items import LIMIT
from mtlirt.irt.traits import Cavity, masked_uncertainty, shared_curve_posterior, trait_score

PRIOR = Cavity(np.zeros(1), np.ones(1))
LSAT7 = "12 19 1 7 3 19 3 17 10 5 3 7 7 23 8 28 7 39 11 34 14 51 15 90 6 25 7 35 18 136 32 308"


def test_a_trait_beyond_twelve_standard_deviations():
    # 20 items a = 3, b = 15, all right
    items = Items.plain(np.full(20, 3.0), np.full(20, -45.0))
    theta = np.linspace(10, 20, 200_001)
    value = 60 * theta - 0.5 * theta**2 - 20 * np.logaddexp(0, 3 * theta - 45)
    weight = np.exp(value - logsumexp(value))
    mean = weight @ theta
    grid = trait_grid([item_reach(items, 1.0)], [PRIOR], SCORING)
    score = trait_score(response_block(np.ones((1, 20), np.int8)), items)
    found = shared_curve_posterior([score], [shared_curve(items, grid)], PRIOR, grid, SCORING)
    assert abs(found.mean[0] - mean) < 1e-6
    assert abs(found.variance[0] / (weight @ (theta - mean) ** 2) - 1) < 1e-6


def test_repeated_trials_multiply_the_items_uncertainty():
    # n trials move the score by n a P(1-P) delta d: its variance grows as n^2
    items = Items.plain(np.array([1.3]), np.array([0.4]))
    covariance = np.array([[0.0, 0.0, 0.05]])  # only the intercept is uncertain
    cavity_mean = np.array([0.3])
    grid = trait_grid([item_reach(items, 40.0)], [PRIOR], SCORING)
    block = response_block(np.array([[22]], np.int16), np.array([[40]], np.int16))
    found = masked_uncertainty(block, items, covariance, cavity_mean, grid)
    p = expit(1.3 * 0.3 + 0.4)
    expected = (40 * 1.3 * p * (1 - p)) ** 2 * 0.05
    assert abs(found[0] / expected - 1) < 0.05


def test_learned_priors_keep_the_response_functions_of_lsat7():
    # O01: the largest gap in P over [-2, 2] is at most .03, the order of the slopes the same
    patterns = np.array(list(itertools.product([0, 1], repeat=5)), np.int8)
    answers = np.repeat(patterns, [int(n) for n in LSAT7.split()], axis=0)
    found = fit({"lsat7": da.from_array(answers)}, tolerance=1e-6)
    theta = np.linspace(-2, 2, 41)[:, None]
    p = expit(theta * found.items["slope"].to_numpy() + found.items["intercept"].to_numpy())
    slope = np.array([0.98793, 1.08088, 1.70580, 0.76519, 0.73580])
    published = expit(theta * slope + [1.85606, 0.80798, 1.80422, 0.48600, 1.85451])
    assert np.abs(p - published).max() <= 0.03
    assert list(np.argsort(found.items["slope"])) == list(np.argsort(slope))


def test_separated_items_stop_at_the_limit_and_are_flagged():
    rng = np.random.default_rng(49)
    theta = rng.normal(size=(8, 1))
    data = {"a": da.from_array((theta > rng.normal(size=12)).astype(np.int8))}
    found = fit(data, priors=False, max_rounds=150)
    assert np.abs(found.items[["slope", "intercept"]]).to_numpy().max() <= LIMIT
    assert found.items["at_limit"].any()


def two_domains():
    rng = np.random.default_rng(5)
    traits_ = rng.multivariate_normal(np.zeros(2), [[1.0, 0.8], [0.8, 1.0]], 300)
    parts = [(np.exp(rng.normal(0, 0.3, 15)), rng.normal(0.3, 1.2, 15)) for _ in range(2)]
    answers = [
        (rng.random((300, 15)) < expit(traits_[:, [t]] * a + d)).astype(np.int8)
        for t, (a, d) in enumerate(parts)
    ]
    answers[0][0], answers[1][0], answers[0][1], answers[1][1] = 1, 0, 1, 1
    return {f"d{t}": da.from_array(y) for t, y in enumerate(answers)}


def test_a_tight_tolerance_is_reached():
    found = fit(two_domains(), tolerance=1e-8, max_rounds=40)
    assert found.info["converged"]
