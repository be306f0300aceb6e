"""Fits of designs that fall apart: which models are tied, and the boards they are ranked on."""

from dataclasses import replace

import dask.array as da
import numpy as np
import pandas as pd
import pytest

import mtlirt
from mtlirt.cluster.executor import open_executor
from mtlirt.engine.linked import model_components
from mtlirt.engine.placement import place
from mtlirt.responses.arrays import from_arrays
from mtlirt.snapshots.schema import MODELS


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
        return model_components(executor, domains, responses.models.index)


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
    pd.testing.assert_extension_array_equal(found.array, by_brute_force(values))


def test_fractions_repeated_trials_and_streams_are_tied_alike(monkeypatch):
    rng = np.random.default_rng(2)
    values = {"a": drawn(rng, 20, 9, 0.06), "b": drawn(rng, 20, 9, 0.05)}
    expected = by_brute_force(values)
    fractions = {
        name: np.where(block < 0, np.nan, block).astype(np.float32)
        for name, block in values.items()
    }
    assert components_of(as_responses(fractions)).array.equals(expected)
    monkeypatch.setattr("mtlirt.engine.placement.ALWAYS_KEPT", 0)
    assert components_of(as_responses(values, (7, 4)), memory=1).array.equals(expected)


def test_blocks_are_looked_at_only_where_totals_do_not_tell(monkeypatch):
    rng = np.random.default_rng(3)
    tied = {"a": drawn(rng, 20, 9, 1.0), "b": drawn(rng, 20, 9, 0.3)}
    holes = {"a": drawn(rng, 20, 9, 0.5), "b": drawn(rng, 20, 9, 0.3)}
    holes["a"][:, 4] = 1
    monkeypatch.setattr("mtlirt.engine.linked.block_links", None)
    for values in (tied, holes):
        assert (components_of(as_responses(values)) == 1).all()
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


def test_one_model_in_both_links_all_whatever_its_weight():
    values = two_halves(np.random.default_rng(4), bridge=True)
    for weights in (None, np.where(np.arange(31) == 3, 0.0, 1.0)):
        fit = mtlirt.fit(as_responses(values, (10, 8), weights))
        assert fit.models["component"].isna().tolist() == [*[False] * 30, True]
        assert (fit.models["component"].dropna() == 1).all()
        board = mtlirt.leaderboard(fit)
        assert "component" not in board
        assert board["rank"].dropna().max() > 16
        assert mtlirt.better(fit, list(fit.models.index[:30])).notna().all(axis=None)


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


def test_snapshots_keep_components_and_older_ones_have_one(tmp_path):
    fit = mtlirt.fit(as_responses(two_halves(np.random.default_rng(4))))
    mtlirt.publish(fit, tmp_path)
    loaded = mtlirt.load(tmp_path)
    pd.testing.assert_frame_equal(loaded.models, fit.models, check_exact=True)
    pd.testing.assert_frame_equal(mtlirt.leaderboard(loaded), mtlirt.leaderboard(fit))
    older = MODELS.table("models", fit.models).drop_columns(["component"])
    board = mtlirt.leaderboard(replace(fit, models=MODELS.frame(older)))
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


def test_a_cluster_finds_the_same(process_cluster):
    values = two_halves(np.random.default_rng(4))
    values["law"][0, 1:] = values["law"][1, :-1] = -1
    here = mtlirt.fit(as_responses(values, (6, 7)))
    there = mtlirt.fit(as_responses(values, (6, 7)), client=process_cluster)
    assert here.models["component"].equals(there.models["component"])
