"""The models' weights in sums over models, read from the model table of responses."""

from __future__ import annotations

import math
from numbers import Real

import numpy as np
import numpy.typing as npt
import pandas as pd

from mtlirt.errors import InputError
from mtlirt.responses.matrix import Responses

COLUMN = "weight"

LARGEST_WEIGHT = 1e6
"""Beyond this one model is all that counts, and a mistake more likely."""


def read_weights(responses: Responses) -> npt.NDArray[np.float64] | None:
    """The weights of all models, shape (models,); None where each is 1, as it is if left empty.

    Raises
    ------
    InputError
        If a value is neither null nor a number from 0 to `LARGEST_WEIGHT`; names it.
    """
    table = responses.models
    if COLUMN not in table:
        return None
    out = np.ones(len(table))
    for i, (model, value) in enumerate(
        zip(table.index, table[COLUMN].to_numpy(dtype=object), strict=True)
    ):
        if pd.isna(value):
            continue
        if not is_weight(value):
            raise InputError(
                f"model {model!r}: {COLUMN} is {value!r}, expected a number from 0 to "
                f"{LARGEST_WEIGHT:,.0f}; mend it in the model table, or leave it empty"
            )
        out[i] = value
    return None if (out == 1.0).all() else out


def is_weight(value: object) -> bool:
    """Whether a value is a number from 0 to `LARGEST_WEIGHT`; a truth value is none."""
    if isinstance(value, bool) or not isinstance(value, Real) or math.isnan(value):
        return False
    return 0.0 <= float(value) <= LARGEST_WEIGHT
