"""Distillation from end to end."""

import numpy as np
import pandas as pd
import pytest
from dask.array import from_array

import mtlirt
from mtlirt.distill.distil import distill_by
from mtlirt.distill.options import DistillOptions
from mtlirt.distill.reconstruction.benchmarks import GRAND_MEAN
from mtlirt.distill.targets import full_scores
from mtlirt.errors import InputError
from mtlirt.responses.matrix import DomainResponses, Responses
from mtlirt.responses.subset import some_items, some_models
from mtlirt.simulate.designs import Design
from mtlirt.simulate.generate import simulate
from mtlirt.simulate.laws import FactorTraits, intercept_items

SMALL = Design(
    "small", (("a", 90), ("b", 60), ("c", 40)), 160, intercept_items, FactorTraits(1, 0.3)
)


@pytest.fixture(scope="module")
def responses():
    return simulate(SMALL, seed=4).responses


@pytest.fixture(scope="module")
def distilled(responses):
    return mtlirt.distill_benchmarks(responses, [20, 40], rmse=5.0, share=0.25, folds=2, threads=1)


def test_what_is_chosen(distilled, responses):
    count = distilled.info["items"]
    assert list(distilled.chosen["position"]) == list(range(1, count + 1))
    assert distilled.chosen.index.is_unique
    assert distilled.chosen.index.isin(responses.items.index).all()
    assert not distilled.chosen.index.isin(distilled.barred.index).any()
    assert sorted(distilled.refit.items.index) == sorted(distilled.chosen.index)
    sizes = distilled.chosen.groupby(["domain", "form"]).size().unstack()
    assert (sizes["A"] - sizes["B"]).abs().max() <= 1


def test_test_models_leave_no_trace(responses, distilled):
    """Other answers of the test models change nothing but how good it is."""
    training = set(distilled.refit.models.index)
    test = [k for k, model in enumerate(responses.models.index) if model not in training]
    assert len(test) == 40
    scores = full_scores(responses)
    blocks = {}
    for name, part in responses.domains.items():
        cells = part.array.compute().copy()
        # each row keeps its score, so that the split stays as it is
        cells[test] = np.random.default_rng(1).permuted(cells[test], axis=1)
        blocks[name] = cells
    frame = {
        name: pd.DataFrame(cells, responses.models.index, responses.item_ids(name))
        for name, cells in blocks.items()
    }
    tidy = (
        pd.concat({name: table.stack() for name, table in frame.items()}, names=["domain"])
        .rename("correct")
        .reset_index()
    )
    altered = mtlirt.from_tidy(tidy[["model_id", "item_id", "domain", "correct"]])
    pd.testing.assert_frame_equal(full_scores(altered), scores)
    again = mtlirt.distill_benchmarks(altered, [20, 40], rmse=5.0, share=0.25, folds=2, threads=1)
    pd.testing.assert_frame_equal(again.chosen, distilled.chosen)
    pd.testing.assert_frame_equal(again.sizes, distilled.sizes)
    pd.testing.assert_frame_equal(again.refit.items, distilled.refit.items)
    for name, array in distilled.reconstruction.arrays().items():
        np.testing.assert_allclose(again.reconstruction.arrays()[name], array, rtol=1e-9)
    assert again.test["rmse"].mean() > 1.5 * distilled.test["rmse"].mean()


def test_scores_of_new_models(responses, distilled):
    """The test table is what `reconstruct` says of the test models."""
    training = distilled.refit.models.index
    rows = np.flatnonzero(~responses.models.index.isin(training))
    subset = some_items(some_models(responses, rows), distilled.chosen.index)
    found = mtlirt.reconstruct(distilled, subset, threads=1)
    whole = mtlirt.reconstruct(distilled, some_models(responses, rows), threads=1)
    pd.testing.assert_frame_equal(found, whole)
    truth = full_scores(some_models(responses, rows)).stack()
    truth.index.names = found.index.names
    error = 100 * (found["score"] - truth)
    rmse = np.sqrt((error**2).groupby("target").mean())
    np.testing.assert_allclose(rmse.loc[distilled.targets], distilled.test["rmse"], rtol=1e-9)
    inside = (found["lower"] <= truth) & (truth <= found["upper"])
    shares = inside.groupby("target").mean().loc[distilled.targets]
    np.testing.assert_allclose(shares, distilled.test["coverage"])
    own = distilled.chosen.groupby(level="domain").size()
    answered = found["answered"].unstack()
    assert (answered[own.index] == own).all().all()
    assert (answered[GRAND_MEAN] == len(distilled.chosen)).all()


def test_fewer_answers_make_wider_intervals(responses, distilled):
    half = some_items(responses, distilled.chosen.index[::2])
    whole, part = (mtlirt.reconstruct(distilled, each, threads=1) for each in (responses, half))
    widths = [(each["upper"] - each["lower"]).mean() for each in (whole, part)]
    assert widths[1] > 1.2 * widths[0]
    truth = full_scores(responses).stack()
    truth.index.names = part.index.names
    assert ((part["lower"] <= truth) & (truth <= part["upper"])).mean() > 0.93
    with pytest.raises(InputError, match=r"none of the \d+ chosen items"):
        mtlirt.reconstruct(
            distilled,
            some_items(
                responses,
                responses.items.index[[0]]
                .difference(distilled.chosen.index)
                .append(distilled.barred.index),
            ),
            threads=1,
        )


