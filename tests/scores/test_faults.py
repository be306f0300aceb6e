"""Public faults of leaderboards: false certainty, unresolved ranks, partial coverage."""

import re

import numpy as np
import pandas as pd
import pytest
from scipy.special import expit

import mtlirt
from mtlirt.errors import InputError


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
    assert board[by].equals(mean[board.index].rename(by))
    assert board[by].is_monotonic_decreasing
    np.testing.assert_allclose(
        board["upper"] - board["lower"], 2 * 1.95996 * sd[board.index], rtol=1e-5
    )


@pytest.fixture(scope="module")
def small():
    rng = np.random.default_rng(9)
    traits = rng.normal(size=30)
    return tidy_fit(
        {name: drawn(traits, np.ones(15), np.zeros(15), k) for k, name in enumerate("ab")}
    )


@pytest.mark.parametrize(
    "level", [0, 1, -1, np.nan, np.inf, 1e-300, 1e-17, 1 - 1e-16, "0.9", None, [0.9], 1j]
)
def test_what_is_no_level_is_refused(small, level):
    for call in (mtlirt.leaderboard, mtlirt.domain_accuracies, mtlirt.result.Fit.predict):
        with pytest.raises(InputError, match="is not between 0 and 1"):
            call(small, level=level)


@pytest.mark.parametrize(
    ("options", "told"),
    [
        ({"by": None}, "by None is not one of"),
        ({"by": ["overall"]}, "is not one of"),
        ({"by": "general", "weights": "items"}, "by 'general' has no weights"),
        ({"by": "domain:a", "weights": {"a": 1, "b": 1}}, "by 'domain:a' has no weights"),
        ({"weights": None}, "weights None: expected equal, items, or domain -> weight"),
        (
            {"weights": pd.Series({"a": 1.0, "b": 2.0})},
            "expected equal, items, or domain -> weight",
        ),
        ({"weights": {"a": "1", "b": 1}}, "weight '1' of 'a' is not a number"),
        ({"weights": {"a": None, "b": 1}}, "weight None of 'a' is not a number"),
        ({"seed": -1}, "seed -1 is not a whole number"),
        ({"seed": "1"}, "seed '1' is not a whole number"),
        ({"seed": 1.5}, "seed 1.5 is not a whole number"),
    ],
)
def test_what_is_no_option_of_the_board_is_refused(small, options, told):
    with pytest.raises(InputError, match=re.escape(told)):
        mtlirt.leaderboard(small, **options)


def test_weights_of_any_size_are_shares(small):
    huge = mtlirt.leaderboard(small, weights={"a": 1e308, "b": 1.5e308})
    pd.testing.assert_frame_equal(huge, mtlirt.leaderboard(small, weights={"a": 2, "b": 3}))


def test_models_are_named_once_each_in_any_collection(small):
    ids = list(small.models.index[:3])
    expected = mtlirt.better(small, ids)
    for same in ((one for one in ids), tuple(ids), pd.Index(ids)):
        pd.testing.assert_frame_equal(mtlirt.better(small, same), expected)
    assert len(small.predict(one for one in ids)) == 3 * len(small.items)
    pairs = [list(pair) for pair in small.items.index[:2]]
    assert list(small.predict(ids[:1], pairs).index) == [(ids[0], *pair) for pair in pairs]
    for bad, told in (
        ([ids[0], ids[0]], "is named twice"),
        (ids[0], "expected a list"),
        (5, "expected a list"),
        ([None], "model None is not among the 30 known ones"),
        ([[ids[0]]], "is not among"),
    ):
        with pytest.raises(InputError, match=told):
            mtlirt.better(small, bad)
        with pytest.raises(InputError, match=told):
            small.predict(bad)


def test_accuracies_need_a_fit_with_a_posterior(small):
    rng = np.random.default_rng(2)
    block = drawn(rng.normal(size=20), np.ones(10), np.zeros(10), 3)
    point = tidy_fit({"a": block, "b": block[::-1]}, estimator="accuracy")
    with pytest.raises(InputError, match="estimator 'accuracy' has no posterior"):
        mtlirt.domain_accuracies(point)
    with pytest.raises(InputError, match="accuracies need a fit"):
        mtlirt.domain_accuracies(mtlirt.result.Scores(small.models, small.traits, {}))


def test_intervals_of_accuracies_stay_within_0_and_1(small):
    board = mtlirt.leaderboard(small, by="accuracy", level=0.9999)
    assert board[["lower", "upper"]].ge(0).all(axis=None)
    assert board[["lower", "upper"]].le(1).all(axis=None)
