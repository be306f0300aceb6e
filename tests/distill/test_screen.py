"""Items that are left out of the choice."""

import dask.array as da
import numpy as np
import pytest

from mtlirt.distill.screen import CONSTANT, FLAT, NEGATIVE, TWICE, Screen, screened
from mtlirt.responses.arrays import from_arrays


@pytest.fixture
def block():
    rng = np.random.default_rng(2)
    trait = rng.normal(size=(900, 1))
    cells = (rng.random((900, 40)) < 1 / (1 + np.exp(-1.5 * trait))).astype(np.int8)
    cells[:, 3] = 1
    cells[:, 5] = 1 - cells[:, 5]
    cells[:, 8] = cells[:, 2]
    cells[:, 9] = rng.random(900) < 0.5
    return cells


def test_each_reason(block):
    found = screened(from_arrays({"x": da.from_array(block, chunks=(300, 7))}), Screen(0.01, 0.1))
    assert found["reason"].to_dict() == {
        ("x", "3"): CONSTANT,
        ("x", "5"): NEGATIVE,
        ("x", "8"): TWICE,
        ("x", "9"): FLAT,
    }
    assert found.loc[("x", "8"), "copy_of"] == "2"
    assert found["copy_of"].notna().sum() == 1


def test_shares_and_correlations_are_those_of_the_rest(block):
    found = screened(from_arrays({"x": da.from_array(block)}), Screen(0.0, 2.0))
    for item in (0, 5, 9, 20):
        rest = np.delete(block, item, axis=1).sum(axis=1)
        row = found.loc[("x", str(item))]
        expected = np.corrcoef(block[:, item], rest)[0, 1]
        np.testing.assert_allclose(row["correlation"], expected, rtol=1e-9)
        assert row["share"] == pytest.approx(block[:, item].mean())


def test_models_without_the_whole_benchmark_judge_nothing(block):
    part = block.copy()
    part[450:, 0] = -1
    part[450:, 1:] = 1 - part[450:, 1:]
    some = screened(from_arrays({"x": da.from_array(part)}), Screen(0.0, 2.0))
    whole = screened(from_arrays({"x": da.from_array(block[:450])}), Screen(0.0, 2.0))
    np.testing.assert_allclose(some["correlation"], whole["correlation"])
