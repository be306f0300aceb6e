"""Fits of designs that fall apart: which models are tied, and the boards they are ranked on."""

from dataclasses import replace

import dask.array as da
import numpy as np
import pandas as pd
import pytest

import mtlirt
from mtlirt.cli.app import run
from mtlirt.cluster.executor import open_executor
from mtlirt.engine.linked import linked
from mtlirt.engine.placement import place
from mtlirt.responses.arrays import from_arrays
from mtlirt.scores.tidy import tidy_scores
from mtlirt.snapshots.schema import ITEMS, MODELS


def as_responses(values, chunks=(-1, -1), weights=None):
    """Arrays by domain, -1 missing, as responses of models m00, m01, ..."""
    arrays = {name: da.from_array(block, chunks=chunks) for name, block in values.items()}
    responses = from_arrays(arrays)
    ids = pd.Index([f"m{k:02d}" for k in range(len(responses.models))], name="model_id")
    models = responses.models.set_axis(ids)
    return replace(responses, models=models if weights is None else models.assign(weight=weights))


def components_of(responses, **options):
    with open_executor(None, 2) as executor:
        domains = place(executor, responses, **options)
        return linked(executor, domains, responses.models.index)


def by_brute_force(values):
    """Numbers of components from powers of the graph, of cells by domain."""
    answered = np.concatenate([block >= 0 for block in values.values()], axis=1)
    models, cells = len(answered), answered.sum(axis=1)
    reach = (answered.astype(int) @ answered.T > 0) | np.eye(models, dtype=bool)
    for _ in range(models):
        reach = reach.astype(int) @ reach > 0
    groups = {tuple(np.flatnonzero(row)) for row, n in zip(reach, cells, strict=True) if n}
    by_size = sorted(groups, key=lambda group: (-len(group), -cells[list(group)].sum(), group[0]))
    found = pd.array([None] * models, "Int64")
    for number, group in enumerate(by_size, 1):
        found[list(group)] = number
    return found


def drawn(rng, models, items, share):
    block = rng.integers(0, 2, (models, items)).astype(np.int8)
    return np.where(rng.random(block.shape) < share, block, -1).astype(np.int8)


@pytest.mark.parametrize("chunks", [(-1, -1), (5, 3), (1, 1)])
@pytest.mark.parametrize("seed", range(6))
def test_components_of_any_design(seed, chunks):
    rng = np.random.default_rng(seed)
    values = {"a": drawn(rng, 20, 9, 0.06), "b": drawn(rng, 20, 7, 0.04), "c": drawn(rng, 20, 1, 0)}
    values["c"][3:5] = 1
    found = components_of(as_responses(values, chunks))
    pd.testing.assert_extension_array_equal(found.models, by_brute_force(values))
    answered = np.concatenate([block >= 0 for block in values.values()], axis=1)
    for j, number in enumerate(found.items):
        takers = set(found.models[answered[:, j]])
        assert takers == (set() if number is pd.NA else {number})


def test_fractions_repeated_trials_and_streams_are_tied_alike(monkeypatch):
    rng = np.random.default_rng(2)
    values = {"a": drawn(rng, 20, 9, 0.06), "b": drawn(rng, 20, 9, 0.05)}
    expected = by_brute_force(values)
    fractions = {
        name: np.where(block < 0, np.nan, block).astype(np.float32)
        for name, block in values.items()
    }
    assert components_of(as_responses(fractions)).models.equals(expected)
    monkeypatch.setattr("mtlirt.engine.placement.ALWAYS_KEPT", 0)
    assert components_of(as_responses(values, (7, 4)), memory=1).models.equals(expected)


def test_blocks_are_looked_at_only_where_totals_do_not_tell(monkeypatch):
    rng = np.random.default_rng(3)
    tied = {"a": drawn(rng, 20, 9, 1.0), "b": drawn(rng, 20, 9, 0.3)}
    holes = {"a": drawn(rng, 20, 9, 0.5), "b": drawn(rng, 20, 9, 0.3)}
    holes["a"][:, 4] = 1
    monkeypatch.setattr("mtlirt.engine.linked.block_links", None)
    for values in (tied, holes):
        found = components_of(as_responses(values))
        assert (found.models == 1).all()
        assert (found.items == 1).all()
    holes["a"][:, 4] = -1
    with pytest.raises(TypeError):
        components_of(as_responses(holes))


