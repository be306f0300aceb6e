"""Weights of models: a fit with them against one of models that are there so many times."""

from dataclasses import replace

import dask.array as da
import numpy as np
import pandas as pd
import pytest

import mtlirt
from mtlirt.diagnostics.clones import deweight_clones
from mtlirt.engine.fit import fit, score
from mtlirt.errors import InputError
from mtlirt.responses.arrays import from_arrays
from mtlirt.responses.matrix import DomainResponses, Responses
from mtlirt.scores.leaderboard import leaderboard

ITEMS = {"algebra": 30, "biology": 25, "law": 40, "physics": 20}
CLOSE = {"rtol": 1e-6, "atol": 1e-6}


def drawn(rng, models, missing=0.0, attempts=1):
    """Responses of models whose traits share a factor."""
    factor, out = rng.normal(size=models), {}
    for name, items in ITEMS.items():
        trait = 0.8 * factor + 0.6 * rng.normal(size=models)
        slope, intercept = rng.lognormal(0.0, 0.3, items), rng.normal(size=items)
        chance = 1.0 / (1.0 + np.exp(-(trait[:, None] * slope + intercept)))
        values = rng.binomial(attempts, chance).astype(np.int8)
        values[rng.random(values.shape) < missing] = -1
        out[name] = values
    return out


def as_responses(values, weights=None, attempts=1, guessing=0.0):
    """Responses as `fit` takes them, in chunks of models."""
    arrays = {name: da.from_array(part, chunks=(37, -1)) for name, part in values.items()}
    found = from_arrays(arrays)
    if attempts > 1:
        found = Responses(
            {
                name: DomainResponses(
                    array.astype(np.int16), da.where(array < 0, 0, attempts).astype(np.int16)
                )
                for name, array in arrays.items()
            },
            found.models,
            found.items,
        )
    if guessing:
        found = replace(found, items=found.items.assign(guessing=guessing))
    if weights is not None:
        found = replace(found, models=found.models.assign(weight=weights))
    return found


def repeated(values, times):
    """The responses with each model there so many times."""
    rows = np.repeat(np.arange(len(times)), times)
    return {name: part[rows] for name, part in values.items()}, rows


def assert_alike(found, expected, rows):
    """Equal fits, but for the models: those of `found` stand at `rows` of the expected."""
    assert found.info["rounds"] == expected.info["rounds"]
    columns = expected.items.columns.difference(["answered", "successes", "attempts"])
    pd.testing.assert_frame_equal(found.items[columns], expected.items[columns], **CLOSE)
    columns = expected.domains.columns.difference(["models"])
    pd.testing.assert_frame_equal(found.domains[columns], expected.domains[columns], **CLOSE)
    pd.testing.assert_frame_equal(found.representation, expected.representation, **CLOSE)
    columns = ["overall", "overall_sd", "general", "general_sd"]
    np.testing.assert_allclose(
        found.models[columns], expected.models[columns].iloc[rows], rtol=1e-6, atol=1e-6
    )
    domains = len(expected.domains)
    for column in ("mean", "sd", "site_precision", "site_shift"):
        one, other = (
            part.traits[column].to_numpy().reshape(-1, domains) for part in (found, expected)
        )
        np.testing.assert_allclose(one, other[rows], rtol=1e-6, atol=1e-6)
    assert found.info["log_likelihood"] == pytest.approx(expected.info["log_likelihood"], rel=1e-9)


CASES = {
    "complete": {},
    "missing": {"missing": 0.3},
    "attempts": {"attempts": 3},
    "guessed": {"guessing": 0.2},
}


@pytest.mark.parametrize("estimator", ["marginal", "separate"])
@pytest.mark.parametrize("case", CASES)
def test_a_weight_is_a_number_of_models(case, estimator):
    asked = dict(CASES[case])
    guessing = asked.pop("guessing", 0.0)
    attempts = asked.get("attempts", 1)
    rng = np.random.default_rng(5)
    values = drawn(rng, 60, **asked)
    times = rng.integers(1, 4, 60)
    many, rows = repeated(values, times)
    expected = fit(as_responses(many, None, attempts, guessing), estimator=estimator)
    found = fit(as_responses(values, times, attempts, guessing), estimator=estimator)
    assert_alike(expected, found, rows)
    np.testing.assert_array_equal(found.models["weight"], times)
    assert found.items["answered"].sum() == sum((part >= 0).sum() for part in values.values())


