"""`fit` and `score` as their callers use them."""

from dataclasses import replace
from pathlib import Path

import dask.array as da
import numpy as np
import pandas as pd
import pytest

import mtlirt
from mtlirt.engine.fit import fit, score
from mtlirt.errors import InputError
from mtlirt.responses.matrix import DomainResponses, Responses
from mtlirt.simulate.generate import simulate

DATA = Path(__file__).parents[2] / "../shared/data"


def drawn(eta, rng):
    return (rng.random(eta.shape) < 1 / (1 + np.exp(-eta))).astype(np.int8)


def table(index_name, ids):
    return pd.DataFrame(index=pd.Index(ids, name=index_name))


def responses_of(domains):
    """Responses over arrays that may be counts of trials or fractions."""
    first = next(iter(domains.values())).array
    index = pd.MultiIndex.from_tuples(
        [(name, str(j)) for name, part in domains.items() for j in range(part.array.shape[1])],
        names=["domain", "item_id"],
    )
    models = table("model_id", [str(i) for i in range(first.shape[0])])
    return Responses(domains, models, pd.DataFrame(index=index))


@pytest.fixture(scope="module")
def simulation():
    return simulate("demo", models=150, seed=2, missing=0.2, domain_missing=0.3)


@pytest.fixture(scope="module")
def fitted(simulation):
    return fit(simulation.responses)


def test_published_traits_are_those_that_score_returns(simulation, fitted):
    scores = score(fitted, simulation.responses)
    columns = ["mean", "sd", "site_precision", "site_shift"]
    pd.testing.assert_frame_equal(scores.traits[columns], fitted.traits[columns], rtol=0, atol=1e-8)
    alike = fitted.models.drop(columns="weight")
    pd.testing.assert_frame_equal(scores.models, alike, rtol=0, atol=1e-8)


@pytest.mark.parametrize("estimate", ["eap", "map"])
def test_a_model_gets_the_same_score_alone_and_in_any_batch(simulation, fitted, estimate):
    responses = simulation.responses

    def picked(rows):
        domains = {
            name: DomainResponses(part.array[rows]) for name, part in responses.domains.items()
        }
        return Responses(domains, responses.models.iloc[rows], responses.items)

    rows = np.random.default_rng(1).permutation(150)
    alone = score(fitted, picked([17]), estimate=estimate)
    batch = score(fitted, picked(rows), estimate=estimate)
    model = responses.models.index[17]
    for column in ("mean", "sd"):
        np.testing.assert_allclose(
            alone.traits[column], batch.traits.loc[[model], column], rtol=0, atol=1e-10
        )
    assert list(batch.models.index) == list(responses.models.index[rows])


def test_items_are_matched_by_id_and_unknown_ones_are_counted(simulation, fitted):
    responses = simulation.responses
    name = next(iter(responses.domains))
    part = responses.domains[name].array
    ids = list(responses.item_ids(name))[::-1]
    index = pd.MultiIndex.from_tuples(
        [(name, item) for item in ids] + [(name, "new"), ("elsewhere", ids[0])],
        names=["domain", "item_id"],
    )
    extra = da.ones((150, 1), dtype=np.int8)
    domains = {
        name: DomainResponses(da.concatenate([part[:, ::-1], extra], axis=1)),
        "elsewhere": DomainResponses(extra),
    }
    mixed = score(fitted, Responses(domains, responses.models, pd.DataFrame(index=index)))
    straight = score(
        fitted,
        Responses({name: DomainResponses(part)}, responses.models, responses.items.loc[[name]]),
    )
    pd.testing.assert_frame_equal(mixed.traits, straight.traits, rtol=0, atol=1e-9)
    assert mixed.info["items_used"] == len(ids)
    assert mixed.info["items_unknown"] == 2
    assert mixed.info["items_not_asked"] == len(fitted.items) - len(ids)
    with pytest.raises(InputError, match="none of the 1 items is known"):
        score(fitted, {"elsewhere": extra})


