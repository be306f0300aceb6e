"""Responses from bare arrays."""

from __future__ import annotations

from collections.abc import Mapping

import dask.array as da
import numpy as np
import pandas as pd

from mtlirt.errors import InputError
from mtlirt.responses.matrix import DomainResponses, Responses


def from_arrays(domains: Mapping[str, da.Array]) -> Responses:
    """Take int8 (or float32) Dask arrays as responses; models and items get their numbers as ids.

    Parameters
    ----------
    domains
        Domain -> array of models x items, all with the same models in the same order: int8 with
        1 correct, 0 wrong, -1 missing, or float32 fractions with NaN missing. In any chunks.

    Raises
    ------
    InputError
        If there is no array, their numbers of rows differ, or one is not a Dask array of a type
        and shape that responses have, or has no items.
    """
    if not isinstance(domains, Mapping) or not domains:
        raise InputError(f"expected Responses or a dict of Dask arrays, not {domains!r:.60}")
    parts = {name: domain_responses(name, array) for name, array in domains.items()}
    rows = {part.array.shape[0] for part in parts.values()}
    if len(rows) != 1:
        raise InputError(f"the arrays have {sorted(rows)} rows; all need the same models")
    names, numbers = [], []
    for name, array in domains.items():
        names += [name] * array.shape[1]
        numbers += [str(j) for j in range(array.shape[1])]
    index = pd.MultiIndex.from_arrays([names, numbers], names=["domain", "item_id"])
    models = pd.Index([str(i) for i in np.arange(rows.pop())], name="model_id")
    return Responses(
        parts,
        pd.DataFrame(index=models),
        pd.DataFrame(index=index),
    )


def domain_responses(name: str, array: da.Array) -> DomainResponses:
    """Take one array as the responses of a domain; errors name it."""
    if not isinstance(array, da.Array) or np.isnan(array.shape).any():
        raise InputError(
            f"domain {name!r}: expected a Dask array of known shape, not {type(array).__name__}; "
            "dask.array.from_array makes one"
        )
    if array.ndim == 2 and array.shape[1] == 0:
        raise InputError(f"domain {name!r} has no items; leave it out")
    try:
        return DomainResponses(array)
    except ValueError as error:
        raise InputError(f"domain {name!r}: {error}") from None
