"""The public function: tables, invariance, clones, degenerate responders, and what is refused."""

import dask.array as da
import numpy as np
import pandas as pd
import pytest

import mtlirt
from mtlirt.diagnostics import cells as cells_module
from mtlirt.errors import InputError
from mtlirt.responses.matrix import DomainResponses, Responses
from mtlirt.scores.leaderboard import leaderboard

TABLES = [
    "findings",
    "items",
    "models",
    "takers",
    "pairs",
    "clones",
    "repeats",
    "domains",
    "design",
]


def same(one, other, exact=True):
    for name in TABLES:
        first, second = getattr(one, name), getattr(other, name)
        if name in ("items", "models", "takers"):
            second = second.reindex(first.index)
        if exact:
            pd.testing.assert_frame_equal(first, second)
        elif name != "findings":
            pd.testing.assert_frame_equal(first, second, rtol=1e-4, atol=1e-5)


def test_it_does_not_depend_on_chunks(planted, found, responses_of):
    fit, responses, blocks = planted
    chunked = responses_of(blocks, {"group": responses.models["group"].to_numpy()}, chunks=(37, 11))
    same(found, mtlirt.diagnose(fit, chunked, group="group"))


def test_strips_that_are_read_again_tell_the_same(planted, found, monkeypatch):
    fit, responses, _ = planted
    monkeypatch.setattr(cells_module, "HELD_BYTES", 0)
    monkeypatch.setattr(cells_module, "STRIP_CELLS", 4000)
    same(found, mtlirt.diagnose(fit, responses, group="group"), exact=False)


def test_it_does_not_depend_on_the_order_of_rows_and_columns(planted, found):
    fit, responses, blocks = planted
    rng = np.random.default_rng(1)
    rows = rng.permutation(400)
    parts, ids = {}, []
    for name in ("b", "a"):
        columns = rng.permutation(40)
        block = blocks[name][rows][:, columns]
        parts[name] = DomainResponses(da.from_array(block, block.shape))
        ids += [(name, f"{name}-{j:03d}") for j in columns]
    index = pd.MultiIndex.from_tuples(ids, names=["domain", "item_id"])
    models = responses.models.iloc[rows]
    shuffled = Responses(parts, models, pd.DataFrame(index=index))
    same(found, mtlirt.diagnose(fit, shuffled, group="group"))
    refitted = mtlirt.diagnose(mtlirt.fit(shuffled, threads=1), shuffled, group="group")
    assert set(refitted.findings["kind"]) == set(found.findings["kind"])
    assert refitted.clones["model_id"].tolist() == found.clones["model_id"].tolist()


def test_models_and_items_that_one_side_lacks_are_left_out_and_counted(planted):
    fit, responses, _ = planted
    few = Responses(
        {"a": DomainResponses(responses.domains["a"].array[:300, :30])},
        responses.models.iloc[:300].rename({"m299": "new"}),
        responses.items.iloc[:30].rename({"a-029": "new"}, level="item_id"),
    )
    found = mtlirt.diagnose(fit, few)
    assert len(found.models) == 299
    assert len(found.items) == 29
    assert {k: v for k, v in found.info.items() if "_" in k} == {
        "models_unknown": 1,
        "items_unknown": 1,
        "models_missing": 101,
        "items_missing": 51,
    }


def test_30_models_and_200_copies_of_one(drawn, responses_of):
    # O21
    blocks, _ = drawn(11, 30, 40)
    blocks = {
        name: np.vstack([block, np.tile(block[7], (200, 1))]) for name, block in blocks.items()
    }
    responses = responses_of(blocks)
    fit = mtlirt.fit(responses, threads=1)
    found = mtlirt.diagnose(fit, responses)
    group = found.clones.query("group == 1")
    assert len(group) == 201
    assert set(group["model_id"]) == {"m007", *(f"m{k:03d}" for k in range(30, 230))}
    assert set(group["copy_of"]) == {"m007"}
    assert (group["correlation"] == 1.0).all()
    copies = list(group["model_id"])
    assert (found.models.loc[copies, "clones"] == 1).all()
    assert fit.models.loc[copies, "overall"].max() - fit.models.loc[copies, "overall"].min() < 1e-9
    assert leaderboard(fit).loc[copies, "rank"].nunique() == 1


def test_degenerate_responders(drawn, responses_of):
    blocks, _ = drawn(12, 120, 40)
    a = blocks["a"]
    a[0], a[1] = 1, 0
    a[2, :5], a[2, 5:] = [1, 0, 1, 0, 1], -1
    a[3] = -1
    a[4] = np.arange(40) < 1
    responses = responses_of(blocks)
    floors = responses.items.assign(guessing=0.25)
    responses = Responses(responses.domains, responses.models, floors)
    found = mtlirt.diagnose(mtlirt.fit(responses, threads=1), responses)
    in_a = found.takers.xs("a", level="domain")
    assert in_a["always"].dropna().to_dict() == {"m000": "right", "m001": "wrong"}
    assert set(in_a.index[in_a["few"]]) == {"m002"}
    assert "m003" not in in_a.index
    assert set(in_a.index[in_a["below_chance"]]) == {"m001", "m004"}
    assert len(found.takers) == 239
    assert found.models.loc["m003", ["answered", "domains"]].tolist() == [40, 1]


