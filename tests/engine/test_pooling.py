"""Pooling must not hurt: domains that the others would take captive are fitted by themselves."""

from pathlib import Path

import dask.array as da
import numpy as np
import pandas as pd
import pytest

from mtlirt.engine import pooling, revision
from mtlirt.engine.fit import fit, score
from mtlirt.engine.pooling import better_alone
from mtlirt.simulate.generate import simulate

DATA = Path(__file__).parents[2] / "../shared/data/openllm_v1/responses.parquet"


def answers(trait, items, rng, steep=1.0):
    eta = trait[:, None] * steep * rng.lognormal(0, 0.2, items) + rng.normal(size=items)
    return (rng.random(eta.shape) < 1 / (1 + np.exp(-eta))).astype(np.int8)


def domains_of(traits, items, rng):
    return {f"d{t}": answers(trait, items, rng) for t, trait in enumerate(traits.T)}


def torn_domains(seed=1, models=300):
    """Four domains of one factor, and one with 10 items of another trait and 7 of the factor."""
    rng = np.random.default_rng(seed)
    factor = rng.normal(size=models)
    blocks = {
        f"d{k}": answers(0.95 * factor + 0.3 * rng.normal(size=models), 30, rng) for k in range(4)
    }
    trait = -0.3 * factor + np.sqrt(0.91) * rng.normal(size=models)
    groups = [answers(trait, 10, rng, steep=1.5), answers(factor, 7, rng, steep=1.5)]
    blocks["torn"] = np.concatenate(groups, axis=1)
    return blocks, trait


def fitted(blocks, chunks=None, **options):
    arrays = {
        name: da.from_array(block, chunks=chunks or block.shape) for name, block in blocks.items()
    }
    return fit(arrays, threads=1, **options)


def means(found, name):
    return found.traits.xs(name, level="domain")["mean"].to_numpy()


@pytest.fixture(scope="module")
def torn():
    return torn_domains()


@pytest.fixture(scope="module")
def adapted(torn):
    return fitted(torn[0])


def test_a_torn_domain_is_taken_captive_without_the_rule_and_not_with_it(torn, adapted):
    blocks, trait = torn
    captive = fitted(blocks, adapt=False)
    assert (captive.domains["pooling"] == "joint").all()
    assert np.corrcoef(means(captive, "torn"), trait)[0, 1] < 0
    assert list(adapted.domains["pooling"]) == ["joint"] * 4 + ["own"]
    assert np.corrcoef(means(adapted, "torn"), trait)[0, 1] > 0.75
    assert adapted.info["converged"]


def test_a_domain_by_itself_is_its_separate_fit(torn, adapted):
    alone = fitted({"torn": torn[0]["torn"]}, estimator="separate")
    # the slope prior is drawn to the pool of all domains, so not exactly
    np.testing.assert_allclose(means(adapted, "torn"), means(alone, "torn"), rtol=0, atol=0.1)
    for column in ("slope", "intercept"):
        np.testing.assert_allclose(
            adapted.items.loc["torn", column], alone.items.loc["torn", column], rtol=0, atol=0.1
        )


def test_its_trait_is_tied_to_the_others_as_it_correlates_with_them(torn, adapted):
    blocks = torn[0]
    others = [means(adapted, f"d{k}") for k in range(4)]
    alone = fitted({"torn": blocks["torn"]}, estimator="separate")
    expected = np.corrcoef(means(alone, "torn"), np.mean(others, axis=0))[0, 1]
    reliable = 1.0 - np.mean(alone.traits["sd"] ** 2)
    loading = adapted.representation.loc["torn", "factor_1"]
    assert loading == pytest.approx(expected / np.sqrt(reliable), abs=0.06)


def test_scores_with_frozen_items_are_the_published_traits(torn, adapted):
    blocks = {name: da.from_array(block) for name, block in torn[0].items()}
    scores = score(adapted, blocks, threads=1)
    columns = ["mean", "sd", "site_precision", "site_shift"]
    pd.testing.assert_frame_equal(
        scores.traits[columns], adapted.traits[columns], rtol=0, atol=1e-8
    )