def test_the_sign_is_that_of_the_mean_slope():
    rng = np.random.default_rng(4)
    trait = rng.normal(size=400)
    slopes = np.where(np.arange(30) < 8, -1.0, 1.0) * rng.lognormal(0, 0.3, 30)
    fitted = fit({"d": da.from_array(drawn(trait[:, None] * slopes, rng))})
    assert np.corrcoef(fitted.models["overall"], trait)[0, 1] > 0.9
    assert (np.sign(fitted.items["slope"]) == np.sign(slopes)).all()


def test_strong_models_in_one_domain_only_do_not_shift_its_scale():
    rng = np.random.default_rng(6)
    factor = rng.normal(size=3000)
    a, b = (0.9 * factor + np.sqrt(0.19) * rng.normal(size=3000) for _ in range(2))
    items = np.linspace(-1.5, 1.5, 60)
    first, second = drawn(a[:, None] - items, rng), drawn(b[:, None] - items, rng)
    second[first.sum(axis=1) < 36] = -1
    took = second[:, 0] >= 0
    fitted = fit({"all": da.from_array(first), "strong": da.from_array(second)})
    strong = fitted.items.loc["strong"]
    takers = fitted.traits.xs("strong", level="domain")["mean"].to_numpy()[took]
    assert b[took].mean() > 0.8
    assert takers.mean() == pytest.approx(b[took].mean(), abs=0.1)  # and not 0
    np.testing.assert_allclose(strong["slope"].mean(), 1.0, atol=0.1)
    assert abs((strong["intercept"] + items).mean()) < 0.12


def test_models_that_took_the_easy_items_only_are_not_flattered():
    # O23: 200 models x 300 items, 50 models answer the 100 easiest items
    rng = np.random.default_rng(7)
    trait = rng.normal(size=200)
    trait = (trait - trait.mean()) / trait.std()
    difficulty = np.sort(rng.normal(size=300))
    block = drawn(trait[:, None] - difficulty, rng)
    accuracy = block[:50].mean(), block[:50, :100].mean()
    block[:50, 100:] = -1
    fitted = fit({"d": da.from_array(block)})
    bias = (fitted.models["overall"].to_numpy() - trait)[:50].mean()
    assert accuracy[1] > accuracy[0] + 0.15
    assert abs(bias) < 0.1
    assert (fitted.models["answered"].to_numpy()[:50] == 100).all()


def test_repeated_attempts_weigh_as_so_many_responses():
    rng = np.random.default_rng(9)
    trait = rng.normal(size=300)
    eta = trait[:, None] + rng.normal(size=25)
    attempts = np.stack([drawn(eta, rng) for _ in range(4)])
    successes = attempts.sum(axis=0).astype(np.int16)
    trials = np.full(successes.shape, 4, np.int16)
    counted = fit(
        responses_of({"d": DomainResponses(da.from_array(successes), da.from_array(trials))}),
        priors=False,
        tolerance=1e-6,
    )
    # four items of equal parameters for each: the likelihood of the traits is the same
    apart = fit({"d": da.from_array(np.concatenate(attempts, axis=1))}, priors=False)
    assert np.corrcoef(counted.models["overall"], apart.models["overall"])[0, 1] > 0.995
    assert (counted.items["attempts"] == 1200).all()
    assert (counted.items["answered"] == 300).all()
    single = fit({"d": da.from_array(attempts[0])}, priors=False)
    assert counted.models["overall_sd"].mean() < 0.7 * single.models["overall_sd"].mean()


def test_weights_of_one_equal_plain_responses():
    rng = np.random.default_rng(10)
    block = drawn(rng.normal(size=(200, 1)) + rng.normal(size=20), rng)
    block[rng.random(block.shape) < 0.1] = -1
    plain = fit({"d": da.from_array(block)})
    fractions = np.where(block < 0, np.nan, block).astype(np.float32)
    weighted = fit({"d": da.from_array(fractions)})
    pd.testing.assert_frame_equal(plain.items, weighted.items, rtol=0, atol=1e-6)
    pd.testing.assert_frame_equal(plain.traits, weighted.traits, rtol=0, atol=1e-6)