def two_halves(rng, bridge=False):
    """14 models on one domain, 16 on another, one on none; a bridge answers one item of each."""
    traits = rng.normal(size=31)
    values = {}
    for name, rows in (("law", slice(0, 14)), ("algebra", slice(14, 30))):
        p = 1 / (1 + np.exp(-np.add.outer(traits, rng.normal(size=20))))
        values[name] = np.full(p.shape, -1, np.int8)
        values[name][rows] = rng.random(p.shape)[rows] < p[rows]
    if bridge:
        values["algebra"][3, 7] = 1
    return values


@pytest.mark.parametrize("estimator", ["marginal", "separate"])
def test_models_of_disjoint_domains_are_never_ranked_against_each_other(estimator):
    values = two_halves(np.random.default_rng(4))
    fit = mtlirt.fit(as_responses(values), estimator=estimator)
    number = [*[2] * 14, *[1] * 16, None]
    assert fit.models["component"].equals(
        pd.Series(number, fit.models.index, dtype="Int64", name="component")
    )
    board = mtlirt.leaderboard(fit)
    assert list(board.columns[:5]) == ["rank", "rank_lower", "rank_upper", "tie_group", "component"]
    assert board["component"].fillna(0).tolist() == [*[1] * 16, *[2] * 14, 0]
    assert board["rank"].fillna(0).tolist() == [*range(1, 17), *range(1, 15), 0]
    assert board["rank_upper"].max() <= 16
    for k, rows in ((1, slice(14, 30)), (2, slice(0, 14))):
        models = fit.models.iloc[rows].assign(component=1)
        traits = fit.traits.loc[models.index]
        by_itself = mtlirt.leaderboard(replace(fit, models=models, traits=traits))
        part = board[board["component"] == k].drop(columns="component")
        pd.testing.assert_frame_equal(part, by_itself)
    better = mtlirt.better(fit, ["m00", "m01", "m20"])
    assert better.loc[["m00", "m01"], ["m00", "m01"]].notna().all(axis=None)
    assert better.loc["m20", "m20"] == 0.5
    assert better.loc["m20", ["m00", "m01"]].isna().all()
    assert better.loc[["m00", "m01"], "m20"].isna().all()


def test_one_model_in_both_links_all():
    values = two_halves(np.random.default_rng(4), bridge=True)
    fit = mtlirt.fit(as_responses(values, (10, 8)))
    assert fit.models["component"].isna().tolist() == [*[False] * 30, True]
    assert (fit.models["component"].dropna() == 1).all()
    assert (fit.items["component"] == 1).all()
    board = mtlirt.leaderboard(fit)
    assert "component" not in board
    assert board["rank"].dropna().max() > 16
    assert mtlirt.better(fit, list(fit.models.index[:30])).notna().all(axis=None)


def test_models_of_weight_0_link_none():
    values = two_halves(np.random.default_rng(4), bridge=True)
    values["algebra"][7, 2:] = 0
    weights = np.where(np.isin(np.arange(31), [3, 5, 7, 20]), 0.0, 1.0)
    fit = mtlirt.fit(as_responses(values, (10, 8), weights))
    number = np.array([*[2] * 14, *[1] * 16, 0])
    number[[3, 7]] = 3
    assert fit.models["component"].fillna(0).tolist() == number.tolist()
    assert fit.items["component"].tolist() == [*[2] * 20, *[1] * 20]
    board = mtlirt.leaderboard(fit)
    assert board["rank"].dropna().tolist() == [*range(1, 17), *range(1, 13), 1, 2]
    assert np.isnan(mtlirt.better(fit, ["m03", "m01"]).loc["m03", "m01"])


