"""Fits and scores of items that may be guessed: against brute force and against the truth."""

from dataclasses import replace
from decimal import Decimal

import dask.array as da
import numpy as np
import pandas as pd
import pytest
from scipy.special import expit, logsumexp

from mtlirt.cluster.local import Inline
from mtlirt.engine.fit import fit, score
from mtlirt.engine.marginal import null_log_likelihood
from mtlirt.engine.placement import place
from mtlirt.engine.scoring import score_models
from mtlirt.errors import InputError
from mtlirt.irt.curves import Items
from mtlirt.irt.representation import independent
from mtlirt.responses.matrix import DomainResponses, Responses
from mtlirt.simulate.designs import Design
from mtlirt.simulate.generate import simulate
from mtlirt.simulate.laws import FactorTraits, intercept_items
from mtlirt.snapshots.load import load
from mtlirt.snapshots.publish import publish

TABLES = ("items", "domains", "models", "traits", "representation")


def guessed_items(rng, items):
    """exp N(0, .3) slopes, N(.3, 1.2) intercepts, floors of a quarter."""
    return replace(intercept_items(rng, items), guessing=0.25)


DESIGN = Design(
    "guessed",
    tuple((f"d{k}", 60) for k in range(3)),
    1500,
    guessed_items,
    FactorTraits(rank=1, uniqueness=0.3),
)


def without_floor(responses):
    return Responses(responses.domains, responses.models, responses.items[[]])


def rechunked(responses, chunks):
    domains = {
        name: DomainResponses(part.array.rechunk(chunks))
        for name, part in responses.domains.items()
    }
    return Responses(domains, responses.models, responses.items)


def responses_of(guessing=None, **domains):
    """Responses over arrays, items i0, i1, ... by domain, with a column `guessing`."""
    arrays = {name: np.asarray(block, np.int8) for name, block in domains.items()}
    index = pd.MultiIndex.from_tuples(
        [(name, f"i{j}") for name, block in arrays.items() for j in range(block.shape[1])],
        names=["domain", "item_id"],
    )
    models = pd.Index([f"m{i}" for i in range(len(next(iter(arrays.values()))))], name="model_id")
    columns = {} if guessing is None else {"guessing": guessing}
    return Responses(
        {name: DomainResponses(da.from_array(block)) for name, block in arrays.items()},
        pd.DataFrame(index=models),
        pd.DataFrame(columns, index=index),
    )


@pytest.fixture(scope="module")
def simulation():
    return simulate(DESIGN, seed=3)


@pytest.fixture(scope="module")
def fitted(simulation):
    return fit(simulation.responses)


@pytest.fixture(scope="module")
def sparse():
    """Missing cells and domains, some items without a floor."""
    found = simulate(DESIGN, models=500, seed=5, missing=0.3, domain_missing=0.2).responses
    items = found.items.copy()
    items.loc["d1", "guessing"] = np.where(np.arange(60) < 20, 0.0, 0.25)
    items.loc["d2", "guessing"] = 0.0
    return Responses(found.domains, found.models, items)


def standardised(truth):
    """True traits and items with mean 0 and variance 1 over these models, as in a fit."""
    mean, sd = truth.traits.mean(), truth.traits.std(ddof=0)
    domain = truth.items.index.get_level_values("domain")
    m, s = mean[domain].to_numpy(), sd[domain].to_numpy()
    slope = truth.items["slope"].to_numpy()
    return (
        ((truth.traits - mean) / sd).stack().to_numpy(),
        slope * s,
        truth.items["intercept"].to_numpy() + slope * m,
    )


def slope_of(y, x):
    return np.polyfit(x, y, 1)[0]


def test_items_and_traits_are_recovered_without_bias(simulation, fitted):
    traits, slope, intercept = standardised(simulation.truth)
    assert fitted.info["converged"]
    mean, sd = fitted.traits["mean"].to_numpy(), fitted.traits["sd"].to_numpy()
    # estimates are posterior means: the truth regresses on them with slope 1; 180 items with
    # errors of .12 and .09, 4,500 traits with errors of .35, which three a model share
    assert abs(slope_of(slope, fitted.items["slope"]) - 1.0) < 0.1
    assert abs(slope_of(intercept, fitted.items["intercept"]) - 1.0) < 0.03
    assert abs(slope_of(traits, mean) - 1.0) < 0.03
    assert abs((fitted.items["slope"] - slope).mean()) < 0.04
    assert abs((fitted.items["intercept"] - intercept).mean()) < 0.04
    assert abs((mean - traits).mean()) < 0.02
    assert np.sqrt(((fitted.items["slope"] - slope) ** 2).mean()) < 0.15
    assert 0.93 < (np.abs(mean - traits) < 1.96 * sd).mean() < 0.97
    assert 0.9 < (np.abs(mean - traits) < 1.6449 * sd).mean() / 0.9 < 1.1
    assert (fitted.items["guessing"] == 0.25).all()


