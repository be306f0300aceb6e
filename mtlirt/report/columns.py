"""Columns of tables as what JSON holds: rounded numbers, null for what is missing."""

from __future__ import annotations

from collections.abc import Iterable
from math import isfinite
from typing import Any

import numpy as np
import numpy.typing as npt
import pandas as pd

Json = dict[str, Any]


def rounded(values: pd.Series | npt.NDArray[np.float64], decimals: int = 3) -> list[float | None]:
    """Numbers to so many decimals."""
    array = np.round(np.asarray(values, dtype=np.float64), decimals) + 0.0  # no -0.0
    return [value if isfinite(value) else None for value in array.tolist()]


def significant(values: Iterable[float], digits: int = 4) -> list[float | None]:
    """Numbers to so many digits that count."""
    return [float(f"{value:.{digits}g}") if isfinite(value) else None for value in values]


def whole(values: pd.Series) -> list[int | None]:
    """Whole numbers of a nullable column."""
    return [None if pd.isna(value) else int(value) for value in values]


def places(flags: pd.Series | npt.NDArray[np.bool_]) -> list[int]:
    """Where a column is true."""
    return [int(place) for place in np.flatnonzero(np.asarray(flags, dtype=bool))]


def coded(values: pd.Series) -> Json:
    """A column of few different texts: the texts, and of every row the number of its own."""
    codes, names = pd.factorize(values.fillna("").astype(str))
    return {"names": [str(name) for name in names], "codes": [int(code) for code in codes]}