@pytest.mark.parametrize("chunks", [(-1, -1), (5, 3)])
@pytest.mark.parametrize("seed", range(6))
def test_what_counts_is_linked_as_if_by_itself(seed, chunks):
    rng = np.random.default_rng(seed)
    values = {"a": drawn(rng, 20, 9, 0.08), "b": drawn(rng, 20, 7, 0.06)}
    counts = rng.random(20) < 0.6
    found = components_of(as_responses(values, chunks), weights=np.where(counts, 0.5, 0.0))
    alone = by_brute_force({name: block[counts] for name, block in values.items()})
    assert found.models[counts].equals(alone)
    answered = np.concatenate([block >= 0 for block in values.values()], axis=1)
    met = [frozenset(found.items[row].dropna()) for row in answered]
    of = {}
    for k in np.flatnonzero(~counts):
        if len(met[k]) < 2:
            assert {found.models[k]} - {pd.NA} == met[k]
        else:
            assert found.models[k] > found.items.max()
            of.setdefault(met[k], set()).add(found.models[k])
    assert all(len(numbers) == 1 for numbers in of.values())
    assert len(set.union(set(), *of.values())) == len(of)


def test_point_estimates_know_the_components_of_the_models_they_keep():
    rng = np.random.default_rng(5)
    values = {name: drawn(rng, 30, 12, 1.0) for name in ("law", "algebra")}
    values["law"][:3] = -1
    fit = mtlirt.fit(as_responses(values), estimator="accuracy", complete_models=True)
    assert fit.models["component"].isna().tolist() == [*[True] * 3, *[False] * 27]
    apart = {name: np.full((30, 12), -1, np.int8) for name in ("law", "algebra")}
    for block in apart.values():
        block[:12, :6], block[12:, 6:] = drawn(rng, 12, 6, 1.0), drawn(rng, 18, 6, 1.0)
    fit = mtlirt.fit(as_responses(apart), estimator="accuracy")
    assert fit.models["component"].tolist() == [*[2] * 12, *[1] * 18]
    assert mtlirt.leaderboard(fit)["rank"].tolist() == sorted(
        mtlirt.leaderboard(fit)["rank"][:18]
    ) + sorted(mtlirt.leaderboard(fit)["rank"][18:])


def rows_of(values, rows):
    return {name: block[rows] for name, block in values.items()}


def test_scored_models_have_the_components_of_the_fit(tmp_path):
    values = two_halves(np.random.default_rng(4))
    fit = mtlirt.fit(as_responses(values))
    mtlirt.publish(fit, tmp_path)
    again = mtlirt.score(mtlirt.load(tmp_path), as_responses(values, (7, 6)))
    assert again.models["component"].equals(fit.models["component"])
    board = mtlirt.leaderboard(again)
    expected = mtlirt.leaderboard(fit)
    pd.testing.assert_frame_equal(board[["rank", "component"]], expected[["rank", "component"]])
    assert np.isnan(mtlirt.better(again, ["m00", "m20"]).loc["m00", "m20"])
    law = mtlirt.score(fit, as_responses(rows_of(values, slice(0, 14))))
    assert (law.models["component"] == 2).all()
    assert "component" not in mtlirt.leaderboard(law)
    assert mtlirt.leaderboard(law)["rank"].tolist() == list(range(1, 15))
    assert "component" not in tidy_scores(law)


def test_new_models_that_answer_items_of_both_link_none():
    values = two_halves(np.random.default_rng(4))
    fit = mtlirt.fit(as_responses(values))
    both = rows_of(two_halves(np.random.default_rng(5), bridge=True), [0, 3, 20, 21, 30])
    found = mtlirt.score(fit, as_responses(both))
    assert found.models["component"].fillna(0).tolist() == [2, 3, 1, 1, 0]
    assert mtlirt.leaderboard(found)["rank"].fillna(0).tolist() == [1, 2, 1, 1, 0]
    tidy = tidy_scores(found)
    assert tidy["component"].fillna(0).tolist() == np.repeat([2, 3, 1, 1, 0], 3).tolist()


