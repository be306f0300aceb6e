"""The model x item matrix: one Dask array a domain, with the model and item tables."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

import dask.array as da
import numpy as np
import pandas as pd
from dask.base import compute

from mtlirt.errors import InputError

MISSING = -1
"""The code of a missing cell in an integer response array."""


def answered(responses: Any) -> Any:
    """Which cells of a NumPy or Dask response array of any kind are not missing."""
    return responses >= 0  # false for -1 and for NaN


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
        if self.trials is not None and self.trials.dtype != np.dtype("int16"):
            raise ValueError(f"a trials array is int16, this one {self.trials.dtype}")


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

    def __post_init__(self) -> None:
        for table, names in ((self.models, ["model_id"]), (self.items, ["domain", "item_id"])):
            if list(table.index.names) != names:
                raise InputError(f"expected a table indexed by {names}, not {table.index.names}")
            if not table.index.is_unique:
                twice = table.index[table.index.duplicated()][0]
                raise InputError(f"{', '.join(names)}: {twice!r} occurs twice")
        for domain, responses in self.domains.items():
            if responses.array.shape[0] != len(self.models):
                raise InputError(
                    f"domain {domain!r}: {responses.array.shape[0]} rows for "
                    f"{len(self.models)} models"
                )
        counts = [responses.array.shape[1] for responses in self.domains.values()]
        expected = np.repeat(np.array(list(self.domains), dtype=object), counts)
        found = self.items.index.get_level_values("domain").to_numpy(dtype=object)
        if not np.array_equal(found, expected):
            raise InputError(
                f"the item table has {len(found)} items, the arrays {len(expected)} columns; "
                "it must list the items of each array, the domains in the same order"
            )

    @property
    def shape(self) -> tuple[int, int]:
        """Number of models, number of items over all domains."""
        return len(self.models), len(self.items)

    def item_ids(self, domain: str) -> pd.Index:
        """The item ids of one domain in the order of its columns."""
        return self.items.loc[domain].index

    def counts(self) -> pd.DataFrame:
        """How many items each model answered in each domain: models x domains, computed."""
        sums = [answered(part.array).sum(axis=1) for part in self.domains.values()]
        counts = compute(*sums)
        columns = dict(zip(self.domains, counts, strict=True))
        return pd.DataFrame(columns, index=self.models.index).rename_axis(columns="domain")
