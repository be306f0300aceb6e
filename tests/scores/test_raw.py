"""Raw accuracies and their standard errors against published figures and by hand."""

from dataclasses import replace

import dask.array as da
import numpy as np
import pandas as pd
import pytest
from scipy.stats import binomtest

import mtlirt
from mtlirt.errors import InputError
from mtlirt.responses.arrays import from_arrays
from mtlirt.responses.matrix import DomainResponses
from mtlirt.scores.overall import overall_scores
from mtlirt.scores.raw import raw_intervals


@pytest.fixture(name="counted")
def counted_fixture(scored):
    return lambda shares: counted(scored, shares)


def counted(scored, shares):
    """Scores of models, given (share of right answers, items answered) by domain of each."""
    domains = [str(k) for k in range(len(next(iter(shares.values()))))]
    found = scored(dict.fromkeys(shares, 0.0), domains=domains)
    share, items = np.array([pair for pairs in shares.values() for pair in pairs]).T
    traits = found.traits.assign(
        answered=items.astype(int), correct=share * items, attempts=items.astype(float)
    )
    by_model = traits.groupby("model_id")["answered"]
    models = found.models.assign(
        answered=by_model.sum(), domains=by_model.agg(lambda one: (one > 0).sum())
    )
    return replace(found, models=models, traits=traits)


def test_o16_score_and_error_come_from_the_same_weights(counted):
    # O16: four subtasks of unlike length, and two domains of which one has 100 times the items
    subtasks = [(0.2421, 4705), (0.2171, 3077), (0.2382, 3107), (0.2131, 3153)]
    scores = counted({"m": subtasks})
    by_items = mtlirt.raw_accuracies(scores, "items").loc["m"]
    by_subtask = mtlirt.raw_accuracies(scores).loc["m"]
    assert f"{by_items['accuracy']:.5f}" == "0.22925"
    assert by_subtask["accuracy"] == pytest.approx(0.227625, abs=1e-12)
    assert (by_items["weights"], by_subtask["weights"]) == ("items", "equal")
    assert by_items["answered"] == 14042
    scores = counted({"m": [(0.5, 100), (0.9, 10_000)]})
    equal = mtlirt.raw_accuracies(scores, "equal").loc["m"]
    items = mtlirt.raw_accuracies(scores, "items").loc["m"]
    assert (f"{equal['accuracy']:.3f}", f"{equal['se']:.6f}") == ("0.700", "0.025171")
    assert (f"{items['accuracy']:.5f}", f"{items['se']:.6f}") == ("0.89604", "0.003012")
    for weights, found in (("equal", equal), ("items", items)):
        mean, sd = overall_scores(scores, "raw", weights)
        assert (mean["m"], sd["m"]) == (found["accuracy"], found["se"])
        board = mtlirt.leaderboard(scores, by="raw", weights=weights).loc["m"]
        assert board["raw"] == found["accuracy"]
        assert board["upper"] - board["raw"] == pytest.approx(1.959964 * found["se"], rel=0.05)


def test_o17_the_error_of_few_right_answers(counted):
    found = mtlirt.raw_accuracies(counted({"m": [(14 / 307, 307)]})).loc["m"]
    assert f"{found['se']:.6f}" == "0.011926"


def test_domains_not_taken_do_not_count_and_one_answer_has_no_error(counted):
    scores = counted(
        {
            "all": [(0.5, 10), (1.0, 30)],
            "some": [(0.5, 10), (0.0, 0)],
            "one": [(0.5, 10), (1.0, 1)],
            "none": [(0.0, 0), (0.0, 0)],
        }
    )
    found = mtlirt.raw_accuracies(scores, "items")
    assert found["accuracy"].tolist()[:3] == pytest.approx([35 / 40, 0.5, 6 / 11])
    assert found.loc["some", "se"] == pytest.approx(np.sqrt(0.25 / 9))
    assert found["domains"].tolist() == [2, 1, 2, 0]
    assert found["se"].isna().tolist() == [False, False, True, True]
    assert found["accuracy"].isna().tolist() == [False, False, False, True]


