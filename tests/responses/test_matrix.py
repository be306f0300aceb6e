"""What responses may be made of."""

import dask.array as da
import numpy as np
import pandas as pd
import pytest

from mtlirt.errors import InputError
from mtlirt.responses.matrix import DomainResponses, Responses


def test_counts_are_answered_items_by_model_and_domain(three_kinds):
    counts = three_kinds.counts()
    assert list(counts.columns) == list(three_kinds.domains)
    assert counts.index.equals(three_kinds.models.index)
    assert counts.loc["m0", "fractions"] == 0
    assert (counts.loc["m1":, "fractions"] == 3).all()
    trials = three_kinds.domains["repeated"].trials.compute()
    np.testing.assert_array_equal(counts["repeated"], (trials > 0).sum(axis=1))


def test_the_shape_counts_items_over_domains(three_kinds):
    assert three_kinds.shape == (6, 12)
    assert list(three_kinds.item_ids("fractions")) == ["i0", "i1", "i2"]


@pytest.mark.parametrize(
    ("array", "trials", "told"),
    [
        (np.zeros(3, "int8"), None, "2 dimensions"),
        (np.zeros((3, 2), "int64"), None, "float32 or int8"),
        (np.zeros((3, 2), "int16"), None, "float32 or int8"),
        (np.zeros((3, 2), "int8"), np.zeros((3, 2), "int16"), "is int16"),
        (np.zeros((3, 2), "int16"), np.zeros((2, 2), "int16"), "shape"),
        (np.zeros((3, 2), "int16"), np.zeros((3, 2), "int64"), "trials array is int16"),
    ],
)
def test_arrays_of_other_kinds_are_refused(array, trials, told):
    with pytest.raises(ValueError, match=told):
        DomainResponses(
            da.from_array(array), trials=None if trials is None else da.from_array(trials)
        )


def with_index(table, values):
    return pd.DataFrame(index=pd.Index(values, name=table.index.name))


def test_tables_must_fit_the_arrays(as_responses, binary):
    good = as_responses({"b": binary((3, 2)), "a": binary((3, 2))})
    with pytest.raises(InputError, match="3 rows for 2 models"):
        Responses(good.domains, good.models.iloc[:2], good.items)
    with pytest.raises(InputError, match="3 items, the arrays 4 columns"):
        Responses(good.domains, good.models, good.items.iloc[:3])
    with pytest.raises(InputError, match="domains in the same order"):
        Responses(good.domains, good.models, good.items.sort_index())
    with pytest.raises(InputError, match="'m0' occurs twice"):
        Responses(good.domains, with_index(good.models, ["m0", "m1", "m0"]), good.items)
    with pytest.raises(InputError, match=r"indexed by \['model_id'\]"):
        Responses(good.domains, good.models.rename_axis(None), good.items)
