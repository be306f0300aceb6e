"""Estimator `joint` against a projected-Adam reference, its own ends, and its constraints."""

import dask.array as da
import numpy as np
import pandas as pd
import pytest
from scipy.special import expit

import mtlirt
from mtlirt.errors import InputError
from mtlirt.responses.matrix import DomainResponses, Responses
from mtlirt.simulate.designs import paper_design
from mtlirt.simulate.generate import simulate


@pytest.fixture(scope="module")
def paper():
    return simulate(paper_design(0.3), seed=3)


@pytest.fixture(scope="module")
def small():
    """Five domains of 20-40 items, 60 models."""
    rng = np.random.default_rng(2)
    shared = rng.normal(size=60)
    blocks = {}
    for t, items in enumerate((20, 25, 30, 35, 40)):
        trait = 0.9 * shared + 0.45 * rng.normal(size=60)
        eta = trait[:, None] * rng.uniform(0.5, 1.5, items) + rng.uniform(-1, 1, items)
        blocks[f"d{t}"] = (rng.random(eta.shape) < expit(eta)).astype(np.int8)
    return blocks


def lazy(blocks, chunks=-1):
    return {name: da.from_array(block, chunks=chunks) for name, block in blocks.items()}


def arrays(responses):
    return {name: np.asarray(part.array) for name, part in responses.domains.items()}


def wide(fitted, column="mean"):
    return fitted.traits[column].to_numpy().reshape(-1, len(fitted.domains))


def brute_objective(blocks, fitted, penalty):
    """Of the tables of a fit, cell by cell."""
    traits = wide(fitted)
    general = fitted.models["general"].to_numpy()
    models = len(traits)
    strength = penalty * max(models / np.sqrt(min(models, b.shape[1])) for b in blocks.values())
    total = 0.0
    for t, (name, block) in enumerate(blocks.items()):
        items = fitted.items.loc[name]
        eta = traits[:, [t]] * items["slope"].to_numpy() + items["intercept"].to_numpy()
        seen = block >= 0
        loss = np.where(seen, np.logaddexp(0, eta) - np.maximum(block, 0) * eta, 0.0).sum()
        cosine = general @ traits[:, t] / (np.linalg.norm(general) * np.linalg.norm(traits[:, t]))
        total += loss / (seen.sum() / models)
        total += strength * np.sqrt(max(1 - cosine**2, 0.0))
    return total


def projected_adam(blocks, penalty, steps=600):
    """Minimise the paper's objective by Adam with projection; knows nothing of the package."""
    names = list(blocks)
    models = len(blocks[names[0]])
    strength = penalty * max(models / np.sqrt(min(models, b.shape[1])) for b in blocks.values())

    def sphere(x):
        x = x - x.mean()
        return x * np.sqrt(models) / np.linalg.norm(x)

    x = {("theta", n): sphere(blocks[n].mean(axis=1)) for n in names}
    for n in names:
        share = np.clip(blocks[n].mean(axis=0), 0.02, 0.98)
        x["a", n], x["d", n] = np.ones(len(share)), np.log(share / (1 - share))
    x["g", ""] = sphere(sum(x["theta", n] for n in names))
    first = {key: np.zeros_like(value) for key, value in x.items()}
    second = {key: np.zeros_like(value) for key, value in x.items()}
    best = np.inf
    for k in range(1, steps + 1):
        rate = 0.05 * 0.5 * (1 + np.cos(np.pi * k / steps)) + 1e-5
        gradient, value = {("g", ""): np.zeros(models)}, 0.0
        g = x["g", ""]
        for n in names:
            theta, a, d, y = x["theta", n], x["a", n], x["d", n], blocks[n]
            eta = np.outer(theta, a) + d
            residual = expit(eta) - y
            value += (np.logaddexp(0, eta) - y * eta).sum() / y.shape[1]
            cosine = g @ theta / models
            sine = np.sqrt(max(1 - cosine**2, 1e-16))
            value += strength * sine
            pull = -strength * cosine / sine / models
            gradient["theta", n] = residual @ a / y.shape[1] + pull * (g - cosine * theta)
            gradient["a", n] = residual.T @ theta / y.shape[1]
            gradient["d", n] = residual.sum(axis=0) / y.shape[1]
            gradient["g", ""] += pull * (theta - cosine * g)
        best = min(best, value)
        for key in x:
            first[key] = 0.9 * first[key] + 0.1 * gradient[key]
            second[key] = 0.999 * second[key] + 0.001 * gradient[key] ** 2
            step = (first[key] / (1 - 0.9**k)) / (np.sqrt(second[key] / (1 - 0.999**k)) + 1e-12)
            x[key] = x[key] - rate * step
            if key[0] in ("theta", "g"):
                x[key] = sphere(x[key])
            else:
                x[key] = np.clip(x[key], 0 if key[0] == "a" else -4, 4)
    return best