def test_disconnected_models_are_named(drawn, responses_of):
    blocks, _ = drawn(13, 100, 30, domains=("a",))
    a = blocks["a"]
    a[:60, 15:] = -1
    a[60:, :15] = -1
    a[99] = -1
    responses = responses_of(blocks)
    found = mtlirt.diagnose(mtlirt.fit(responses, threads=1), responses)
    assert found.models["component"].value_counts().to_dict() == {1: 60, 2: 39}
    assert pd.isna(found.models.loc["m099", "component"])
    apart = found.findings.query("kind == 'disconnected'")
    assert set(apart["model_id"]) == {f"m{k:03d}" for k in range(60, 99)}
    assert found.design["models"].tolist() == [60, 39]
    assert found.design["items"].tolist() == [15, 15]


def test_constant_items_are_not_tested(drawn, responses_of):
    blocks, _ = drawn(14, 80, 20, domains=("a",))
    blocks["a"][:, 3:5] = 1
    responses = responses_of(blocks)
    found = mtlirt.diagnose(mtlirt.fit(responses, threads=1), responses)
    assert found.items.index[found.items["constant"]].tolist() == [("a", "a-003"), ("a", "a-004")]
    assert found.items.loc[found.items["constant"], "fit_p"].isna().all()
    assert found.repeats.empty
    assert "constant" in set(found.findings["kind"])


def test_repeated_attempts_and_fractions(drawn, responses_of):
    blocks, truth = drawn(15, 150, 20, domains=("a",), missing=0.1)
    block = blocks["a"]
    trait, slope, intercept = truth["a"]
    p = 1 / (1 + np.exp(-(np.multiply.outer(trait, slope) + intercept)))
    trials = np.where(block >= 0, np.random.default_rng(1).integers(1, 4, block.shape), 0)
    right = np.random.default_rng(2).binomial(trials, p)
    tables = responses_of(blocks)
    counts = DomainResponses(
        da.from_array(np.where(trials > 0, right, -1).astype(np.int16)),
        da.from_array(trials.astype(np.int16)),
    )
    shares = DomainResponses(
        da.from_array(np.where(trials > 0, right / np.maximum(trials, 1), np.nan).astype("f4"))
    )
    for part in (counts, shares):
        responses = Responses({"a": part}, tables.models, tables.items)
        found = mtlirt.diagnose(mtlirt.fit(responses, threads=1), responses)
        assert found.items["fit_p"].dropna().gt(1e-4).all()
        assert found.takers["lz"].abs().max() < 5
        assert found.clones.empty


@pytest.mark.parametrize(
    ("options", "told"),
    [
        ({"rate": 0.0}, "rate 0.0 is not a number above 0 and up to 0.5"),
        ({"rate": "x"}, "rate 'x' is not a number"),
        ({"copied": 1.5}, "copied 1.5 is not a number above 0 and up to 1"),
        ({"group": "colour"}, "group 'colour': the table of models has no such column, but group"),
    ],
)
def test_what_is_refused(planted, options, told):
    fit, responses, _ = planted
    with pytest.raises(InputError, match=told):
        mtlirt.diagnose(fit, responses, **options)


def test_responses_of_others_are_refused(planted):
    fit, responses, _ = planted
    others = Responses(
        responses.domains, responses.models.rename(index=lambda name: f"x{name}"), responses.items
    )
    with pytest.raises(InputError, match="none of the 400 models of the responses is known"):
        mtlirt.diagnose(fit, others)
    one = Responses(responses.domains, responses.models.assign(group="x"), responses.items)
    with pytest.raises(InputError, match="group 'group': 1 group among 400 models"):
        mtlirt.diagnose(fit, one, group="group")


def test_an_estimator_without_a_posterior_is_refused(drawn, responses_of):
    blocks, _ = drawn(16, 40, 10)
    responses = responses_of(blocks)
    fit = mtlirt.fit(responses, estimator="accuracy", threads=1)
    with pytest.raises(InputError, match="diagnostics: estimator 'accuracy' has no posterior"):
        mtlirt.diagnose(fit, responses)


def test_a_question_in_two_domains_is_listed_with_both(drawn, responses_of):
    # O19
    blocks, _ = drawn(17, 100, 25)
    blocks["b"][:, 4] = blocks["a"][:, 7]
    responses = responses_of(blocks)
    found = mtlirt.diagnose(mtlirt.fit(responses, threads=1), responses)
    pairs = list(zip(found.repeats["domain"], found.repeats["item_id"], strict=True))
    assert pairs == [("a", "a-007"), ("b", "b-004")]