def test_standard_errors_of_items_are_those_of_their_errors(simulation, fitted):
    _, slope, intercept = standardised(simulation.truth)
    for name, truth in (("slope", slope), ("intercept", intercept)):
        z = (fitted.items[name] - truth) / np.sqrt(fitted.items[f"{name}_variance"])
        assert 0.85 < np.sqrt((z**2).mean()) < 1.25


def test_ignoring_the_floor_is_visibly_biased(simulation, fitted):
    traits, slope, intercept = standardised(simulation.truth)
    ignored = fit(without_floor(simulation.responses))
    assert (ignored.items["slope"] - slope).mean() < -0.15
    assert (ignored.items["intercept"] - intercept).mean() > 0.5
    assert fitted.info["log_likelihood"] > ignored.info["log_likelihood"] + 100
    errors = [((one.traits["mean"] - traits) ** 2).mean() for one in (fitted, ignored)]
    assert errors[0] < 0.97 * errors[1]


def test_a_column_of_zeros_or_nulls_changes_nothing(simulation):
    responses = rechunked(without_floor(simulation.responses), (400, 40))
    plain = fit(responses)
    for nothing in (0.0, None, pd.NA, 0):
        items = responses.items.assign(guessing=nothing)
        found = fit(Responses(responses.domains, responses.models, items))
        for table in TABLES:
            pd.testing.assert_frame_equal(
                getattr(found, table), getattr(plain, table), check_exact=True
            )
        assert found.info == plain.info


def test_domains_without_floors_keep_the_shared_curve(sparse):
    guessing = [part.guessing.any() for part in place(Inline(), sparse)]
    assert guessing == [True, True, False]
    complete = responses_of([0.0, 0.0, 0.3, 0.0], a=np.eye(2), b=np.eye(2))
    assert [part.one_curve for part in place(Inline(), complete)] == [True, False]


@pytest.mark.parametrize("chunks", [(200, -1), (-1, 25), (130, 17)])
def test_chunks(sparse, chunks):
    whole, split = fit(sparse), fit(rechunked(sparse, chunks))
    for table in TABLES:
        pd.testing.assert_frame_equal(
            getattr(whole, table), getattr(split, table), check_exact=False, rtol=0, atol=1e-6
        )
    np.testing.assert_allclose(
        whole.info["log_likelihood"], split.info["log_likelihood"], rtol=1e-9
    )


def test_complete_blocks_in_chunks(simulation, fitted):
    split = fit(rechunked(simulation.responses, (700, 35)))
    for table in TABLES:
        pd.testing.assert_frame_equal(
            getattr(fitted, table), getattr(split, table), check_exact=False, rtol=0, atol=1e-6
        )


def test_published_traits_are_those_that_score_returns(sparse):
    found = fit(sparse)
    assert found.info["converged"]
    # the floors are the fit's, whatever the responses scored say
    items = sparse.items.assign(guessing="nonsense")
    scores = score(found, Responses(sparse.domains, sparse.models, items))
    columns = ["mean", "sd", "site_precision", "site_shift"]
    pd.testing.assert_frame_equal(scores.traits[columns], found.traits[columns], rtol=0, atol=1e-8)
    alike = found.models.drop(columns="weight")
    pd.testing.assert_frame_equal(scores.models, alike, rtol=0, atol=1e-8)


@pytest.mark.parametrize("estimate", ["eap", "map"])
def test_a_model_gets_the_same_score_alone_and_with_some_items_in_another_order(sparse, estimate):
    found = fit(sparse)
    batch = score(found, sparse, estimate=estimate).traits
    rng = np.random.default_rng(1)
    picked = {name: rng.permutation(60) for name in sparse.domains}
    domains = {
        name: DomainResponses(part.array[[17]][:, picked[name]])
        for name, part in sparse.domains.items()
    }
    order = np.concatenate([60 * t + picked[name] for t, name in enumerate(domains)])
    responses = Responses(domains, sparse.models.iloc[[17]], sparse.items.iloc[order])
    alone = score(found, responses, estimate=estimate).traits
    assert found.info["settled"]
    for column in ("mean", "sd"):
        np.testing.assert_allclose(
            alone[column], batch.loc[[sparse.models.index[17]], column], rtol=0, atol=1e-9
        )


def chance(theta, items):
    eta = np.multiply.outer(theta, items.slope) + items.intercept
    return items.guessing + (1 - items.guessing) * expit(eta)