@pytest.mark.parametrize("penalty", [0.15, 0.35])
def test_reaches_the_objective_of_projected_adam(paper, penalty):
    blocks = arrays(paper.responses)
    fitted = mtlirt.fit(paper.responses, estimator="joint", penalty=penalty, threads=1)
    reference = projected_adam(blocks, penalty)
    assert fitted.info["objective"] <= reference * (1 + 1e-5)
    assert fitted.info["objective"] >= reference * (1 - 1e-3)
    np.testing.assert_allclose(
        brute_objective(blocks, fitted, penalty), fitted.info["objective"], rtol=1e-8
    )


@pytest.mark.parametrize("penalty", [0.3, 0.45, 1.0, 3.0])
def test_is_never_above_global_and_meets_it_at_large_penalties(paper, penalty):
    whole = mtlirt.fit(paper.responses, estimator="global", threads=1)
    fitted = mtlirt.fit(paper.responses, estimator="joint", penalty=penalty, threads=1)
    assert fitted.info["objective"] <= whole.info["objective"] * (1 + 1e-8)
    if penalty >= 1.0:
        assert fitted.domains["fused"].all()
        np.testing.assert_allclose(fitted.info["objective"], whole.info["objective"], rtol=1e-8)
        np.testing.assert_allclose(wide(fitted), wide(whole), atol=1e-3)


def test_at_no_penalty_is_local(small):
    none = mtlirt.fit(lazy(small), estimator="joint", penalty=0.0)
    local = mtlirt.fit(lazy(small), estimator="local")
    pd.testing.assert_frame_equal(none.items, local.items)
    pd.testing.assert_frame_equal(none.traits, local.traits)
    pd.testing.assert_frame_equal(none.models, local.models)


@pytest.mark.parametrize("penalty", [0.1, 0.4, 0.8])
def test_the_objective_never_rises_and_the_constraints_hold(paper, penalty):
    fitted = mtlirt.fit(paper.responses, estimator="joint", penalty=penalty, threads=1)
    objective = fitted.history["objective"].to_numpy()
    assert (np.diff(objective) <= 1e-8 * objective[:-1]).all()
    constrained(fitted)


def constrained(fitted):
    columns = [*wide(fitted).T, fitted.models["general"].to_numpy()]
    for values in columns:
        assert abs(values.mean()) <= 1e-8
        assert abs(np.linalg.norm(values) - np.sqrt(len(values))) <= 1e-8 * np.sqrt(len(values))
    assert np.abs(wide(fitted)).max() <= 4 + 1e-8
    assert fitted.items["slope"].between(0, 4).all()
    assert fitted.items["intercept"].between(-4, 4).all()
    assert (fitted.domains["cosine"] * 1.0).sum() >= 0


def test_constraints_hold_where_the_box_is_active():
    """Few items: some models pass everything, and would go to infinity."""
    rng = np.random.default_rng(6)
    trait = rng.normal(size=400)
    blocks = {}
    for t in range(4):
        eta = trait[:, None] * rng.uniform(1, 3, 8) + rng.uniform(-1, 1, 8)
        blocks[f"d{t}"] = (rng.random(eta.shape) < expit(eta)).astype(np.int8)
        blocks[f"d{t}"][0] = 1
        blocks[f"d{t}"][:3, -1] = [1, 0, 1]
    for estimator in ("local", "global", "joint"):
        options = {"penalty": 0.2} if estimator == "joint" else {}
        fitted = mtlirt.fit(lazy(blocks), estimator=estimator, **options)
        constrained(fitted)
        objective = fitted.history["objective"].to_numpy()
        assert (np.diff(objective) <= 1e-8 * objective[:-1]).all()
        assert fitted.items["at_limit"].any()