def test_a_stored_one_is_the_same(tmp_path, responses, distilled):
    version = mtlirt.publish_distilled(distilled, tmp_path / "d", inputs={"version": 3})
    assert version == 1
    found = mtlirt.load_distilled(f"{tmp_path}/d@1")
    for name in ("chosen", "barred", "sizes", "test"):
        pd.testing.assert_frame_equal(
            getattr(found, name).fillna(""), getattr(distilled, name).fillna(""), check_dtype=False
        )
    assert dict(found.info) == dict(distilled.info)
    pd.testing.assert_frame_equal(
        mtlirt.reconstruct(found, responses, threads=1),
        mtlirt.reconstruct(distilled, responses, threads=1),
        check_exact=True,
    )
    assert mtlirt.publish_distilled(distilled, tmp_path / "d") == 2
    first, second = sorted((tmp_path / "d" / "data").iterdir())
    for file in first.iterdir():
        assert file.read_bytes() == (second / file.name).read_bytes()
    with pytest.raises(InputError, match="snapshot"):
        mtlirt.load(tmp_path / "d")
    with pytest.raises(InputError, match="distilled"):
        mtlirt.publish(distilled.refit, tmp_path / "d")


@pytest.mark.parametrize("seed", [0, *(pytest.param(k, marks=pytest.mark.slow) for k in (1, 2, 3))])
def test_held_out_scores_are_covered(seed):
    """Public fault O24: a 100-item estimate that swings must say so."""
    responses = simulate("demo", models=300, seed=seed).responses
    found = mtlirt.distill_benchmarks(responses, 100, share=1 / 6, folds=2, threads=1)
    assert found.test.loc[GRAND_MEAN, "models"] == 50
    assert 50 * found.test.loc[GRAND_MEAN, "coverage"] >= 44
    assert (found.test["rmse"] > 0).all()
    expected = 1.96 * np.sqrt(2) * found.sizes.loc[("greedy", 100), "rmse"]
    np.testing.assert_allclose(found.test["detectable"], expected, rtol=1e-3)
    assert found.info["warnings"] == []


def test_few_models_are_told():
    responses = simulate(SMALL, models=10, seed=1).responses
    found = mtlirt.distill_benchmarks(responses, 20, share=0.2, folds=2, threads=1)
    assert found.info["training_models"] == 8
    (warning,) = found.info["warnings"]
    assert warning.startswith("only 8 models train")
    assert (found.test["coverage"] == 1.0).all()


def test_models_without_a_full_form_train_items_but_are_no_target(responses):
    part = responses.domains["b"].array.compute().copy()
    part[::3, 5] = -1
    domains = dict(responses.domains) | {"b": DomainResponses(from_array(part))}
    some = Responses(domains, responses.models, responses.items)
    found = distill_by(some, DistillOptions((30,), share=0.25, folds=2), threads=1)
    whole = full_scores(some).notna().sum()
    known = found.sizes.loc[("greedy", 30), "models"] + found.test["models"]
    assert known.to_dict() == whole.to_dict()
    assert known["b"] < known["a"] == 160


def test_groups_are_on_one_side(responses):
    group = pd.Series(np.arange(160) // 4, responses.models.index)
    grouped = Responses(responses.domains, responses.models.assign(family=group), responses.items)
    found = distill_by(
        grouped, DistillOptions((20,), share=0.25, group_column="family", folds=2), threads=1
    )
    training = group[found.refit.models.index]
    assert not set(training) & set(group.drop(found.refit.models.index))
    with pytest.raises(InputError, match="column 'when' of the model table"):
        distill_by(grouped, DistillOptions((20,), split="time", time_column="when"), threads=1)


@pytest.mark.parametrize(
    ("options", "words"),
    [
        ({"counts": ()}, "items"),
        ({"counts": (5, 5)}, "items"),
        ({"counts": (0,)}, "items"),
        ({"counts": (5,), "selections": ("best",)}, "selection 'best'.*greedy"),
        ({"counts": (5,), "reconstruction": "best"}, "reconstruction 'best'.*ridge"),
        ({"counts": (5,), "folds": 1}, "folds 1"),
        ({"counts": (5,), "level": 1.0}, "level"),
        ({"counts": (5,), "rmse": 0.0}, "rmse"),
        ({"counts": (5,), "seed": -1}, "seed"),
        ({"counts": (500,)}, r"500 items asked for, 1\d\d are open"),
    ],
)
def test_bad_options_are_refused(responses, options, words):
    with pytest.raises(InputError, match=words):
        distill_by(responses, DistillOptions(**options), threads=1)