def test_items_of_one_domain_may_be_of_several_components():
    rng = np.random.default_rng(6)
    values = {"law": np.full((30, 24), -1, np.int8)}
    values["law"][:12, :10], values["law"][12:, 10:] = drawn(rng, 12, 10, 1), drawn(rng, 18, 14, 1)
    fit = mtlirt.fit(as_responses(values))
    assert fit.items["component"].tolist() == [*[2] * 10, *[1] * 14]
    new = {"law": values["law"][[0, 1, 20, 20]]}
    new["law"][3, 9] = 1
    found = mtlirt.score(fit, as_responses(new, (2, 5)))
    assert found.models["component"].tolist() == [2, 2, 1, 3]


def test_snapshots_keep_components_and_older_ones_have_one(tmp_path):
    fit = mtlirt.fit(as_responses(two_halves(np.random.default_rng(4))))
    mtlirt.publish(fit, tmp_path)
    loaded = mtlirt.load(tmp_path)
    pd.testing.assert_frame_equal(loaded.models, fit.models, check_exact=True)
    pd.testing.assert_frame_equal(mtlirt.leaderboard(loaded), mtlirt.leaderboard(fit))
    pd.testing.assert_frame_equal(loaded.items, fit.items, check_exact=True)
    models, items = (
        schema.frame(schema.table(name, table).drop_columns(["component"]))
        for schema, name, table in ((MODELS, "models", fit.models), (ITEMS, "items", fit.items))
    )
    older = replace(fit, models=models, items=items)
    values = two_halves(np.random.default_rng(4))
    for scored in (older, mtlirt.score(older, as_responses(values))):
        board = mtlirt.leaderboard(scored)
        assert "component" not in board
        assert board["rank"].dropna().tolist() == list(range(1, 31))


def test_comparisons_rank_within_components():
    values = two_halves(np.random.default_rng(4))
    fit = mtlirt.fit(as_responses(values))
    found = mtlirt.compare(fit, fit).models
    ranks = mtlirt.leaderboard(fit)["rank"].reindex(found.index)
    assert (found["rank_before"] == ranks).sum() == 30
    assert (found["rank_after"] == ranks).sum() == 30
    assert (found["rank_change"].dropna() == 0).all()
    for name in ("component_before", "component_after"):
        assert found[name].equals(fit.models["component"].rename(name))
    one = mtlirt.fit(as_responses(two_halves(np.random.default_rng(4), bridge=True)))
    assert "component_before" not in mtlirt.compare(one, one).models
    found = mtlirt.compare(one, fit).models
    assert (found["component_before"].dropna() == 1).all()
    assert found["component_after"].max() == 2


def test_a_comparison_prints_components(tmp_path, capsys):
    values = two_halves(np.random.default_rng(4))
    fit = mtlirt.fit(as_responses(values))
    url = str(tmp_path)
    mtlirt.publish(mtlirt.fit(as_responses(rows_of(values, slice(0, 29)))), url)
    mtlirt.publish(fit, url)
    assert run(["snapshots", "diff", url, "1", "2"]) == 0
    lines = capsys.readouterr().out.splitlines()
    (row,) = [line.split() for line in lines if line.startswith("m29 ")]
    assert row[-2:] == ["-", "1"]
    assert (
        "models of different components share no item, directly or through a chain: they are not "
        "ranked against each other"
    ) in lines
    assert run(["snapshots", "diff", url, "1", "2", "--format", "csv"]) == 0
    assert capsys.readouterr().out.splitlines()[0].endswith(",component_before,component_after")


def test_a_cluster_finds_the_same(process_cluster):
    values = two_halves(np.random.default_rng(4))
    values["law"][0, 1:] = values["law"][1, :-1] = -1
    here = mtlirt.fit(as_responses(values, (6, 7)))
    there = mtlirt.fit(as_responses(values, (6, 7)), client=process_cluster)
    assert here.models["component"].equals(there.models["component"])
