"""The judge of random choices."""

import dask.array as da
import numpy as np
import pytest

from mtlirt.distill.judge import SumJudge, left_out_errors
from mtlirt.distill.targets import full_scores
from mtlirt.responses.arrays import from_arrays


def test_errors_are_those_of_fits_without_each_row():
    rng = np.random.default_rng(0)
    features = np.column_stack([np.ones(30), rng.normal(size=(30, 3))])
    targets = features @ rng.normal(size=(4, 2)) + rng.normal(size=(30, 2))
    errors = np.empty((30, 2))
    for row in range(30):
        others = np.arange(30) != row
        weights, *_ = np.linalg.lstsq(features[others], targets[others], rcond=None)
        errors[row] = targets[row] - features[row] @ weights
    expected = 100 * np.sqrt((errors**2).mean(axis=0))
    np.testing.assert_allclose(left_out_errors(features, targets), expected, rtol=1e-10)


def test_the_judge_sums_by_benchmark():
    rng = np.random.default_rng(1)
    trait = rng.normal(size=(60, 1))
    cells = {name: (trait + rng.normal(size=(60, 20)) > 0).astype(np.int8) for name in "ab"}
    cells["a"][3, 2] = -1
    responses = from_arrays({name: da.from_array(block) for name, block in cells.items()})
    scores = full_scores(responses)
    judge = SumJudge(responses, scores)
    chosen = responses.items.index[[7, 0, 25, 30, 31]]
    whole = np.arange(60) != 3
    features = np.column_stack(
        [
            np.ones(59),
            cells["a"][whole][:, [0, 7]].mean(axis=1),
            cells["b"][whole][:, [5, 10, 11]].mean(axis=1),
        ]
    )
    expected = left_out_errors(features, scores[["a", "b"]].to_numpy()[whole]).mean()
    assert judge(chosen) == pytest.approx(expected, rel=1e-6)
    assert judge(responses.items.index) == pytest.approx(0.0, abs=1e-4)
    assert judge(responses.items.index[:3]) > judge(responses.items.index[:30])