def test_half_a_success_on_one_even_item():
    # O10: y = .5 on a = 1, b = 0 has mode 0 and standard error .89443
    fitted = fit({"d": da.from_array(np.array([[0, 1], [1, 0], [1, 1]], np.int8))}, max_rounds=1)
    known = dict.fromkeys(
        ["slope_variance", "slope_intercept_covariance", "intercept_variance", "intercept"], 0.0
    )
    fitted = replace(fitted, items=fitted.items.iloc[[0]].assign(slope=1.0, **known))
    half = score(fitted, {"d": da.full((2, 1), 0.5, dtype=np.float32)}, estimate="map")
    np.testing.assert_allclose(half.traits["mean"], 0.0, atol=1e-9)
    np.testing.assert_allclose(half.traits["sd"], 0.89443, atol=1e-5)


@pytest.mark.parametrize(
    ("options", "message"),
    [
        ({"rank": 2}, "rank 2 is not identified with 2 domains; the largest is 1"),
        (
            {"rank": 1, "estimator": "separate"},
            "rank 1: estimator 'separate' does not use it; leave it out, or take marginal",
        ),
        ({"priors": False, "estimator": "joint"}, "take marginal or separate"),
        ({"adapt": False, "estimator": "separate"}, "adapt False: estimator 'separate'"),
        ({"penalties": (0.1, 0.2)}, "does not use it; leave it out, or take joint"),
        ({"folds": 4, "estimator": "local"}, "folds 4: estimator 'local' does not use it"),
        ({"lambda_scaling": "per_domain"}, "lambda_scaling 'per_domain': estimator 'marginal'"),
        ({"complete_models": True}, "complete_models True: estimator 'marginal'"),
        (
            {"estimator": "joint", "penalty": 0.1, "folds": 4},
            "folds 4: penalty 0.1 leaves nothing to cross-validate",
        ),
        ({"rank": 0}, "rank 0 is neither 'auto' nor a whole number from 1 up"),
        ({"adapt": "no"}, "adapt 'no' is neither True nor False"),
        ({"estimator": "joint", "penalties": "x"}, "penalties 'x'"),
        ({"estimator": "best"}, "estimator 'best' is not one of marginal, separate"),
        ({"tolerance": 0.0}, "tolerance 0.0 is not a number between 0 and 1"),
        ({"max_rounds": 0}, "max_rounds 0 is not a whole number from 1 up"),
        ({"threads": -1}, "threads -1 is not a whole number from 1 up"),
    ],
)
def test_bad_options_are_named(options, message):
    block = da.from_array(np.eye(4, dtype=np.int8))
    with pytest.raises(InputError, match=message):
        fit({"a": block, "b": block}, **options)


@pytest.mark.parametrize(
    ("data", "message"),
    [
        ({"d": np.eye(3, dtype=np.int8)}, "domain 'd': expected a Dask array .* not ndarray"),
        ({"d": da.ones(3, dtype=np.int8)}, "domain 'd': a response array has 2 dimensions"),
        ({"d": da.ones((3, 0), dtype=np.int8)}, "domain 'd' has no items; leave it out"),
        ({"d": da.ones((3, 3))}, "domain 'd': a response array is float32 or int8"),
        ({}, "expected Responses or a dict of Dask arrays"),
        (None, "expected Responses or a dict of Dask arrays"),
    ],
)
def test_data_of_other_kinds_is_named(data, message):
    with pytest.raises(InputError, match=message):
        fit(data)


def test_an_estimate_of_another_name_is_refused(fitted, simulation):
    with pytest.raises(InputError, match="estimate 'mle' is not one of eap, map"):
        score(fitted, simulation.responses, estimate="mle")


def test_a_domain_with_one_model_is_named():
    one = np.full((3, 2), -1, np.int8)
    one[0] = 1, 0
    with pytest.raises(InputError, match="domain 'one' has responses of 1 models, a fit needs 2"):
        fit({"one": da.from_array(one), "all": da.from_array(np.eye(3, dtype=np.int8))})