def test_one_right_answer_is_the_best_and_far_from_sure(counted):
    many = {f"m{k}": [(share, 10_000)] for k, share in enumerate((0.8, 0.5, 0.2))}
    plain = mtlirt.leaderboard(counted(many), by="raw")
    assert plain[["rank_lower", "rank_upper"]].to_numpy().tolist() == [[1, 1], [2, 2], [3, 3]]
    beside = counted({**many, "x": [(1, 1)]})
    board = mtlirt.leaderboard(beside, by="raw")
    assert board.index.tolist() == ["x", "m0", "m1", "m2"]
    assert board.loc["x", ["rank_lower", "rank_upper"]].tolist() == [1, 2]
    assert board.loc["x", ["lower", "upper"]].tolist() == pytest.approx([0.206549, 1.0], abs=1e-6)
    assert 0.5 < mtlirt.better(beside, ["x", "m0"], by="raw").loc["x", "m0"] < 0.9


@pytest.mark.parametrize("level", [0.5, 0.95, 0.999])
@pytest.mark.parametrize("weights", ["equal", "items"])
def test_the_interval_of_one_domain_is_wilsons(counted, level, weights):
    # scipy has it for whole numbers of right answers
    cases = {(k, n) for n in (1, 2, 5, 40, 307) for k in (0, 1, n // 2, n)}
    board = mtlirt.leaderboard(
        counted({f"{k}/{n}": [(k / n, n), (0.0, 0)] for k, n in cases}),
        by="raw",
        weights=weights,
        level=level,
    )
    for k, n in cases:
        ends = binomtest(k, n).proportion_ci(level, "wilson")
        row = board.loc[f"{k}/{n}"]
        np.testing.assert_allclose(row[["lower", "upper"]].tolist(), ends, atol=1e-12)
        assert row["lower"] < row["upper"]


def test_intervals_over_domains(counted):
    shares = [(0.9, 40), (1.0, 10), (0.0, 0)]
    ends = [binomtest(36, 40).proportion_ci(0.95, "wilson")]
    ends += [binomtest(10, 10).proportion_ci(0.95, "wilson")]
    for weights, (one, other) in {"equal": (0.5, 0.5), "items": (0.8, 0.2)}.items():
        row = mtlirt.leaderboard(counted({"m": shares}), by="raw", weights=weights).loc["m"]
        mean = one * 0.9 + other
        below = np.hypot(one * (0.9 - ends[0].low), other * (1.0 - ends[1].low))
        above = one * (ends[0].high - 0.9)
        assert row[["raw", "lower", "upper"]].tolist() == pytest.approx(
            [mean, mean - below, mean + above], abs=1e-12
        )


@pytest.mark.parametrize("weights", ["equal", "items"])
def test_intervals_hold_the_truth_about_as_often_as_they_say(counted, weights):
    rng = np.random.default_rng(8)
    chance, items = np.array([0.97, 0.6, 0.85]), np.array([12, 30, 8])
    right = rng.binomial(items, chance, (4000, 3))
    scores = counted(
        {f"{k}": list(zip(row / items, items, strict=True)) for k, row in enumerate(right)}
    )
    truth = chance.mean() if weights == "equal" else (chance * items).sum() / items.sum()
    lower, upper = raw_intervals(scores, weights, 0.95)
    assert 0.935 < ((lower <= truth) & (truth <= upper)).mean() < 0.985


def test_intervals_stay_within_0_and_1(counted):
    shares = {
        f"{share} {n}": [(share, n), (share, 3)] for share in (0.0, 0.1, 0.9, 1.0) for n in (1, 5)
    }
    board = mtlirt.leaderboard(counted(shares), by="raw")
    assert (board["lower"] >= 0.0).all()
    assert (board["upper"] <= 1.0).all()
    assert (board["upper"] - board["lower"] > 0.2).all()
    assert (board["rank_upper"] > board["rank_lower"]).all()


def responses(kind, seed=3):
    """25 models on two domains with holes, of one answer, a fraction or several trials a cell."""
    rng = np.random.default_rng(seed)
    out, right, tried = {}, {}, {}
    for name, items in (("law", 12), ("algebra", 30)):
        shape = 25, items
        trials = np.where(rng.random(shape) < 0.2, 0, rng.integers(1, 4, shape))
        trials[5] = 0 if name == "law" else trials[5]
        trials[6] = 0
        if kind != "trials":
            trials = np.minimum(trials, 1)
        good = rng.binomial(trials, rng.uniform(0.2, 0.9, (25, 1))).astype(float)
        if kind == "fractions":
            good = np.round(rng.random(shape) * trials, 2).astype(np.float32).astype(float)
        right[name], tried[name] = good.sum(axis=1), trials.sum(axis=1)
        missing = np.where(trials > 0, good, np.nan if kind == "fractions" else -1)
        kinds = {"single": np.int8, "fractions": np.float32, "trials": np.int16}
        array = da.from_array(missing.astype(kinds[kind]), chunks=(10, 7))
        of_trials = da.from_array(trials.astype(np.int16)) if kind == "trials" else None
        out[name] = DomainResponses(array, of_trials)
    plain = from_arrays({name: (part.array > 0).astype(np.int8) for name, part in out.items()})
    return replace(plain, domains=out), pd.DataFrame(right), pd.DataFrame(tried)


@pytest.mark.parametrize("kind", ["single", "fractions", "trials"])
def test_fits_and_scores_count_right_answers_and_attempts(kind, tmp_path):
    data, right, tried = responses(kind)
    fit = mtlirt.fit(data, threads=2)
    mtlirt.publish(fit, tmp_path)
    found = [fit, mtlirt.load(tmp_path), mtlirt.score(fit, data, threads=1)]
    for scored in found:
        for column, expected in (("correct", right), ("attempts", tried)):
            values = scored.traits[column].to_numpy().reshape(25, 2)
            np.testing.assert_allclose(values, expected[list(fit.domains.index)], rtol=1e-12)
    share = right / tried
    error = np.sqrt(share * (1 - share) / (tried - 1))
    for scored in found:
        table = mtlirt.raw_accuracies(scored)
        np.testing.assert_allclose(table["accuracy"], share.mean(axis=1), rtol=1e-12)
        expected = np.sqrt((error**2).sum(axis=1, min_count=1)) / (tried > 0).sum(axis=1)
        np.testing.assert_allclose(table["se"], expected, rtol=1e-12)
    board = mtlirt.leaderboard(fit, by="raw")
    assert board["raw"].dropna().is_monotonic_decreasing
    assert board.index[-1] == fit.models.index[6]
    assert board["rank"].isna().sum() == 1


def test_point_estimates_have_raw_accuracies():
    data, right, tried = responses("single")
    fit = mtlirt.fit(data, estimator="accuracy", complete_models=True)
    found = mtlirt.raw_accuracies(fit)
    kept = (tried > 0).all(axis=1).to_numpy()
    assert found["accuracy"].notna().tolist() == kept.tolist()
    expected = (right / tried).mean(axis=1).to_numpy()
    np.testing.assert_allclose(found["accuracy"][kept], expected[kept], rtol=1e-12)
    assert mtlirt.leaderboard(fit, by="raw")["rank_lower"].notna().sum() == kept.sum()


def test_what_has_no_raw_accuracies_is_refused(counted):
    scores = counted({"m": [(0.5, 10)]})
    for weights in ("size", None, {"0": 1.0}):
        with pytest.raises(InputError, match="raw accuracies have equal or items"):
            mtlirt.raw_accuracies(scores, weights)
    with pytest.raises(InputError, match="raw accuracies have equal or items"):
        mtlirt.leaderboard(scores, by="raw", weights={"0": 1.0})
    older = scores.traits.assign(correct=np.nan, attempts=np.nan)
    for traits in (older, older.drop(columns=["correct", "attempts"])):
        with pytest.raises(InputError, match="does not hold right answers; fit again"):
            mtlirt.leaderboard(replace(scores, traits=traits), by="raw")
