"""Public faults of leaderboards: false certainty, unresolved ranks, partial coverage."""

import numpy as np
import pandas as pd
import pytest
from scipy.special import expit

import mtlirt


def tidy_fit(blocks, **options):
    """Fit models x items blocks by domain; models are m000, m001, ..."""
    parts = []
    for name, block in blocks.items():
        rows, columns = np.nonzero(block >= 0)
        parts.append(
            pd.DataFrame(
                {
                    "model_id": [f"m{i:03d}" for i in rows],
                    "item_id": [f"{name}-{j}" for j in columns],
                    "domain": name,
                    "correct": block[rows, columns],
                }
            )
        )
    return mtlirt.fit(mtlirt.from_tidy(pd.concat(parts)), threads=1, **options)


def drawn(traits, slope, intercept, seed):
    rng = np.random.default_rng(seed)
    p = expit(np.multiply.outer(traits, slope) + intercept)
    return (rng.random(p.shape) < p).astype(np.int8)


def test_no_score_is_certain_not_even_that_of_a_perfect_model():
    # O17: 14 of 307 right, and 307 of 307
    rng = np.random.default_rng(0)
    block = drawn(rng.normal(size=60), np.ones(307), rng.normal(size=307), 1)
    block[0] = np.arange(307) < 14
    block[1] = 1
    block[2] = 0
    fit = tidy_fit({"d": block})
    assert (fit.traits["sd"] > 0).all()
    assert (fit.models["overall_sd"] > 0).all()
    passed = mtlirt.domain_accuracies(fit)
    assert (passed["accuracy_sd"] > 0).all()
    assert (passed["upper"] > passed["lower"]).all()
    assert passed.loc[("m001", "d"), "upper"] < 1.0


def test_neighbours_that_cannot_be_told_apart_are_not_ranked_strictly():
    # O22: two models alike, a third with one more right
    rng = np.random.default_rng(3)
    block = drawn(np.linspace(-2.5, -0.5, 40), np.ones(40), rng.normal(size=40), 4)
    block[0] = np.arange(40) < 34
    block[1] = block[0]
    block[2] = np.arange(40) < 35
    fit = tidy_fit({"d": block})
    board = mtlirt.leaderboard(fit)
    three = ["m000", "m001", "m002"]
    assert set(board.index[:3]) == set(three)
    pair = board.loc[["m000", "m001"]]
    assert pair["overall"].max() - pair["overall"].min() < 1e-9
    for column in ("rank", "rank_lower", "rank_upper", "tie_group"):
        assert pair[column].nunique() == 1
    assert board.loc["m002", ["rank", "rank_lower", "rank_upper"]].tolist() == [1, 1, 3]
    assert board.loc[three, "tie_group"].tolist() == [1, 1, 1]
    assert board.loc["m002", "lower"] < board.loc["m000", "upper"]
    better = mtlirt.better(fit, three)
    assert better.loc["m000", "m001"] == 0.5
    assert 0.5 < better.loc["m002", "m000"] < 0.8
    rows = rng.permutation(40)
    shuffled = tidy_fit({"d": block[rows]})
    names = {f"m{new:03d}": f"m{old:03d}" for new, old in enumerate(rows)}
    again = mtlirt.leaderboard(shuffled).rename(index=names).loc[board.index]
    for column in ("rank", "rank_lower", "rank_upper", "tie_group"):
        assert (again[column] == board[column]).all()


def test_a_model_that_answered_the_easy_items_alone_is_not_overrated():
    # O23: 50 of 200 models answer only the 100 easiest of 300 items
    rng = np.random.default_rng(6)
    traits = rng.normal(size=200)
    slope, intercept = rng.lognormal(0, 0.3, 300), np.sort(rng.normal(0, 1.5, 300))[::-1]
    block = drawn(traits, slope, intercept, 7)
    block[:50, 100:] = -1
    fit = tidy_fit({"d": block})
    found = fit.traits["mean"].to_numpy()
    scale = (traits - traits.mean()) / traits.std()
    assert abs((found[:50] - scale[:50]).mean()) < 0.1
    raw = np.where(block >= 0, block, np.nan)
    assert np.nanmean(raw[:50]) > np.nanmean(raw[50:]) + 0.15
    board = mtlirt.leaderboard(fit)
    assert (board.loc[[f"m{i:03d}" for i in range(50)], "answered"] == 100).all()
    assert (board["known"] == 300).all()
    passed = mtlirt.domain_accuracies(fit)["accuracy"].to_numpy()
    truth = expit(np.multiply.outer(traits, slope) + intercept).mean(axis=1)
    assert abs((passed[:50] - truth[:50]).mean()) < 0.03
    assert np.corrcoef(passed, truth)[0, 1] > 0.97


@pytest.mark.parametrize("by", ["overall", "general", "accuracy"])
def test_a_definition_orders_the_board(by):
    rng = np.random.default_rng(8)
    traits = rng.normal(size=50)
    blocks = {
        name: drawn(traits, np.ones(30), rng.normal(size=30), k) for k, name in enumerate("abc")
    }
    fit = tidy_fit(blocks)
    board = mtlirt.leaderboard(fit, by=by)
    mean, sd = mtlirt.scores.overall.overall_scores(fit, by)
    assert board["overall"].equals(mean[board.index].rename("overall"))
    assert board["overall"].is_monotonic_decreasing
    np.testing.assert_allclose(
        board["upper"] - board["lower"], 2 * 1.95996 * sd[board.index], rtol=1e-5
    )
