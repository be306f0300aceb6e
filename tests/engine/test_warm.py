"""A warm start ends where a cold one does, in fewer rounds, with other models and items too."""

import dask.array as da
import numpy as np
import pandas as pd
import pytest

import mtlirt
from mtlirt.errors import InputError
from mtlirt.responses.arrays import from_arrays
from mtlirt.responses.matrix import Responses
from mtlirt.simulate.generate import simulate


@pytest.fixture(scope="module")
def blocks():
    responses = simulate("demo", seed=5, models=260, missing=0.05).responses
    return {name: np.asarray(part.array) for name, part in responses.domains.items()}


def subset(blocks, rows, items):
    """Some of the models, and of each domain's items, under their own ids."""
    kept = {name: block[rows][:, items[name]] for name, block in blocks.items() if name in items}
    plain = from_arrays({name: da.from_array(block) for name, block in kept.items()})
    models = pd.Index([f"m{i:03d}" for i in rows], name="model_id")
    ids = [(name, f"i{j:03d}") for name in kept for j in items[name]]
    index = pd.MultiIndex.from_tuples(ids, names=["domain", "item_id"])
    return Responses(plain.domains, plain.models.set_axis(models), plain.items.set_axis(index))


def everything(blocks):
    return {name: np.arange(block.shape[1]) for name, block in blocks.items()}


def assert_same(fitted, other, close):
    for name, columns in {
        "items": ["slope", "intercept"],
        "traits": ["mean", "sd"],
        "models": ["overall", "overall_sd", "general"],
        "domains": ["uniqueness"],
    }.items():
        found, expected = getattr(fitted, name)[columns], getattr(other, name)[columns]
        pd.testing.assert_frame_equal(found, expected, rtol=0, atol=close)


@pytest.mark.parametrize("estimator", ["marginal", "separate"])
def test_the_same_responses_need_fewer_rounds(blocks, estimator):
    responses = subset(blocks, np.arange(260), everything(blocks))
    cold = mtlirt.fit(responses, estimator=estimator, threads=1)
    warm = mtlirt.fit(responses, estimator=estimator, threads=1, earlier=cold)
    assert warm.info["rounds"] < cold.info["rounds"]
    assert warm.info["rank"] == cold.info["rank"]
    assert_same(warm, cold, 5e-3)


def test_models_and_items_come_and_go(blocks):
    """To 1e-6 of the cold start's solution at tolerance 1e-8."""
    names = list(blocks)
    before = {name: np.arange(block.shape[1])[:-3] for name, block in blocks.items()}
    after = {name: np.arange(block.shape[1])[2:] for name, block in blocks.items()}
    del before[names[1]], after[names[2]]  # a domain comes, another goes
    earlier = mtlirt.fit(subset(blocks, np.arange(220), before), threads=1)
    responses = subset(blocks, np.arange(30, 260)[::-1], after)
    asked = {"tolerance": 1e-8, "threads": 1, "max_rounds": 500}
    cold = mtlirt.fit(responses, **asked)
    warm = mtlirt.fit(responses, earlier=earlier, **asked)
    assert cold.info["converged"]
    assert warm.info["converged"]
    assert warm.info["rounds"] < cold.info["rounds"]
    assert warm.info["rank"] == cold.info["rank"]
    assert_same(warm, cold, 1e-6)


def test_nothing_in_common_is_a_cold_start(blocks):
    responses = subset(blocks, np.arange(100), everything(blocks))
    other = mtlirt.fit(simulate("demo", seed=9).responses, threads=1)
    renamed = mtlirt.result.Fit(
        **{
            **other.__dict__,
            "items": other.items.rename(index="x{}".format, level="domain"),
            "domains": other.domains.rename(index="x{}".format),
            "traits": other.traits.rename(index="x{}".format, level="domain"),
            "representation": other.representation.rename(index="x{}".format),
        }
    )
    cold = mtlirt.fit(responses, threads=1)
    assert_same(mtlirt.fit(responses, threads=1, earlier=renamed), cold, 5e-3)


def test_fits_without_a_prior_of_the_traits_are_refused(blocks):
    responses = subset(blocks, np.arange(100), {name: np.arange(10) for name in blocks})
    marginal = mtlirt.fit(responses, threads=1)
    accuracy = mtlirt.fit(simulate("demo", seed=1).responses, estimator="accuracy", threads=1)
    with pytest.raises(InputError, match="estimator 'local' starts from no earlier fit"):
        mtlirt.fit(responses, estimator="local", earlier=marginal)
    with pytest.raises(InputError, match="the earlier fit is one by estimator 'accuracy'"):
        mtlirt.fit(responses, earlier=accuracy)
