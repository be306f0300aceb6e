"""The items' known lower asymptotes, read from the item table of responses."""

from __future__ import annotations

from numbers import Real

import numpy as np
import numpy.typing as npt
import pandas as pd

from mtlirt.errors import InputError
from mtlirt.irt.kernels import Float
from mtlirt.responses.matrix import Responses

COLUMN = "guessing"


def read_guessing(
    responses: Responses, domain: str, picked: npt.NDArray[np.intp] | None = None
) -> Float:
    """The lower asymptotes of a domain's items, shape (items,); 0 where the table says nothing.

    Parameters
    ----------
    picked
        Positions of the items to read, in this order; None reads all.

    Raises
    ------
    InputError
        If a value is neither null nor a number in [0, 1); names it.
    """
    table = responses.items.loc[domain]
    if picked is not None:
        table = table.iloc[picked]
    out = np.zeros(len(table))
    if COLUMN in table:
        values = table[COLUMN].to_numpy(dtype=object)
        for j, (item, value) in enumerate(zip(table.index, values, strict=True)):
            if pd.isna(value):
                continue
            if not is_probability(value):
                raise InputError(
                    f"domain {domain!r}, item {item!r}: {COLUMN} is {value!r}, "
                    "expected a number in [0, 1); mend it in the item table, or leave it empty"
                )
            out[j] = value
    return out


def is_probability(value: object) -> bool:
    """Whether a value is a number in [0, 1); a truth value is none."""
    if isinstance(value, bool) or not isinstance(value, Real):
        return False
    return 0.0 <= float(value) < 1.0