@pytest.mark.parametrize("missing", [0.0, 0.4])
def test_expectations_and_log_likelihoods_are_brute_force_integrals(missing):
    rng = np.random.default_rng(8)
    items = Items(rng.lognormal(0, 0.3, 25), rng.normal(0.3, 1.2, 25), np.full(25, 0.25))
    p = chance(rng.normal(size=12), items)
    given = np.where(rng.random(p.shape) < missing, -1, rng.random(p.shape) < p)
    given[0], given[1] = 1, 0
    placed = place(Inline(), responses_of(items.guessing, d=given))
    known = [np.zeros((25, 3))]
    found = score_models(Inline(), placed, [items], known, independent(1), "eap")
    theta = np.linspace(-10, 10, 4001)
    p = chance(theta, items)
    joint = np.log(p) @ (given == 1).T + np.log1p(-p) @ (given == 0).T
    joint += (-0.5 * theta**2 - 0.5 * np.log(2 * np.pi))[:, None]
    total = logsumexp(joint, axis=0)
    weight = np.exp(joint - total)
    mean = theta @ weight
    sd = np.sqrt(theta**2 @ weight - mean**2)
    np.testing.assert_allclose(found.mean[:, 0], mean, atol=1e-7)
    np.testing.assert_allclose(found.sd[:, 0], sd, rtol=1e-7)
    truth = total.sum() + 12 * np.log(theta[1] - theta[0])
    np.testing.assert_allclose(found.log_likelihood, truth, rtol=1e-10)
    modal = score_models(Inline(), placed, [items], known, independent(1), "map")
    np.testing.assert_allclose(modal.mean[:, 0], theta[joint.argmax(axis=0)], atol=3e-3)


def test_a_fit_without_priors_is_a_stationary_point_of_the_brute_force_likelihood():
    rng = np.random.default_rng(2)
    items = Items(rng.lognormal(0, 0.2, 8), rng.normal(0.5, 0.7, 8), np.full(8, 0.2))
    p = chance(rng.normal(size=1000), items)
    given = (rng.random(p.shape) < p).astype(np.int8)
    given[rng.random(p.shape) < 0.1] = -1
    found = fit(responses_of(items.guessing, d=given), priors=False, tolerance=1e-6)
    assert found.info["converged"]
    theta = np.linspace(-7, 7, 141)
    prior = (-0.5 * theta**2 - 0.5 * np.log(2 * np.pi) + np.log(theta[1] - theta[0]))[:, None]

    right, wrong = (given.T == 1).astype(float), (given.T == 0).astype(float)

    def log_likelihood(part):
        p = chance(theta, part)
        joint = np.log(p) @ right + np.log1p(-p) @ wrong + prior
        return logsumexp(joint, axis=0).sum()

    columns = ["slope", "intercept", "guessing"]
    best = Items(*found.items[columns].to_numpy().T.copy())
    np.testing.assert_allclose(found.info["log_likelihood"], log_likelihood(best), rtol=1e-9)
    for field in ("slope", "intercept"):
        for j in range(8):
            sides = []
            for step in (1e-3, -1e-3):
                value = getattr(best, field).copy()
                value[j] += step
                sides.append(log_likelihood(best._replace(**{field: value})))
            assert abs(sides[0] - sides[1]) / 2e-3 < 0.05  # information is about 70


def test_the_null_model_is_the_best_of_equal_chances():
    rng = np.random.default_rng(3)
    given = (rng.random((400, 6)) < [0.1, 0.25, 0.3, 0.6, 0.99, 1.0]).astype(np.int8)
    (domain,) = place(Inline(), responses_of([0.25, 0.25, 0.25, 0.25, 0.0, 0.5], d=given))
    share = np.maximum(given.mean(axis=0), [0.25, 0.25, 0.25, 0.25, 0.0, 0.5])
    with np.errstate(divide="ignore", invalid="ignore"):
        wrong = np.where(share < 1, np.log1p(-share), 0.0)
    best = (given * np.log(share) + (1 - given) * wrong).sum()
    found = null_log_likelihood(domain)
    assert best - 6.0 < found <= best + 1e-9  # half a success and half a failure cost a nat an item


def test_noise_speaks_of_no_trait():
    rng = np.random.default_rng(4)
    trait = rng.normal(size=(300, 1))
    guesses, coins = rng.random((300, 40)) < 0.25, rng.random((300, 40)) < 0.5
    real = rng.random((300, 40)) < 0.25 + 0.75 * expit(trait + rng.normal(size=40))
    floors = np.full(120, 0.25)
    found = fit(responses_of(floors, guesses=guesses, coins=coins, real=real))
    assert found.info["converged"]
    assert found.domains.loc["coins", "flat"]
    assert not found.domains.loc["real", "flat"]
    precision = found.traits["site_precision"].unstack("domain")
    assert precision[["guesses", "coins"]].max(axis=None) < 0.05
    assert precision["real"].mean() > 2.0
    assert np.corrcoef(found.traits.xs("real", level="domain")["mean"], trait[:, 0])[0, 1] > 0.85