def test_the_choice_does_not_depend_on_chunks(torn, adapted):
    split = fitted(torn[0], chunks=(77, 7))
    pd.testing.assert_frame_equal(split.domains, adapted.domains, rtol=0, atol=1e-6)
    np.testing.assert_allclose(split.traits["mean"], adapted.traits["mean"], rtol=0, atol=1e-6)


def test_missing_cells_and_models_without_the_domain(torn):
    blocks, trait = torn
    rng = np.random.default_rng(3)
    blocks = {name: np.where(rng.random(b.shape) < 0.1, -1, b) for name, b in blocks.items()}
    lack = rng.random(len(trait)) < 0.2
    blocks["torn"][lack] = -1
    found = fitted({name: block.astype(np.int8) for name, block in blocks.items()})
    assert list(found.domains["pooling"]) == ["joint"] * 4 + ["own"]
    assert np.corrcoef(means(found, "torn")[~lack], trait[~lack])[0, 1] > 0.7
    expected = found.representation.loc["torn", "factor_1"] * means(found, "d0")[lack]
    assert np.corrcoef(means(found, "torn")[lack], expected)[0, 1] > 0.95


def test_tied_domains_stay_tied():
    responses = simulate("demo", seed=1).responses
    with_rule, without = fit(responses, threads=1), fit(responses, threads=1, adapt=False)
    assert (with_rule.domains["pooling"] == "joint").all()
    pd.testing.assert_frame_equal(with_rule.traits, without.traits, rtol=0, atol=1e-9)


@pytest.fixture(scope="module")
def unclear():
    """Four domains of one factor, and one whose items contradict each other about it."""
    rng = np.random.default_rng(4)
    factor = rng.normal(size=300)
    blocks = {f"d{k}": answers(factor, 30, rng) for k in range(4)}
    blocks["unclear"] = np.concatenate(
        [answers(factor, 5, rng), answers(-factor, 6, rng, steep=1.3)], axis=1
    )
    return blocks, factor


def test_a_domain_whose_items_leave_its_sign_open_takes_that_of_the_others(unclear):
    blocks, factor = unclear
    for estimator in ({"estimator": "separate"}, {"adapt": False}):
        by_mean_slope = fitted(blocks, **estimator)
        assert np.corrcoef(means(by_mean_slope, "unclear"), factor)[0, 1] < -0.5
        assert not by_mean_slope.domains["sign_borrowed"].any()
    found = fitted(blocks)
    assert found.info["converged"]
    assert np.corrcoef(means(found, "unclear"), factor)[0, 1] > 0.9
    assert list(found.domains["sign_borrowed"]) == [False] * 4 + [True]
    assert found.items.loc["unclear", "slope"].mean() < 0.0


def test_domains_that_all_leave_their_sign_open_agree_with_each_other():
    rng = np.random.default_rng(1)
    factor = rng.normal(size=400)
    keys = [rng.permutation([1.0, -1.0] * 10) for _ in range(4)]
    blocks = {
        f"d{k}": np.column_stack([answers(sign * factor, 1, rng, steep=1.3) for sign in key])
        for k, key in enumerate(keys)
    }
    found = fitted(blocks)
    follows = [np.corrcoef(means(found, name), factor)[0, 1] for name in blocks]
    assert min(np.abs(follows)) > 0.9
    assert len(set(np.sign(follows))) == 1


def test_a_converged_fit_was_judged_as_it_is(torn, monkeypatch):
    judged, states = revision.judged_pooling, []

    def kept(executor, domains, state):
        states.append(state)
        return judged(executor, domains, state)

    monkeypatch.setattr(revision, "judged_pooling", kept)
    found = fitted(torn[0])
    assert list(found.domains["pooling"] == "own") == list(states[-1].alone)
    assert states[-1].alone.any()


