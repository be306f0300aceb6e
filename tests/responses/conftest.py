"""Small responses of every kind."""

import dask.array as da
import numpy as np
import pandas as pd
import pytest

from mtlirt.responses.matrix import DomainResponses, Responses

HOSTILE = [
    "[",
    "[100%]",
    "#15789",
    '"',
    "'",
    "a|b|c",
    "x" * 10_000,
    "line\nbreak\r\n",
    "NA",
    "null",
    "nan",
    "None",
    "1e5",
    "1",
    "1.0",
    "True",
    "007",
    " padded ",
    "\t",
    "../..",
    "a/b\\c",
    "café",
    "cafe\u0301",
    "模型",
    "a\x00b",
    "2024-01-01",
]


@pytest.fixture
def hostile():
    return HOSTILE


@pytest.fixture(name="binary")
def binary_fixture():
    return binary


@pytest.fixture(name="as_responses")
def as_responses_fixture():
    return as_responses


@pytest.fixture(name="assert_same", scope="session")
def assert_same_fixture():
    return assert_same


def binary(shape, seed=0):
    return np.random.default_rng(seed).integers(-1, 2, shape, dtype="int8")


def as_responses(arrays, chunks="auto"):
    """Responses of NumPy arrays (or pairs with trials) by domain, with plain ids."""
    parts = {}
    for domain, given in arrays.items():
        array, *trials = given if isinstance(given, tuple) else (given,)
        lazy = [da.from_array(one, chunks=chunks) for one in (array, *trials)]
        parts[domain] = DomainResponses(*lazy)
    models = next(iter(parts.values())).array.shape[0]
    items = [(name, f"i{k}") for name, part in parts.items() for k in range(part.array.shape[1])]
    return Responses(
        domains=parts,
        models=pd.DataFrame(index=pd.Index([f"m{k}" for k in range(models)], name="model_id")),
        items=pd.DataFrame(index=pd.MultiIndex.from_tuples(items, names=["domain", "item_id"])),
    )


@pytest.fixture
def three_kinds():
    """A binary domain, one of repeated attempts and one of fractions, with missing cells."""
    rng = np.random.default_rng(1)
    trials = rng.integers(0, 5, (6, 4), dtype="int16")
    successes = np.where(trials == 0, -1, rng.integers(0, trials + 1)).astype("int16")
    fractions = rng.random((6, 3), dtype="float32")
    fractions[0] = np.nan
    return as_responses(
        {"binary": binary((6, 5)), "repeated": (successes, trials), "fractions": fractions}
    )


def assert_same(left, right):
    pd.testing.assert_frame_equal(left.models, right.models)
    pd.testing.assert_frame_equal(left.items, right.items)
    assert list(left.domains) == list(right.domains)
    for one, other in zip(left.domains.values(), right.domains.values(), strict=True):
        assert one.array.dtype == other.array.dtype
        np.testing.assert_array_equal(one.array.compute(), other.array.compute())
        assert (one.trials is None) == (other.trials is None)
        if one.trials is not None:
            np.testing.assert_array_equal(one.trials.compute(), other.trials.compute())