def test_items_below_their_floor_do_no_harm():
    rng = np.random.default_rng(5)
    trait = rng.normal(size=(400, 1))
    block = rng.random((400, 40)) < 0.25 + 0.75 * expit(trait + rng.normal(size=40))
    block[:, :4] = rng.random((400, 4)) < 0.15
    block[:, 4], block[:, 5] = True, False
    found = fit(responses_of(np.full(40, 0.25), d=block))
    without = fit(responses_of(np.full(34, 0.25), d=block[:, 6:]))
    assert found.info["converged"]
    assert list(np.flatnonzero(found.items["constant"])) == [4, 5]
    assert np.isfinite(found.items.drop(columns="difficulty")).all(axis=None)
    np.testing.assert_allclose(found.traits["mean"], without.traits["mean"], atol=0.05)
    np.testing.assert_allclose(found.traits["sd"], without.traits["sd"], atol=0.03)


@pytest.mark.parametrize(
    "value", [1.0, -0.01, 1.5, np.inf, "0.25", "nan", True, np.True_, Decimal("0.2"), [0.2]]
)
def test_what_is_no_floor_is_refused(value):
    column = pd.Series([0.2, None, None, 0.0], dtype=object)
    column[2] = value
    responses = responses_of(column.to_numpy(), a=np.eye(2), b=np.eye(2))
    with pytest.raises(InputError) as refused:
        fit(responses)
    message = str(refused.value)
    assert message.startswith("domain 'b', item 'i0': guessing is ")
    assert "expected a number in [0, 1); mend it in the item table, or leave it empty" in message
    assert "\n" not in message


@pytest.mark.parametrize("dtype", [object, "float64", "Float64", "float32"])
def test_floors_of_any_numeric_kind_are_read_and_null_is_none(dtype):
    column = pd.array([0.25, None, 0.5, 0], dtype=dtype)
    found = place(Inline(), responses_of(column, a=np.eye(2), b=np.eye(2)))
    np.testing.assert_array_equal([part.guessing for part in found], [[0.25, 0], [0.5, 0]])
    picked = {"b": np.array([1, 0])}
    (part,) = place(Inline(), responses_of(column, a=np.eye(2), b=np.eye(2)), picked)
    np.testing.assert_array_equal(part.guessing, [0, 0.5])


def test_a_snapshot_keeps_the_floors(simulation, fitted, tmp_path):
    publish(fitted, tmp_path / "snapshots")
    kept = load(tmp_path / "snapshots")
    pd.testing.assert_frame_equal(kept.items, fitted.items)
    assert list(kept.items.columns[:4]) == ["slope", "intercept", "guessing", "difficulty"]
    expected = -fitted.items["intercept"] / fitted.items["slope"]
    np.testing.assert_allclose(kept.items["difficulty"], expected)
    few = Responses(
        {name: DomainResponses(p.array[:5]) for name, p in simulation.responses.domains.items()},
        simulation.responses.models.iloc[:5],
        simulation.responses.items[[]],
    )
    traits = score(kept, few).traits
    np.testing.assert_allclose(traits["mean"], fitted.traits["mean"].iloc[:15], atol=1e-8)
    assert "guessing + (1 - guessing) sigma" in kept.info["convention"]


def test_simulated_floors_are_in_the_truth_and_in_the_responses_where_any_is():
    found = simulate(DESIGN, seed=3)
    assert (found.truth.items["guessing"] == 0.25).all()
    assert (found.responses.items["guessing"] == 0.25).all()
    plain = simulate(replace(DESIGN, items=intercept_items), seed=3)
    assert (plain.truth.items["guessing"] == 0.0).all()
    assert list(plain.responses.items.columns) == []
    pd.testing.assert_frame_equal(plain.truth.traits, found.truth.traits)
    truth = found.truth
    eta = truth.traits["d1"].to_numpy()[:, None] * truth.items.loc["d1", "slope"].to_numpy()
    p = 0.25 + 0.75 * expit(eta + truth.items.loc["d1", "intercept"].to_numpy())
    cells = np.asarray(found.responses.domains["d1"].array)
    z = (cells.mean(axis=0) - p.mean(axis=0)) / (np.sqrt((p * (1 - p)).sum(axis=0)) / 1500)
    assert np.abs(z).max() < 4
    # a floor only turns wrong answers into right ones
    assert (cells >= np.asarray(plain.responses.domains["d1"].array)).all()
