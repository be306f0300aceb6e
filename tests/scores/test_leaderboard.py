"""The order of models, and what stands beside it."""

from dataclasses import replace

import numpy as np
import pandas as pd
import pytest

from mtlirt.errors import InputError
from mtlirt.result import Fit
from mtlirt.scores.leaderboard import leaderboard


def test_ranks_scores_intervals_and_coverage(scored):
    board = leaderboard(scored({"low": -1.0, "high": 2.0, "mid": 0.5}, sd=0.1))
    assert list(board.index) == ["high", "mid", "low"]
    assert board.index.name == "model_id"
    assert list(board["rank"]) == [1, 2, 3]
    assert list(board["overall"]) == [2.0, 0.5, -1.0]
    np.testing.assert_allclose(board["upper"] - board["overall"], 0.1 * 1.959963984540054)
    np.testing.assert_allclose(board["overall"] - board["lower"], 0.1 * 1.959963984540054)
    assert list(board["answered"]) == [6, 6, 6]
    assert list(board["known"]) == [7, 7, 7]
    assert list(board["domains"]) == [2, 2, 2]


def test_the_level_of_the_intervals(scored):
    board = leaderboard(scored({"m": 0.0}, sd=1.0), level=0.5)
    assert board.loc["m", "upper"] == pytest.approx(0.6744897501960817)
    for level in (0.0, 1.0, 95):
        with pytest.raises(InputError, match=f"level {level}"):
            leaderboard(scored({"m": 0.0}), level=level)


def test_the_orders_are_drawn_from_the_seed_that_the_fit_names(scored):
    rng = np.random.default_rng(1)
    found = scored({f"m{k:03d}": x for k, x in enumerate(rng.normal(size=150))}, sd=0.5)
    named = replace(found, info={**found.info, "rank_seed": 7})
    pd.testing.assert_frame_equal(leaderboard(named), leaderboard(found, seed=7))
    assert not leaderboard(named).equals(leaderboard(named, seed=0))
    pd.testing.assert_frame_equal(leaderboard(found), leaderboard(named, seed=0))


def test_equal_scores_share_a_rank(scored):
    board = leaderboard(scored({"c": 1.0, "a": 1.0 + 1e-11, "b": 1.0, "z": 2.0, "d": 0.0}))
    assert list(board.index) == ["z", "a", "b", "c", "d"]
    assert list(board["rank"]) == [1, 2, 2, 2, 5]


def test_scores_that_differ_do_not(scored):
    assert list(leaderboard(scored({"a": 1.0, "b": 1.0 + 1e-8}))["rank"]) == [1, 2]


def test_positive_and_negative_zero_are_equal(scored):
    assert list(leaderboard(scored({"b": 0.0, "a": -0.0, "c": -1e-12}))["rank"]) == [1, 1, 1]


def test_models_without_data_are_not_ranked(scored):
    some = {"m2": -9.0, "m1": 3.0}
    board = leaderboard(scored({"y": np.nan, **some, "x": np.nan}))
    assert list(board.index) == ["m1", "m2", "x", "y"]
    assert board["rank"].isna().tolist() == [False, False, True, True]
    assert board.loc["x", ["overall", "lower", "upper", "trait_a"]].isna().all()
    assert board.loc["x", ["answered", "domains"]].tolist() == [0, 0]
    pd.testing.assert_frame_equal(board.iloc[:2], leaderboard(scored(some)))


def test_only_models_without_data(scored):
    assert leaderboard(scored({"a": np.nan}))["rank"].isna().all()


def test_the_order_of_rows_changes_nothing(scored):
    rng = np.random.default_rng(0)
    overall = {f"m{k}": round(float(rng.normal()), 1) for k in range(60)} | {"none": np.nan}
    lacking = [("m3", "a"), ("m7", "b")]
    board = leaderboard(scored(overall, lacking=lacking))
    assert board["rank"].duplicated().any()
    for _ in range(3):
        names = rng.permutation(list(overall))
        shuffled = scored({name: overall[name] for name in names}, lacking=lacking)
        pd.testing.assert_frame_equal(leaderboard(shuffled), board)


def test_domains_in_their_order_with_borrowed_traits_marked(scored):
    board = leaderboard(scored({"m": 1.0, "n": 0.0}, lacking=[("m", "a")]))
    assert list(board.columns[-4:]) == ["trait_b", "trait_a", "borrowed_b", "borrowed_a"]
    assert board.loc["m", ["trait_b", "trait_a"]].tolist() == [1.0, 2.0]
    assert board["borrowed_a"].tolist() == [True, False]
    assert board["borrowed_b"].tolist() == [False, False]
    assert board["borrowed_a"].dtype == bool
    assert board.loc["m", ["answered", "domains"]].tolist() == [3, 1]


def test_domains_of_any_name(scored):
    names = ("rank", "overall", "trait_x", "x", "borrowed_x")
    board = leaderboard(scored({"m": 1.0}, domains=names))
    assert board.columns.is_unique
    assert board.loc["m", [f"trait_{name}" for name in names]].tolist() == [1, 2, 3, 4, 5]


def test_the_known_items_of_a_fit(scored):
    scores = scored({"m": 1.0})
    items = pd.DataFrame(index=pd.MultiIndex.from_product([["b", "a"], range(9)]))
    empty = pd.DataFrame()
    fit = Fit(items, empty, scores.models, scores.traits, empty, empty, {})
    assert leaderboard(fit).loc["m", "known"] == 18
