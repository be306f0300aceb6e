"""Some models and some items of responses."""

import dask.array as da
import numpy as np
import pandas as pd
import pytest

from mtlirt.errors import InputError
from mtlirt.responses.arrays import from_arrays
from mtlirt.responses.matrix import DomainResponses, Responses
from mtlirt.responses.subset import some_items, some_models

CELLS = {
    "b": np.array([[1, 0, -1], [0, 1, 1], [1, 1, 0]], np.int8),
    "a": np.array([[1, 1], [0, -1], [0, 0]], np.int8),
}


@pytest.fixture
def responses():
    return from_arrays({name: da.from_array(block, chunks=2) for name, block in CELLS.items()})


def test_some_models_keep_their_rows(responses):
    found = some_models(responses, np.array([2, 0]))
    assert list(found.models.index) == ["2", "0"]
    for name, block in CELLS.items():
        np.testing.assert_array_equal(found.domains[name].array.compute(), block[[2, 0]])


def test_some_items_keep_the_order_of_the_whole(responses):
    chosen = pd.MultiIndex.from_tuples([("b", "2"), ("b", "0")], names=["domain", "item_id"])
    found = some_items(responses, chosen)
    assert list(found.items.index) == [("b", "0"), ("b", "2")]
    assert list(found.domains) == ["b"]
    np.testing.assert_array_equal(found.domains["b"].array.compute(), CELLS["b"][:, [0, 2]])


def test_an_item_that_is_not_there_is_named(responses):
    chosen = pd.MultiIndex.from_tuples([("b", "7"), ("b", "0")], names=["domain", "item_id"])
    with pytest.raises(InputError, match=r"item '7' of domain 'b'.*1 of 2"):
        some_items(responses, chosen)


def test_attempts_come_along(responses):
    part = DomainResponses(da.ones((2, 2), dtype="int16"), da.full((2, 2), 3, dtype="int16"))
    items = pd.MultiIndex.from_tuples([("x", "p"), ("x", "q")], names=["domain", "item_id"])
    models = pd.DataFrame(index=pd.Index(["m", "n"], name="model_id"))
    whole = Responses({"x": part}, models, pd.DataFrame(index=items))
    found = some_items(some_models(whole, np.array([1])), items[[1]])
    np.testing.assert_array_equal(found.domains["x"].trials.compute(), [[3]])
