"""Ranks, their intervals, and who cannot be told apart, against exact and simulated truths."""

import itertools

import numpy as np
import pytest
from scipy.stats import norm

from mtlirt.scores.ranks import probability_better, rank_intervals, ranks, tie_groups


def rank_distribution(mean, sd):
    """P(model i has rank k + 1), by integrating over its own score and enumerating the others."""
    models, x = len(mean), np.linspace(-12, 12, 20_001)
    out = np.zeros((models, models))
    for i in range(models):
        weight = norm.pdf(x, mean[i], sd[i]) * (x[1] - x[0])
        others = [j for j in range(models) if j != i]
        above = {j: norm.sf(x, mean[j], sd[j]) for j in others}
        for pattern in itertools.product([False, True], repeat=models - 1):
            chance = weight.copy()
            for j, better in zip(others, pattern, strict=True):
                chance *= above[j] if better else 1 - above[j]
            out[i, sum(pattern)] += chance.sum()
    return out


@pytest.mark.parametrize("level", [0.5, 0.9, 0.95])
def test_intervals_are_the_quantiles_of_the_exact_distribution(level):
    rng = np.random.default_rng(3)
    mean, sd = rng.normal(size=6), rng.uniform(0.2, 0.9, 6)
    exact = rank_distribution(mean, sd).cumsum(axis=1)
    np.testing.assert_allclose(exact[:, -1], 1, atol=1e-6)
    found = rank_intervals(mean, sd, level, seed=0)
    tail, error = 0.5 * (1 - level), 3 * np.sqrt(0.25 / 1000)
    for i in range(6):
        own = ranks(mean)[i]
        low, high = (
            {int((exact[i] < share + side).sum()) + 1 for side in (-error, error)}
            for share in (tail, 1 - tail)
        )
        assert min(low) <= found.low[i] <= max(*low, 1)
        assert found.low[i] <= own <= found.high[i]
        assert min(high) <= found.high[i] <= max(*high, own)


def test_intervals_hold_the_true_ranks_as_often_as_they_say():
    rng = np.random.default_rng(1)
    held, models = [], 40
    for _ in range(150):
        truth = rng.normal(size=models)
        sd = rng.uniform(0.1, 0.5, models)
        shrink = 1 / (1 + sd**2)
        mean = shrink * (truth + sd * rng.normal(size=models))
        low, high = rank_intervals(mean, sd * np.sqrt(shrink), 0.95, seed=0)
        right = ranks(truth)
        held.append(((low <= right) & (right <= high)).mean())
    assert np.mean(held) >= 0.94


def test_equal_posteriors_have_equal_intervals_in_whatever_order_they_come():
    rng = np.random.default_rng(5)
    mean = np.round(rng.normal(size=50), 1)
    sd = np.full(50, 0.3)
    low, high = rank_intervals(mean, sd, 0.95, seed=7)
    for value in np.unique(mean):
        same = mean == value
        assert len(set(low[same])) == len(set(high[same])) == 1
    turned = rng.permutation(50)
    again = rank_intervals(mean[turned], sd[turned], 0.95, seed=7)
    assert (again.low == low[turned]).all()
    assert (again.high == high[turned]).all()


def test_certain_scores_have_one_rank_and_a_seed_is_heard():
    mean = np.array([3.0, 1.0, 2.0])
    found = rank_intervals(mean, np.zeros(3), 0.95, seed=0)
    assert found.low.tolist() == found.high.tolist() == [1, 3, 2]
    rng = np.random.default_rng(0)
    many, sd = rng.normal(size=300), np.full(300, 0.5)
    first, same, other = (rank_intervals(many, sd, 0.95, seed=s) for s in (1, 1, 2))
    assert (first.low == same.low).all()
    assert (first.low != other.low).any()


def test_no_models_have_no_ranks():
    nothing = np.zeros(0)
    assert len(rank_intervals(nothing, nothing, 0.95, seed=0).low) == 0
    assert len(tie_groups(nothing, nothing, 0.95)) == 0


def test_the_probability_of_being_better():
    rng = np.random.default_rng(2)
    draws = rng.normal(0.4, 0.6, 400_000) > rng.normal(0.1, 0.3, 400_000)
    assert probability_better(0.4, 0.6, 0.1, 0.3) == pytest.approx(draws.mean(), abs=0.003)
    assert probability_better(0.2, 0.5, 0.2, 0.5) == 0.5
    assert probability_better(1.0, 0.0, 0.0, 0.0) == 1.0
    assert probability_better(0.0, 0.0, 1.0, 0.0) == 0.0
    assert probability_better(1.0, 0.0, 1.0, 0.0) == 0.5
    both = probability_better(0.4, 0.6, 0.1, 0.3) + probability_better(0.1, 0.3, 0.4, 0.6)
    assert both == pytest.approx(1.0)


def test_groups_end_at_the_first_model_that_their_best_one_beats():
    mean = np.array([0.0, 2.0, 1.9, 1.0, 0.95, -3.0])
    sd = np.full(6, 0.2)
    assert tie_groups(mean, sd, 0.95).tolist() == [3, 1, 1, 2, 2, 4]
    assert tie_groups(mean, np.full(6, 9.0), 0.95).tolist() == [1] * 6
    expected, best = [], None
    rng = np.random.default_rng(8)
    many, width = np.sort(rng.normal(size=200))[::-1], rng.uniform(0.02, 0.1, 200)
    for k in range(200):
        z = 1.959963984540054
        if best is None or many[best] - many[k] >= z * np.hypot(width[best], width[k]):
            best = k
            expected.append(expected[-1] + 1 if expected else 1)
        else:
            expected.append(expected[-1])
    assert tie_groups(many, width, 0.95).tolist() == expected


def test_as_many_groups_as_models_and_groups_of_many_models():
    mean = np.linspace(3, -3, 100_000)
    assert (tie_groups(mean, np.full(100_000, 1e-9), 0.95) == np.arange(1, 100_001)).all()
    assert tie_groups(mean, np.full(100_000, 0.3), 0.95).max() == 8