@pytest.mark.parametrize("penalty", [0.2, 0.4])
def test_two_tolerances_end_at_one_objective(paper, penalty):
    loose, tight = (
        mtlirt.fit(
            paper.responses, estimator="joint", penalty=penalty, tolerance=tolerance, threads=1
        )
        for tolerance in (1e-3, 1e-5)
    )
    assert tight.info["rounds"] > loose.info["rounds"]
    np.testing.assert_allclose(loose.info["objective"], tight.info["objective"], rtol=1e-6)


@pytest.mark.parametrize(
    ("h", "seed", "penalty"),
    [(0.3, 109, 0.35), (0.3, 109, 0.4), (0.3, 13, 0.4), (0.2, 108, 0.45), (0.4, 101, 0.45)],
)
def test_two_tolerances_end_at_one_objective_where_domains_fuse(h, seed, penalty):
    responses = simulate(paper_design(h), seed=seed).responses
    options = {"estimator": "joint", "penalty": penalty, "threads": 1}
    loose, tight = (mtlirt.fit(responses, tolerance=t, **options) for t in (1e-3, 1e-5))
    np.testing.assert_allclose(loose.info["objective"], tight.info["objective"], rtol=1e-6)


def test_a_domain_leaves_the_general_trait_before_the_last_round():
    """One tolerance ended while a domain was about to leave, 3.6e-6 above the other."""
    rng = np.random.default_rng([9, 3009])
    general = rng.permutation(np.linspace(-1, 1, 100))
    general *= 10 / np.linalg.norm(general)
    free = np.column_stack([np.ones(100), general, rng.normal(size=(100, 18))])
    alpha = 0.3 * np.r_[1, rng.uniform(-1, 1, 17)]
    traits = np.sqrt(1 - alpha**2) * general[:, None] + 10 * alpha * np.linalg.qr(free)[0][:, 2:]
    blocks = {}
    for t, count in enumerate((50, 60, 70, 80, 90, 100) * 3):
        slope, intercept = rng.uniform(0.5, 1.5, count), rng.uniform(-1, 1, count)
        chance = expit(traits[:, [t]] * slope + intercept)
        blocks[f"d{t:02d}"] = (rng.random(chance.shape) < chance).astype(np.int8)
    options = {"estimator": "joint", "penalty": 0.4, "threads": 1}
    loose, tight = (mtlirt.fit(lazy(blocks), tolerance=t, **options) for t in (1e-3, 1e-5))
    np.testing.assert_allclose(loose.info["objective"], tight.info["objective"], rtol=1e-6)


@pytest.mark.parametrize("missing", [False, True])
def test_chunks_and_order_do_not_matter(small, missing):
    if missing:
        rng = np.random.default_rng(4)
        small = {
            name: np.where(rng.random(block.shape) < 0.2, np.int8(-1), block)
            for name, block in small.items()
        }
    options = {"estimator": "joint", "penalty": 0.1}
    whole = mtlirt.fit(lazy(small), **options)
    split = mtlirt.fit(lazy(small, (23, 9)), **options)
    order = np.random.default_rng(1).permutation(60)
    shuffled = mtlirt.fit(lazy({name: block[order] for name, block in small.items()}), **options)
    np.testing.assert_allclose(wide(split), wide(whole), atol=1e-6)
    np.testing.assert_allclose(split.items["slope"], whole.items["slope"], atol=1e-6)
    np.testing.assert_allclose(wide(shuffled), wide(whole)[order], atol=1e-6)
    np.testing.assert_allclose(shuffled.info["objective"], whole.info["objective"], rtol=1e-10)


def test_equal_runs_are_equal(small):
    one, two = (mtlirt.fit(lazy(small), estimator="joint", penalty=0.3) for _ in range(2))
    assert one.items.equals(two.items)
    assert one.traits.equals(two.traits)


def test_missing_cells_enter_no_sum(small):
    rng = np.random.default_rng(4)
    holes = {
        name: np.where(rng.random(block.shape) < 0.3, np.int8(-1), block)
        for name, block in small.items()
    }
    fitted = mtlirt.fit(lazy(holes), estimator="joint", penalty=0.2)
    np.testing.assert_allclose(
        brute_objective(holes, fitted, 0.2), fitted.info["objective"], rtol=1e-7
    )
    constrained(fitted)