@pytest.mark.parametrize("missing", [0.0, 0.3])
@pytest.mark.parametrize("rank", ["auto", 1])
def test_clones_of_one_model_count_as_one(missing, rank):
    # O21: 30 models, and 200 copies of one of them under other names
    rng = np.random.default_rng(3)
    values = drawn(rng, 30, missing)
    rows = np.r_[np.arange(30), np.full(200, 7)]
    everyone = as_responses({name: part[rows] for name, part in values.items()})
    expected = fit(as_responses(values), rank=rank)
    biased = fit(everyone, rank=rank)
    lighter = deweight_clones(biased, everyone)
    weights = np.ones(230)
    weights[[7, *range(30, 230)]] = 1 / 201
    np.testing.assert_allclose(lighter.models["weight"], weights, rtol=1e-12)
    found = fit(lighter, rank=rank)
    assert_alike(found, expected, rows)
    worst = np.abs(biased.items["slope"] - expected.items["slope"]).max()
    assert worst > 0.1
    clones = found.traits["mean"].to_numpy().reshape(230, -1)[[7, *range(30, 230)]]
    assert np.ptp(clones, axis=0).max() < 1e-9
    board = leaderboard(found)
    places = board.loc[
        found.models.index[[7, *range(30, 230)]], ["rank", "rank_lower", "rank_upper", "tie_group"]
    ]
    assert len(places.drop_duplicates()) == 1


@pytest.mark.parametrize(("models", "items"), [(400, 8), (400, 16), (1000, 20)])
def test_models_that_agree_by_chance_are_no_clones(models, items):
    rng = np.random.default_rng(1)
    trait, slope = rng.normal(size=models), rng.lognormal(0.0, 0.3, items)
    chance = 1.0 / (1.0 + np.exp(-(np.outer(trait, slope) + rng.normal(size=items))))
    values = {"short": (rng.random(chance.shape) < chance).astype(np.int8)}
    assert len(np.unique(values["short"], axis=0)) < models
    responses = as_responses(values)
    assert (deweight_clones(fit(responses), responses).models["weight"] == 1.0).all()


def test_what_chance_explains_does_not_depend_on_the_order_of_rows():
    rng = np.random.default_rng(3)
    trait, slope = rng.normal(size=300), rng.lognormal(0.0, 0.3, 28)
    chance = 1.0 / (1.0 + np.exp(-(np.outer(trait, slope) + rng.normal(size=28))))
    values = (rng.random(chance.shape) < chance).astype(np.int8)
    values[-20:] = values[:20]
    found = fit(as_responses({"short": values}), max_rounds=1)

    def weights(order):
        responses = as_responses({"short": values[order]})
        ids = found.models.index[order]
        models, traits = found.models.loc[ids], found.traits.loc[ids]
        responses = replace(responses, models=responses.models.set_axis(ids))
        given = replace(found, models=models, traits=traits)
        return deweight_clones(given, responses).models["weight"].loc[found.models.index]

    expected = weights(np.arange(300))
    assert 0 < (expected < 1.0).sum() < 40
    for _ in range(3):
        assert weights(rng.permutation(300)).equals(expected)


def test_a_group_shares_the_largest_weight_of_its_models():
    rng = np.random.default_rng(3)
    values = drawn(rng, 40)
    rows = np.r_[np.arange(40), np.full(4, 7)]
    weights = np.r_[np.ones(40), [0.0, 0.0, 3.0, 1.0]]
    responses = as_responses({name: part[rows] for name, part in values.items()}, weights)
    found = deweight_clones(fit(responses), responses).models["weight"].to_numpy()
    np.testing.assert_allclose(found[[7, 40, 41, 42, 43]], 3.0 / 5.0)
    assert found.sum() == pytest.approx(39 + 3)


@pytest.mark.parametrize("copied", [0, -1, 1.5, np.nan, None, "x"])
def test_what_makes_copies_is_checked(copied):
    responses = as_responses(drawn(np.random.default_rng(1), 20))
    found = fit(responses, max_rounds=1)
    with pytest.raises(InputError, match=r"copied .* is not a number above 0 and up to 1"):
        deweight_clones(found, responses, copied=copied)


