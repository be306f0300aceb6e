"""What a distilled benchmark is to tell: full scores, and their mean over benchmarks."""

from __future__ import annotations

from typing import Any

import dask.array as da
import numpy as np
import pandas as pd
from dask.base import compute

from mtlirt.distill.reconstruction.benchmarks import GRAND_MEAN
from mtlirt.errors import InputError
from mtlirt.responses.matrix import DomainResponses, Responses, answered


def full_scores(responses: Responses) -> pd.DataFrame:
    """The share of each benchmark's items that each model answered right.

    Returns
    -------
    pandas.DataFrame
        Index ``model_id``; a column a domain and `GRAND_MEAN`, in [0, 1]; null unless the model
        answered every item of the domain (of all domains). Reads the responses once.

    Raises
    ------
    InputError
        If a domain has the name of the mean.
    """
    if GRAND_MEAN in responses.domains:
        raise InputError(f"domain {GRAND_MEAN!r}: the name is that of the mean over domains")
    sums = [_row_sums(part) for part in responses.domains.values()]
    columns = {}
    for name, (right, count) in zip(responses.domains, compute(*sums), strict=True):
        items = responses.domains[name].array.shape[1]
        columns[name] = np.where(count == items, right / items, np.nan)
    scores = pd.DataFrame(columns, index=responses.models.index)
    return scores.assign(**{GRAND_MEAN: scores.mean(axis=1, skipna=False)})


def shares(part: DomainResponses) -> Any:
    """Shares of right answers as a Dask array of float32, nan where missing."""
    cells = part.array
    there = answered(cells)
    tried = 1 if part.trials is None else da.maximum(part.trials, 1)
    return da.where(there, cells / tried, np.nan).astype(np.float32)


def _row_sums(part: DomainResponses) -> tuple[Any, Any]:
    values = shares(part)
    return da.nansum(values, axis=1, dtype=np.float64), answered(part.array).sum(axis=1)
