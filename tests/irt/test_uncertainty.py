"""The items' own uncertainty in the traits, and ridges."""

import numpy as np
from scipy.special import expit

from mtlirt.irt.blocks import response_block
from mtlirt.irt.curves import Grid, Items
from mtlirt.irt.traits import (
    Cavity,
    combined,
    masked_uncertainty,
    score_variance,
    shared_uncertainty,
    widened,
)

GRID = Grid(-200, 401, 0.02)
ITEMS = Items.plain(np.array([1.3, -0.7, 2.0]), np.array([0.4, 0.9, -1.5]))
COVARIANCE = np.array([[0.04, 0.01, 0.05], [0.02, -0.01, 0.03], [0.3, -0.2, 0.4]])


def test_widening_adds_the_delta_methods_variance_and_keeps_the_place():
    precision, uncertainty = np.array([4.0, 0.25, 100.0]), np.array([0.5, 0.0, 3.0])
    shift = np.array([-2.0, 1.0, 30.0])
    wider, moved = widened(precision, shift, uncertainty)
    np.testing.assert_allclose(1 / wider, 1 / precision + uncertainty / precision**2, rtol=1e-13)
    np.testing.assert_allclose(moved / wider, shift / precision, rtol=1e-13)
    none = widened(np.zeros(2), np.zeros(2), np.array([0.0, 1.0]))
    np.testing.assert_array_equal(none, np.zeros((2, 2)))


def test_the_scores_variance_is_the_delta_methods_averaged_over_answers():
    found = sum(score_variance(ITEMS, COVARIANCE, GRID))
    for k in (0, 90, 200, 310, 400):
        theta = GRID.points[k]
        for j in range(3):
            aa, ad, dd = COVARIANCE[j]
            p = expit(ITEMS.slope[j] * theta + ITEMS.intercept[j])
            total = 0.0
            for y, chance in ((1, p), (0, 1 - p)):

                def score(a, d, y=y, theta=theta):
                    return a * (y - expit(a * theta + d))

                a, d, e = ITEMS.slope[j], ITEMS.intercept[j], 1e-5
                by_a = (score(a + e, d) - score(a - e, d)) / (2 * e)
                by_d = (score(a, d + e) - score(a, d - e)) / (2 * e)
                total += chance * (by_a**2 * aa + 2 * by_a * by_d * ad + by_d**2 * dd)
            np.testing.assert_allclose(found[k, j], total, rtol=1e-7)


def test_the_scores_variance_is_what_redrawn_items_give():
    rng = np.random.default_rng(1)
    small = COVARIANCE / 100
    found = sum(score_variance(ITEMS, small, GRID))
    for j in range(3):
        aa, ad, dd = small[j]
        mean = ITEMS.slope[j], ITEMS.intercept[j]
        a, d = rng.multivariate_normal(mean, [[aa, ad], [ad, dd]], 60_000).T
        for k in (100, 200, 280):
            theta = GRID.points[k]
            p = expit(mean[0] * theta + mean[1])
            scores = [a * (y - expit(a * theta + d)) for y in (0, 1)]
            drawn = (1 - p) * scores[0].var() + p * scores[1].var()
            np.testing.assert_allclose(found[k, j], drawn, rtol=0.03)


def test_uncertainty_sums_over_a_models_own_cells_and_over_chunks():
    mean = np.array([-1.7, 0.113, 2.4])
    fine = [
        np.interp(mean, GRID.points, column)
        for column in sum(score_variance(ITEMS, COVARIANCE, GRID)).T
    ]
    parts = [(ITEMS.columns(part), COVARIANCE[part]) for part in (slice(0, 1), slice(1, 3))]
    np.testing.assert_allclose(shared_uncertainty(parts, mean, GRID), np.sum(fine, 0), rtol=1e-12)
    responses = np.array([[1, -1, 0], [-1, -1, -1], [0, 0, 1]], np.int8)
    found = sum(
        masked_uncertainty(response_block(responses[:, part]), *pair, mean, GRID)
        for part, pair in zip((slice(0, 1), slice(1, 3)), parts, strict=True)
    )
    expected = (np.transpose(fine) * (responses >= 0)).sum(axis=1)
    np.testing.assert_allclose(found, expected, rtol=1e-12, atol=1e-15)


def test_a_ridge_is_a_site_without_shift():
    cavity = Cavity(np.array([0.7, -1.0, 0.2]), np.array([1.0, 0.3, 2.0]))
    precision = np.array([0.0, 2.0, 0.7])
    found = cavity.with_ridge(precision)
    mean, variance = combined(cavity, precision, np.zeros(3))
    np.testing.assert_allclose(found.mean, mean, rtol=1e-13)
    np.testing.assert_allclose(found.variance, variance, rtol=1e-13)