def test_a_domain_keyed_the_other_way_round_throughout_keeps_its_sign(unclear):
    blocks, factor = unclear
    rng = np.random.default_rng(5)
    found = fitted({**blocks, "unclear": answers(-factor, 11, rng)})
    assert not found.domains["sign_borrowed"].any()
    assert np.corrcoef(means(found, "unclear"), factor)[0, 1] < -0.9


def test_the_models_that_judge_do_not_depend_on_their_order(torn, monkeypatch):
    monkeypatch.setattr(pooling, "MOST_MODELS", 150)
    monkeypatch.setattr(pooling, "STRUCTURE", 0.0)  # every domain is judged
    blocks = torn[0]
    rows = np.random.default_rng(6).permutation(len(torn[1]))
    columns = {name: np.random.default_rng(7).permutation(b.shape[1]) for name, b in blocks.items()}
    seen = []
    gains = pooling.common_slope_gains

    def kept(parts):
        found = gains(parts)
        seen.append(found.sum())
        return found

    monkeypatch.setattr(pooling, "common_slope_gains", kept)
    fitted(blocks)
    fitted({name: block[rows][:, columns[name]] for name, block in blocks.items()})
    assert len(seen) == 2 * (10 + 8)  # five domains, and in the end the four that stayed
    np.testing.assert_allclose(seen[18:], seen[:18], rtol=1e-6, atol=1e-9)


def test_domains_that_one_trait_explains_are_not_judged(torn, adapted, monkeypatch):
    judged = []
    left_out = pooling.left_out

    def noted(whole, *others):
        judged.append(whole.responses.shape[1])
        return left_out(whole, *others)

    monkeypatch.setattr(pooling, "left_out", noted)
    again = fitted(torn[0])
    assert judged == [17] * 2 * pooling.FOLDS  # the torn domain alone
    monkeypatch.setattr(pooling, "STRUCTURE", 0.0)
    pd.testing.assert_frame_equal(fitted(torn[0]).traits, again.traits)
    assert len(judged) == (2 + 10 + 8) * pooling.FOLDS  # and in the end the four that stayed


def test_growth_is_that_of_what_is_known_of_the_traits():
    precision = np.array([0.5, 2.0, 4.0])
    alone = 1 - np.mean(1 / (1 + 1.25 * precision))
    found = pooling.growth(np.ones(3), precision, 1.25)
    np.testing.assert_allclose(found, alone / (1 - np.mean(1 / (1 + precision))))
    assert 1.0 < pooling.growth(np.full(3, 8.0), precision, 1.25) < found
    assert pooling.growth(np.ones(3), np.zeros(3), 1.25) == 1.0


def test_separate_domains_are_their_own():
    found = fit(simulate("demo", models=60, seed=1).responses, estimator="separate", threads=1)
    assert (found.domains["pooling"] == "own").all()


def rmse(found, truth):
    errors = [means(found, f"d{t}") - column for t, column in enumerate(truth.T)]
    return np.sqrt(np.mean(np.square(errors)))


def standardised(traits):
    return (traits - traits.mean(axis=0)) / traits.std(axis=0)


def independent_traits(rng, models):
    return rng.normal(size=(models, 6))


def two_blocks(rng, models):
    factors = rng.normal(size=(models, 2))[:, [0, 0, 0, 1, 1, 1]]
    return np.sqrt(0.8) * factors + np.sqrt(0.2) * rng.normal(size=(models, 6))


def one_stranger(rng, models):
    factor = rng.normal(size=(models, 1))
    traits = np.sqrt(0.8) * factor + np.sqrt(0.2) * rng.normal(size=(models, 6))
    traits[:, 5] = rng.normal(size=models)
    return traits