def test_per_domain_lambda_pulls_longer_domains_less(small):
    common, own = (
        mtlirt.fit(lazy(small), estimator="joint", penalty=0.1, lambda_scaling=scaling)
        for scaling in ("common", "per_domain")
    )
    assert own.domains["cosine"].iloc[-1] < common.domains["cosine"].iloc[-1]


def test_models_without_a_domain_are_an_error_or_left_out_and_listed(small):
    holes = {name: block.copy() for name, block in small.items()}
    holes["d1"][[3, 7]] = -1
    with pytest.raises(InputError, match=r"2 of 60 models lack one, such as '3' of domain 'd1'"):
        mtlirt.fit(lazy(holes), estimator="joint", penalty=0.2)
    for estimator in ("joint", "local", "global", "accuracy"):
        options = {"penalty": 0.2} if estimator == "joint" else {}
        fitted = mtlirt.fit(lazy(holes), estimator=estimator, complete_models=True, **options)
        kept = np.setdiff1d(np.arange(60), [3, 7])
        without = mtlirt.fit(
            lazy({name: block[kept] for name, block in holes.items()}),
            estimator=estimator,
            **options,
        )
        assert fitted.info["models_left_out"] == 2
        assert list(fitted.models.index[fitted.models["general"].isna()]) == ["3", "7"]
        np.testing.assert_allclose(wide(fitted)[kept], wide(without), atol=1e-8)
        assert len(fitted.models) == 60


def test_constant_items_are_left_out(small):
    blocks = {name: block.copy() for name, block in small.items()}
    constant = np.ones((60, 2), np.int8)
    constant[:, 1] = 0
    longer = blocks | {"d0": np.concatenate([blocks["d0"], constant], axis=1)}
    plain = mtlirt.fit(lazy(blocks), estimator="joint", penalty=0.2)
    fitted = mtlirt.fit(lazy(longer), estimator="joint", penalty=0.2)
    np.testing.assert_allclose(fitted.info["objective"], plain.info["objective"], rtol=1e-9)
    last = fitted.items.loc["d0"].iloc[-2:]
    assert last["constant"].all()
    assert (last["slope"] == 0).all()


def test_a_domain_of_one_answer_is_refused(small):
    with pytest.raises(InputError, match="domain 'same': all models pass, or all fail"):
        mtlirt.fit(lazy(small | {"same": np.ones((60, 5), np.int8)}), estimator="local")


def test_accuracy_is_the_standardised_share(small):
    fitted = mtlirt.fit(lazy(small), estimator="accuracy")
    share = small["d2"].mean(axis=1)
    np.testing.assert_allclose(wide(fitted)[:, 2], (share - share.mean()) / share.std())
    assert fitted.items["slope"].isna().all()
    board = mtlirt.leaderboard(fitted)
    assert board["lower"].isna().all()
    assert board["rank"].iloc[0] == 1


def test_point_estimates_score_no_others(small):
    fitted = mtlirt.fit(lazy(small), estimator="local")
    with pytest.raises(InputError, match="fit by 'marginal' to score others"):
        mtlirt.score(fitted, lazy(small))


@pytest.mark.parametrize("estimator", ["marginal", "separate"])
def test_general_is_the_sine_median_of_any_traits(small, estimator):
    fitted = mtlirt.fit(lazy(small), estimator=estimator)
    general = fitted.models["general"].to_numpy()
    np.testing.assert_allclose(np.linalg.norm(general), np.sqrt(60), rtol=0.02)
    traits = wide(fitted)
    sines = [np.sqrt(1 - np.corrcoef(general, trait)[0, 1] ** 2) for trait in traits.T]
    for t in range(5):
        others = [np.sqrt(1 - min(np.corrcoef(traits[:, t], x)[0, 1] ** 2, 1)) for x in traits.T]
        assert sum(sines) <= sum(others) + 1e-6
    assert (fitted.models["general_sd"] > 0).all()
    scored = mtlirt.score(fitted, lazy(small))
    np.testing.assert_allclose(scored.models["general"], general, atol=1e-8)