def test_models_of_weight_0_are_scored_alone():
    rng = np.random.default_rng(8)
    values = drawn(rng, 80, 0.2)
    weights = np.where(np.arange(80) < 50, 1.0, 0.0)
    found = fit(as_responses(values, weights))
    first = {name: part[:50] for name, part in values.items()}
    expected = fit(as_responses(first))
    columns = ["slope", "intercept", "slope_se", "intercept_se"]
    np.testing.assert_allclose(found.items[columns], expected.items[columns], rtol=1e-6, atol=1e-6)
    scored = score(expected, as_responses(values))
    np.testing.assert_allclose(
        found.traits[["mean", "sd"]], scored.traits[["mean", "sd"]], rtol=1e-6, atol=1e-6
    )


def test_weights_of_one_change_nothing():
    values = drawn(np.random.default_rng(2), 40)
    plain, weighted = fit(as_responses(values)), fit(as_responses(values, [1.0, None] * 20))
    pd.testing.assert_frame_equal(plain.items, weighted.items, check_exact=True)
    pd.testing.assert_frame_equal(plain.traits, weighted.traits, check_exact=True)


def test_a_cluster_weighs_alike(process_cluster):
    values = drawn(np.random.default_rng(4), 60, 0.2)
    weights = np.random.default_rng(4).uniform(0.0, 2.0, 60)
    here = fit(as_responses(values, weights))
    there = fit(as_responses(values, weights), client=process_cluster)
    columns = ["slope", "intercept", "slope_se"]
    np.testing.assert_allclose(here.items[columns], there.items[columns], rtol=1e-8, atol=1e-8)


@pytest.mark.parametrize("weight", [-1.0, np.inf, "heavy", True, 1e7])
def test_bad_weights_are_refused(weight):
    responses = as_responses(drawn(np.random.default_rng(1), 10))
    column = pd.Series([None] * 9 + [weight], index=responses.models.index, dtype=object)
    bad = replace(responses, models=responses.models.assign(weight=column))
    with pytest.raises(InputError, match=f"model '9': weight is .*{weight}.*expected a number"):
        fit(bad)


def test_too_few_models_that_count_are_refused():
    responses = as_responses(drawn(np.random.default_rng(1), 10), [1.0] + [0.0] * 9)
    with pytest.raises(InputError, match="'algebra' has responses of 1 models whose weight is"):
        fit(responses)


@pytest.mark.parametrize("estimator", ["joint", "local", "global", "accuracy"])
def test_other_estimators_know_no_weights(estimator):
    responses = as_responses(drawn(np.random.default_rng(1), 10), [2.0] * 10)
    with pytest.raises(InputError, match=f"'{estimator}' knows no weights"):
        fit(responses, estimator=estimator)


def test_items_are_judged_by_models_that_stand_for_all():
    rng = np.random.default_rng(21)
    theta, slope, intercept = (
        rng.normal(size=(200, 1)),
        rng.lognormal(0, 0.3, 40),
        rng.normal(size=40),
    )
    drawn = (rng.random((200, 40)) < 1 / (1 + np.exp(-theta * slope - intercept))).astype(np.int8)
    clean = from_arrays({"d": da.from_array(drawn)})
    fitted = mtlirt.fit(clean)
    among = drawn[np.r_[np.arange(200), np.full(120, 7)]]
    copied = from_arrays({"d": da.from_array(among)})
    light = mtlirt.deweight_clones(mtlirt.fit(copied), copied)
    found = mtlirt.diagnose(mtlirt.fit(light), light)
    expected = mtlirt.diagnose(fitted, clean)
    assert found.info["counted"] == 200
    assert expected.info["counted"] == 200
    for name in ("fit", "fit_p", "gap", "share_right"):
        np.testing.assert_allclose(found.items[name], expected.items[name], atol=1e-4)
    of_items = found.findings[found.findings["model_id"].isna()]
    assert len(of_items) == expected.findings["model_id"].isna().sum()
    assert len(found.models) == 320
    assert (found.models["clones"] == 1).sum() == 121
    weights = np.ones(320)
    weights[200:] = 0.0
    ignored = replace(copied, models=copied.models.assign(weight=weights))
    assert mtlirt.diagnose(mtlirt.fit(ignored), ignored).info["counted"] == 200
