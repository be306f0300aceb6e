"""The model x item matrix: one Dask array a domain, with the model and item tables."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass

import dask.array as da
import numpy as np
import pandas as pd

MISSING = -1
"""The code of a missing cell in an integer response array."""


@dataclass(frozen=True)
class DomainResponses:
    """The responses of all models to the items of one domain.

    Attributes
    ----------
    array
        Models x items, in the order of the tables of `Responses`. One of

        * int8: 1 correct, 0 wrong, -1 missing;
        * int16 with `trials`: successes of so many attempts, -1 missing;
        * float32: a fraction in [0, 1] counted as one attempt, NaN missing.
    trials
        int16 attempts behind each cell, 0 where missing; None unless attempts repeat.
    """

    array: da.Array
    trials: da.Array | None = None

    def __post_init__(self) -> None:
        if self.array.ndim != 2:
            raise ValueError(f"a response array has 2 dimensions, this one {self.array.ndim}")
        expected = (
            {np.dtype("int16")}
            if self.trials is not None
            else {
                np.dtype("int8"),
                np.dtype("float32"),
            }
        )
        if self.array.dtype not in expected:
            names = " or ".join(sorted(str(dtype) for dtype in expected))
            raise ValueError(f"a response array is {names}, this one {self.array.dtype}")
        if self.trials is not None and self.trials.shape != self.array.shape:
            raise ValueError(f"trials have shape {self.trials.shape}, responses {self.array.shape}")


@dataclass(frozen=True)
class Responses:
    """Item-level results of many models on several domains; lazy until computed.

    Attributes
    ----------
    domains
        Domain name -> its responses. Every array has one row for each model of `models`, in
        that order; a model that took nothing of a domain has a row of missing cells.
    models
        Index ``model_id`` (unique strings); columns are metadata.
    items
        Index (``domain``, ``item_id``) (unique), the domains in the order of `domains`, within
        a domain in the order of its array's columns; columns are metadata.
    """

    domains: Mapping[str, DomainResponses]
    models: pd.DataFrame
    items: pd.DataFrame

    @property
    def shape(self) -> tuple[int, int]:
        """Number of models, number of items over all domains."""
        return len(self.models), len(self.items)

    def item_ids(self, domain: str) -> pd.Index:
        """The item ids of one domain in the order of its columns."""
        return self.items.loc[domain].index
