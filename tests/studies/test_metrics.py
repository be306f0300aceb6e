"""Metrics against closed forms and SciPy."""

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from scipy.stats import kendalltau, norm, rankdata

from mtlirt.studies.metrics import agreement, intervals, standardised


def at_angle(degrees, models=40):
    """Two vectors at an angle, centred, of norm sqrt(models)."""
    rng = np.random.default_rng(0)
    basis = np.linalg.qr(np.column_stack([np.ones(models), rng.normal(size=(models, 2))])).Q
    angle = np.radians(degrees)
    root = np.sqrt(models)
    return basis[:, 1] * root, root * (np.cos(angle) * basis[:, 1] + np.sin(angle) * basis[:, 2])


@pytest.mark.parametrize("degrees", [0, 1e-6, 10, 45, 90, 120, 180])
def test_sine_and_distance_are_those_of_the_angle(degrees):
    one, other = at_angle(degrees)
    found = agreement(one, other)
    angle = np.radians(degrees)
    assert found["sine"] == pytest.approx(np.sin(angle), rel=1e-6, abs=1e-12)
    assert found["distance"] == pytest.approx(2 * np.sin(angle / 2), rel=1e-6, abs=1e-12)


@settings(max_examples=20, deadline=None)
@given(
    shift=st.floats(-10, 10),
    scale=st.floats(0.1, 10),
    seed=st.integers(0, 100),
)
def test_neither_shift_nor_scale_matters(shift, scale, seed):
    one, other = np.random.default_rng(seed).normal(size=(2, 30))
    found = agreement(shift + scale * one, other)
    assert found == pytest.approx(agreement(one, other), abs=1e-9)


def test_ranks_with_ties_are_those_of_their_definitions():
    estimate = np.array([1.0, 2.0, 2.0, 3.0, 5.0, 4.0])
    truth = np.array([0.1, 0.4, 0.2, 0.5, 0.3, 0.9])
    found = agreement(estimate, truth)
    ranks = np.corrcoef(rankdata(estimate), rankdata(truth))[0, 1]
    assert found["spearman"] == pytest.approx(ranks)
    concordant, discordant, tied = 11, 3, 1
    tau_b = (concordant - discordant) / np.sqrt(15 * (15 - tied))
    assert found["kendall"] == pytest.approx(tau_b)
    assert found["kendall"] == pytest.approx(kendalltau(estimate, truth).statistic)


def test_a_turned_estimate_has_no_sine_but_all_distance():
    one, _ = at_angle(0)
    assert agreement(-one, one) == pytest.approx(
        {"sine": 0, "distance": 2, "spearman": -1, "kendall": -1}
    )


@pytest.mark.parametrize("value", [0.0, 3.7])
def test_an_estimate_alike_for_all_models_says_nothing(value):
    truth = np.linspace(-1, 1, 20)
    found = agreement(np.full(20, value) + 1e-15 * truth, truth)
    assert found == {"sine": 1.0, "distance": 1.0, "spearman": 0.0, "kendall": 0.0}


def test_standardised_columns():
    values = np.column_stack([np.arange(5.0), np.full(5, 2.0)])
    found = standardised(values)
    np.testing.assert_allclose(found.mean(axis=0), 0, atol=1e-15)
    np.testing.assert_allclose(np.linalg.norm(found, axis=0), [np.sqrt(5), 0])
    np.testing.assert_allclose(standardised(values[:, 0]), found[:, 0])


def test_coverage_counts_intervals_that_hold_the_standardised_truth():
    truth = np.array([0.0, 10.0, 20.0, 30.0])  # standardised: -3, -1, 1, 3 over sqrt 5
    estimate = standardised(truth) + np.array([0.0, 0.97, -1.0, 0.2])
    found = intervals(estimate, np.array([0.1, 0.5, 0.5, 0.1]), truth)
    assert found["coverage"] == 0.5  # off by 0, 1.94, 2 and 2 standard deviations
    assert found["length"] == pytest.approx(2 * 1.96 * 0.3)


def test_coverage_of_calibrated_intervals_is_nominal():
    rng = np.random.default_rng(0)
    truth = standardised(rng.normal(size=200_000))
    found = intervals(truth + 0.3 * rng.normal(size=truth.size), np.full(truth.size, 0.3), truth)
    assert found["coverage"] == pytest.approx(norm.cdf(1.96) - norm.cdf(-1.96), abs=0.002)


def test_there_are_no_intervals_without_standard_deviations():
    assert intervals(np.zeros(3), np.full(3, np.nan), np.arange(3.0)) == {}
