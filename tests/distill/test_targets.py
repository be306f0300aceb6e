"""Full scores."""

import dask.array as da
import numpy as np
import pandas as pd
import pytest

from mtlirt.distill.reconstruction.benchmarks import GRAND_MEAN
from mtlirt.distill.targets import full_scores
from mtlirt.errors import InputError
from mtlirt.responses.arrays import from_arrays
from mtlirt.responses.matrix import DomainResponses, Responses


def test_only_full_forms_have_scores():
    responses = from_arrays(
        {
            "a": da.from_array(np.array([[1, 0, 1, 1], [1, 1, -1, 1]], np.int8), chunks=3),
            "b": da.from_array(np.array([[0, 1], [1, 1]], np.int8), chunks=1),
        }
    )
    expected = pd.DataFrame(
        {"a": [0.75, np.nan], "b": [0.5, 1.0], GRAND_MEAN: [0.625, np.nan]},
        index=pd.Index(["0", "1"], name="model_id"),
    )
    pd.testing.assert_frame_equal(full_scores(responses), expected)


def test_attempts_and_fractions_are_shares():
    items = pd.MultiIndex.from_tuples(
        [("t", "1"), ("t", "2"), ("f", "1")], names=["domain", "item_id"]
    )
    trials = DomainResponses(
        da.from_array(np.array([[3, 1]], np.int16)), da.from_array(np.array([[4, 2]], np.int16))
    )
    fraction = DomainResponses(da.from_array(np.array([[0.25]], np.float32)))
    models = pd.DataFrame(index=pd.Index(["m"], name="model_id"))
    found = full_scores(Responses({"t": trials, "f": fraction}, models, pd.DataFrame(index=items)))
    assert found.loc["m"].tolist() == [0.625, 0.25, 0.4375]


def test_the_name_of_the_mean_is_taken():
    with pytest.raises(InputError, match=f"domain '{GRAND_MEAN}'"):
        full_scores(from_arrays({GRAND_MEAN: da.ones((2, 2), dtype="int8")}))
