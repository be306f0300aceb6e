"""Which number of items is enough."""

import numpy as np
import pandas as pd
import pytest

from mtlirt.distill.answers import Answers
from mtlirt.distill.crossvalidate import LeftOut, Plan, chosen_plan, size_table

MODELS, NOTHING = 400, Answers(*(np.empty((0, 0)) for _ in range(4)))


@pytest.fixture
def scores():
    rng = np.random.default_rng(3)
    table = pd.DataFrame(rng.uniform(0.2, 0.8, (MODELS, 2)), columns=["a", "b"])
    table.iloc[:50, 1] = np.nan
    return table.assign(grand_mean=table.mean(axis=1, skipna=False))


def left_out(scores, errors):
    """Predictions that are off by so many points, up and down in turn."""
    signs = np.where(np.arange(MODELS) % 2, 1, -1)[:, None]
    return {
        Plan("greedy", count): LeftOut(scores.to_numpy() + 0.01 * error * signs, NOTHING)
        for count, error in errors.items()
    }


def test_the_smallest_that_is_good_enough(scores):
    found = left_out(scores, {400: 1.0, 200: 1.3, 100: 2.0})
    assert chosen_plan(found, scores, 2.5).items == 100
    assert chosen_plan(found, scores, 1.5).items == 200
    assert chosen_plan(found, scores, 1.0001).items == 400
    assert chosen_plan(found, scores, 0.5).items == 400


def test_the_smallest_that_is_hardly_worse_than_the_best(scores):
    rng = np.random.default_rng(4)
    noise = {count: rng.normal(size=scores.shape) for count in (100, 200, 400)}
    size = {100: 1.6, 200: 1.02, 400: 1.0}
    found = {
        Plan("greedy", count): LeftOut(
            scores.to_numpy() + 0.01 * size[count] * noise[count], NOTHING
        )
        for count in noise
    }
    assert chosen_plan(found, scores, None).items == 200
    assert chosen_plan({k: found[k] for k in found if k.items != 200}, scores, None).items == 400


def test_the_table_of_sizes(scores):
    table = size_table(left_out(scores, {100: 2.0, 200: 1.5}), scores)
    assert table.index.names == ["selection", "items", "target"]
    assert table.loc[("greedy", 200, "b"), "models"] == MODELS - 50
    np.testing.assert_allclose(table["rmse"].to_numpy(), [2.0] * 3 + [1.5] * 3)


def test_at_each_number_the_best_selection_counts(scores):
    found = left_out(scores, {200: 1.5, 100: 2.5})
    other = left_out(scores, {200: 1.7, 100: 2.0})
    both = found | {Plan("random", plan.items): each for plan, each in other.items()}
    assert chosen_plan(both, scores, 2.2) == Plan("random", 100)
    assert chosen_plan(both, scores, 1.9) == Plan("greedy", 200)
    assert chosen_plan(both, scores, 0.1) == Plan("greedy", 200)