@pytest.mark.parametrize("law", [independent_traits, two_blocks, one_stranger])
def test_unrelated_domains_cost_nothing(law):
    excess = []
    for seed in range(4):
        rng = np.random.default_rng(seed)
        traits = law(rng, 100)
        blocks, truth = domains_of(traits, 20, rng), standardised(traits)
        alone = fitted(blocks, estimator="separate")
        excess.append(rmse(fitted(blocks), truth) - rmse(alone, truth))
    assert np.mean(excess) <= 1e-3


def test_independent_domains_have_no_factor():
    rng = np.random.default_rng(0)
    found = fitted(domains_of(independent_traits(rng, 100), 20, rng))
    assert found.info["rank"] == 0
    assert (found.domains["pooling"] == "own").all()


def test_a_domain_of_noise_costs_the_others_nothing():
    rng = np.random.default_rng(1)
    traits = one_stranger(rng, 200)[:, :5]
    blocks = domains_of(traits, 20, rng)
    clean = fitted(blocks)
    blocks["noise"] = (rng.random((200, 30)) < rng.beta(2, 2, 30)).astype(np.int8)
    truth = standardised(traits)
    assert rmse(fitted(blocks), truth) <= rmse(clean, truth) + 0.005


# real data


def accuracy(block):
    there = block >= 0
    with np.errstate(invalid="ignore"):
        return (block * there).sum(axis=1) / there.sum(axis=1)


@pytest.fixture(scope="module")
def complete_models():
    """Domain -> responses of the models of `openllm_v1` that answered every item."""
    if not DATA.exists():
        pytest.skip("no openllm_v1")
    tidy = pd.read_parquet(DATA, columns=["model_id", "domain", "item_id", "correct"])
    wide = tidy.pivot(index="model_id", columns=["domain", "item_id"], values="correct").dropna()
    assert wide.shape == (860, 1480)
    names = sorted(set(wide.columns.get_level_values(0)))
    return {name: wide[name].to_numpy(np.int8) for name in names}


def spearman(trait, target):
    """Rank correlation, 0 where a trait is the same for all."""
    if np.ptp(trait) == 0.0:
        return 0.0
    return pd.Series(trait).corr(pd.Series(target), method="spearman")


def agreement(blocks, items, seed):
    """Spearman of each domain's trait with accuracy on its left-out items, by method."""
    rng = np.random.default_rng(seed)
    orders = {name: rng.permutation(block.shape[1]) for name, block in blocks.items()}
    kept = {
        name: np.ascontiguousarray(blocks[name][:, np.sort(order[:items])])
        for name, order in orders.items()
    }
    rest = {name: accuracy(blocks[name][:, order[items:]]) for name, order in orders.items()}
    options = {
        "separate": {"estimator": "separate"},
        "uncorrected": {"adapt": False},
        "adapted": {},
    }
    found = {method: fitted(kept, **chosen) for method, chosen in options.items()}
    return pd.DataFrame(
        {
            method: {name: spearman(means(one, name), rest[name]) for name in blocks}
            for method, one in found.items()
        }
    )


def shortfall(blocks, items, splits):
    """How far the adapted fit falls below the better of the two others, at worst."""
    tables = [agreement(blocks, items, seed) for seed in range(splits)]
    mean = sum(tables) / splits
    return float((mean[["separate", "uncorrected"]].max(axis=1) - mean["adapted"]).max())