def test_values_that_are_no_responses_are_refused():
    with pytest.raises(InputError, match=r"domain 'd'.*1 correct, 0 wrong, -1 missing"):
        fit({"d": da.from_array(np.array([[1, 2], [0, 1]], np.int8))})


@pytest.mark.data
def test_six_benchmarks_of_real_results():
    path = DATA / "openllm_v1/responses.parquet"
    if not path.exists():
        pytest.skip("../shared/data is absent")
    from mtlirt.ingest import ingest

    responses, _ = ingest([path])
    fitted = fit(responses)
    assert fitted.info["converged"]
    assert fitted.info["rounds"] <= 40
    assert len(fitted.models) == 6812
    assert fitted.models["answered"].sum() == 6_806_406
    # the trait points the way of the accuracy in the domain, for the models that took it
    traits = fitted.traits[~fitted.traits["borrowed"]]
    for name, part in responses.domains.items():
        block = np.asarray(part.array)
        taken = block >= 0
        rows = taken.any(axis=1)
        accuracy = (block == 1).sum(axis=1)[rows] / taken.sum(axis=1)[rows]
        mean = traits.xs(name, level="domain")["mean"].to_numpy()
        assert len(mean) == rows.sum()
        assert pd.Series(mean).corr(pd.Series(accuracy), method="spearman") > 0.6


@pytest.mark.data
def test_few_models_on_closely_tied_domains_do_not_swing_for_ever():
    path = DATA / "livecodebench/responses.parquet"
    if not path.exists():
        pytest.skip("../shared/data is absent")
    from mtlirt.ingest import ingest

    responses, _ = ingest([path])
    fitted = fit(responses)
    assert fitted.info["converged"]
    assert fitted.info["rounds"] <= 80


def test_a_domain_that_says_nothing_has_no_say_in_the_general_trait():
    rng = np.random.default_rng(8)
    traits = rng.normal(size=(200, 1)) + 0.7 * rng.normal(
        size=(200, 4)
    )  # the median of 2 is either
    blocks = {
        name: (rng.random((200, 30)) < 1 / (1 + np.exp(-trait[:, None]))).astype(np.int8)
        for name, trait in zip("abde", traits.T, strict=True)
    }
    arrays = {name: da.from_array(block) for name, block in blocks.items()}
    plain = fit(arrays, threads=1)
    more = fit({**arrays, "c": da.from_array(np.ones((200, 10), np.int8))}, threads=1)
    assert more.domains.loc["c", "general_weight"] == 0.0
    assert more.domains.loc["c", "cosine"] > 0.9
    np.testing.assert_allclose(more.models["general"], plain.models["general"], atol=0.05)
    nothing = fit({"c": da.from_array(np.ones((200, 10), np.int8))}, threads=1)
    assert nothing.models["general"].notna().all()


def test_items_without_a_slope_are_as_unsure_as_their_shares():
    rng = np.random.default_rng(12)
    models, count = 300, 40
    theta, intercept = rng.normal(size=(models, 1)), rng.normal(0.0, 1.0, count)
    real = (rng.random((models, count)) < 1 / (1 + np.exp(-theta - intercept))).astype(np.int8)
    real[:, 0] = 1
    coin = (rng.random((models, count)) < 1 / (1 + np.exp(-intercept))).astype(np.int8)
    fitted = mtlirt.fit({"real": da.from_array(real), "coin": da.from_array(coin)})
    assert fitted.domains["flat"].tolist() == [False, True]
    found = fitted.items.loc["coin"]
    inside = abs(found["intercept"] - intercept) < 1.96 * found["intercept_se"]
    assert 0.85 < inside.mean() <= 1.0
    np.testing.assert_allclose(found["intercept_se"] ** 2, found["intercept_variance"])
    passed = fitted.items.loc["real"].iloc[0]
    share = 300.5 / 301
    variance = share * (1 - share) / 301
    assert passed["intercept_variance"] == pytest.approx(variance / (share * (1 - share)) ** 2)
    told = fitted.predict([fitted.models.index[0]], [("coin", found.index[3])]).iloc[0]
    assert told["upper"] - told["lower"] > 0.05