def test_options_are_checked(small):
    for options, message in [
        ({"penalty": -1.0}, "penalty -1.0 is not a number from 0 up"),
        ({"penalty": 1e300}, r"penalty 1e\+300 is beyond 1e\+12"),
        ({"penalty": "best"}, "penalty 'best' is not a number from 0 up"),
        ({"penalties": ()}, "penalties: name at least one"),
        ({"penalties": (0.1, 0.1)}, "occurs twice"),
        ({"folds": 1}, "folds 1 is not a whole number from 2 up"),
        ({"lambda_scaling": "odd"}, "not one of common, per_domain"),
        ({"rank": 2}, "rank 2: estimator 'joint' does not use it"),
    ]:
        with pytest.raises(InputError, match=message):
            mtlirt.fit(lazy(small), estimator="joint", **options)
    with pytest.raises(InputError, match="'marginal' does not use it"):
        mtlirt.fit(lazy(small), penalty=0.1)


def test_a_guessing_floor_is_taken_into_account():
    """Slopes and traits of a simulation with a floor of .25, with and without being told."""
    rng = np.random.default_rng(12)
    models, counts = 600, (250, 250, 250)
    shared = rng.normal(size=models)
    blocks, slopes, truth = {}, [], []
    for t, items in enumerate(counts):
        trait = 0.9 * shared + np.sqrt(1 - 0.81) * rng.normal(size=models)
        trait = (trait - trait.mean()) / trait.std()
        slope, intercept = rng.uniform(0.7, 1.6, items), rng.uniform(-1, 1, items)
        p = 0.25 + 0.75 * expit(np.outer(trait, slope) + intercept)
        blocks[f"d{t}"] = (rng.random(p.shape) < p).astype(np.int8)
        slopes.append(slope)
        truth.append(trait)
    plain = lazy(blocks)
    index = pd.MultiIndex.from_tuples(
        [(name, str(j)) for name, block in blocks.items() for j in range(block.shape[1])],
        names=["domain", "item_id"],
    )
    told = Responses(
        {name: DomainResponses(array) for name, array in plain.items()},
        pd.DataFrame(index=pd.Index([str(i) for i in range(models)], name="model_id")),
        pd.DataFrame({"guessing": 0.25}, index=index),
    )
    slopes = np.concatenate(slopes)
    with_floor = mtlirt.fit(told, estimator="joint", penalty=0.05)
    without = mtlirt.fit(plain, estimator="joint", penalty=0.05)
    ratio = (with_floor.items["slope"] / slopes).median()
    ignored = (without.items["slope"] / slopes).median()
    assert abs(ratio - 1) < 0.07  # joint estimates of slopes run a little high
    assert ignored < 0.85
    errors = [
        np.sqrt(1 - np.corrcoef(wide(with_floor)[:, t], truth[t])[0, 1] ** 2) for t in range(3)
    ]
    worse = [np.sqrt(1 - np.corrcoef(wide(without)[:, t], truth[t])[0, 1] ** 2) for t in range(3)]
    assert np.mean(errors) < np.mean(worse)


@pytest.mark.parametrize(("models", "solvers"), [(40, 1), (100, 2), (100, 6)])
@pytest.mark.parametrize("options", [{"penalty": 0.1}, {"penalties": (0.05, 0.3)}])
def test_a_domain_that_few_models_solve_is_fitted(models, solvers, options):
    rng = np.random.default_rng(5)
    shared = rng.normal(size=models)
    blocks = {}
    for t, items in enumerate((20, 30)):
        eta = shared[:, None] + rng.normal(size=(models, 1)) + rng.normal(size=items)
        blocks[f"d{t}"] = (rng.random(eta.shape) < 1 / (1 + np.exp(-eta))).astype(np.int8)
    blocks["hard"] = np.zeros((models, 8), np.int8)
    for k, best in enumerate(np.argsort(-shared)[:solvers]):
        blocks["hard"][best, [k, (k + 4) % 8]] = 1
    found = mtlirt.fit(
        {name: da.from_array(block, chunks=-1) for name, block in blocks.items()},
        estimator="joint",
        threads=1,
        **options,
    )
    traits = found.traits["mean"].unstack()
    assert traits.abs().to_numpy().max() <= 4 + 1e-8
    np.testing.assert_allclose((traits**2).mean(), 1.0, atol=1e-8)