@pytest.mark.parametrize(
    ("together", "own", "correlation", "coherence", "items", "alone"),
    [
        (90.0, 100.0, 0.0, 1.0, 10, True),
        (94.0, 100.0, 0.0, 1.0, 10, False),  # within 7.5 %
        (94.0, 100.0, 0.06, 1.0, 10, False),
        (94.0, 100.0, 0.07, 1.0, 10, True),  # the items measure several traits
        (132.0, 100.0, 0.09, 1.0, 10, True),
        (133.0, 100.0, 0.09, 1.0, 10, False),  # beyond 32.5 %
        (102.0, 100.0, 0.09, 1.0, 30, True),
        (103.0, 100.0, 0.09, 1.0, 30, False),
        (94.0, 100.0, 0.09, 1.0, 300, False),
        (0.0, 48.0, 0.0, 1.0, 10, False),  # less than 7 log(models) over no trait
        (0.0, 49.0, 0.0, 1.0, 10, True),
        (90.0, 100.0, 0.0, 0.69, 10, False),  # the own trait turns many items round
        (90.0, 100.0, 0.0, 0.71, 10, True),
        (90.0, 100.0, 0.07, 0.3, 10, True),
        (-1.0, 5.0, 0.0, 1.0, 10, False),
        (np.nan, np.nan, 0.09, np.nan, 10, False),
    ],
)
def test_when_a_domain_s_own_trait_is_taken(together, own, correlation, coherence, items, alone):
    told = np.array([[together], [own], [np.log(1000.0)], [correlation], [coherence]])
    assert better_alone(*told, np.array([items])).tolist() == [alone]


def test_a_few_models_do_not_tell_whether_items_are_torn():
    gains = np.array([[100.0, 100.0], [95.0, 95.0]])
    units = np.log([99.0, 100.0])
    found = better_alone(*gains, units, np.full(2, 0.2), np.ones(2), np.full(2, 10))
    assert found.tolist() == [False, True]


def test_constant_items_do_not_change_the_verdict():
    verdicts = []
    for constant in (0, 60):
        blocks, trait = torn_domains()
        blocks["torn"] = np.hstack([blocks["torn"], np.ones((len(trait), constant), np.int8)])
        verdicts.append(fitted(blocks))
    plain, padded = verdicts
    assert plain.domains.loc["torn", "pooling"] == padded.domains.loc["torn", "pooling"]
    np.testing.assert_allclose(means(plain, "torn"), means(padded, "torn"), atol=1e-6)


@pytest.mark.data
def test_real_domains_that_are_hard_to_tell_apart_converge(complete_models):
    rng = np.random.default_rng([7, 12])
    names = rng.choice(sorted(complete_models), 4, replace=False)
    drawn = {}
    for name in names:
        block = complete_models[name]
        drawn[name] = block[:, np.sort(rng.permutation(block.shape[1])[:10])]
    assert fitted(drawn, max_rounds=80).info["converged"]


@pytest.mark.data
def test_traits_tell_more_of_other_items_than_the_share_of_right_answers(complete_models):
    gains, alone = [], []
    for seed in range(3):
        rng = np.random.default_rng(seed)
        orders = {name: rng.permutation(b.shape[1]) for name, b in complete_models.items()}
        few = {name: complete_models[name][:, np.sort(o[:10])] for name, o in orders.items()}
        kept = {name: np.ascontiguousarray(block) for name, block in few.items()}
        rest = {name: accuracy(complete_models[name][:, o[10:]]) for name, o in orders.items()}
        raw = {name: spearman(accuracy(block), rest[name]) for name, block in kept.items()}
        default, separate = fitted(kept), fitted(kept, estimator="separate")
        gains += [spearman(means(default, name), rest[name]) - raw[name] for name in kept]
        alone += [spearman(means(separate, name), rest[name]) - raw[name] for name in kept]
    assert np.mean(gains) > 0.11
    assert np.mean(alone) > 0.035


@pytest.mark.data
@pytest.mark.parametrize(("items", "most"), [(10, 0.06), (30, 0.03)])
def test_real_domains_keep_what_is_theirs(complete_models, items, most):
    assert shortfall(complete_models, items, splits=3) <= most


@pytest.mark.data
@pytest.mark.slow
@pytest.mark.parametrize(("items", "most", "splits"), [(10, 0.03, 200), (30, 0.02, 20)])
def test_real_domains_keep_what_is_theirs_over_many_splits(complete_models, items, most, splits):
    # of ten items one draw in fifty goes wrong by .5 and more: twenty draws are .02 unsure
    assert shortfall(complete_models, items, splits) <= most
