"""Faults that were planted are found."""

import pytest


def item(number):
    return ("a", f"a-{number:03d}")


FLIPPED, BENT, ORIGINAL, REPEATED, ONE, NEXT, SHIFTED = map(item, range(7))
CLONE, CLONED, COPY, COPIED, RANDOM = (f"m{k:03d}" for k in range(5))


def items_of(found, kind):
    part = found.findings.query("kind == @kind")
    return set(zip(part["domain"], part["item_id"], strict=True))


def models_of(found, kind):
    return set(found.findings.query("kind == @kind")["model_id"])


def test_a_flipped_key(found):
    assert items_of(found, "miskeyed") == {FLIPPED}
    assert found.items.loc[FLIPPED, "negative"]
    assert found.items.loc[FLIPPED, "trait_correlation"] < -0.3
    assert items_of(found, "negative") == set()  # told of as miskeyed


def test_an_item_that_follows_no_logistic_curve(found):
    assert found.items["fit_q"].idxmin() == BENT
    assert BENT in items_of(found, "misfit")
    assert found.items.loc[BENT, "fit_q"] < 1e-6


def test_an_item_asked_twice(found):
    assert items_of(found, "repeat") == {ORIGINAL, REPEATED}
    assert (found.repeats["chance"] < 1e-6).all()
    assert found.items.loc[[ORIGINAL, REPEATED], "repeat"].tolist() == [1, 1]
    top = found.pairs.iloc[0]
    assert (top["item_id"], top["other_item_id"]) == (ORIGINAL[1], REPEATED[1])
    assert top["q3"] > 0.95


def test_locally_dependent_items(found):
    pairs = set(zip(found.pairs["item_id"], found.pairs["other_item_id"], strict=True))
    assert pairs == {(ORIGINAL[1], REPEATED[1]), (ONE[1], NEXT[1])}
    assert found.domains["dependent_pairs"].tolist() == [2, 0]


def test_an_item_easier_for_a_group(found):
    assert items_of(found, "dif") == {SHIFTED}
    row = found.items.loc[SHIFTED]
    assert row["dif_easier"] == "y"
    assert row["dif_shift"] == pytest.approx(1.5, abs=0.5)


def test_copies_of_models_exact_and_near(found):
    groups = found.clones.groupby("group")["model_id"].agg(set).tolist()
    assert groups == [{CLONE, CLONED}, {COPY, COPIED}]
    assert found.clones["copy_of"].fillna("").tolist() == ["", "", COPY, COPY]
    assert found.clones["like"].tolist() == [CLONED, CLONE, COPY, COPY]
    near = found.clones.iloc[0]
    assert near["correlation"] == pytest.approx(0.8, abs=0.15)
    assert models_of(found, "clone") == {CLONE, CLONED, COPY, COPIED}


def test_a_model_that_answers_at_random(found):
    assert RANDOM in models_of(found, "unrelated")
    assert models_of(found, "unrelated") <= {RANDOM}
    assert found.models["lz"].idxmin() == RANDOM


def test_findings_are_sentences(found):
    assert found.findings["told"].str.len().min() > 10
    assert list(found.findings) == ["kind", "domain", "item_id", "model_id", "value", "told"]
    assert found.findings["value"].notna().all()
