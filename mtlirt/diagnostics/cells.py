"""The responses of a domain in the order of a fit, read piece by piece."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass, replace
from functools import cached_property

import numpy as np
import numpy.typing as npt
import pandas as pd
from dask.base import compute

from mtlirt.errors import InputError
from mtlirt.irt.blocks import ResponseBlock, response_block
from mtlirt.irt.curves import Items
from mtlirt.responses.matrix import DomainResponses, Responses, answered
from mtlirt.result import Fit

Ints = npt.NDArray[np.intp]

HELD_BYTES = 2**28
"""Responses of all domains that take no more memory are read once and held."""

WEIGHED_BYTES = 8
"""Of a cell of repeated attempts or of a fraction; others take one."""

STRIP_CELLS = 2**23
"""Others are read in strips of models with so many cells, or one model."""


@dataclass(frozen=True)
class DomainCells:
    """What the models of a fit answered to its items in one domain.

    Attributes
    ----------
    name
        The domain.
    items
        Parameters of the items.
    constant
        Which items all takers passed, or failed.
    rows
        Of the response array, one for each model.
    columns
        Of the response array, one for each item.
    responses
        The domain as it is stored.
    held
        Whether it is kept once it was read.
    """

    name: str
    items: Items
    constant: npt.NDArray[np.bool_]
    rows: Ints
    columns: Ints
    responses: DomainResponses
    held: bool

    @property
    def shape(self) -> tuple[int, int]:
        """Numbers of models and items."""
        return len(self.rows), len(self.columns)

    @property
    def strips(self) -> Iterator[slice]:
        """Runs of models that are read together; they depend on the shape alone."""
        models, items = self.shape
        step = max(1, STRIP_CELLS // max(items, 1))
        return (slice(k, min(k + step, models)) for k in range(0, models, step))

    def block(self, models: slice, items: slice = slice(None)) -> ResponseBlock:
        """The responses of a run of models to a run of items."""
        if self.held:
            weight = self._all.weight
            part = weight[models, items] if weight.size else weight
            return ResponseBlock(self._all.responses[models, items], part)
        return self._read(self.rows[models], self.columns[items])

    def rows_of(self, models: Ints) -> ResponseBlock:
        """The responses of some models, in any order, to all items."""
        return self._all.take(models) if self.held else self._read(self.rows[models], self.columns)

    @cached_property
    def _all(self) -> ResponseBlock:
        return self._read(self.rows, self.columns)

    def _read(self, rows: Ints, columns: Ints) -> ResponseBlock:
        arrays = [self.responses.array, self.responses.trials]
        parts = compute(*(part[rows][:, columns] for part in arrays if part is not None))
        return response_block(*parts)


@dataclass(frozen=True)
class Matched:
    """Responses beside the fit they are judged by.

    Attributes
    ----------
    models
        Ids of the models that both know, in the fit's order.
    rows
        Where each stands in the fit.
    domains
        Those that both know, with the items that both know.
    items
        Index (domain, item_id) of these items.
    metadata
        The rows of the responses' table of models.
    left_out
        Numbers of models and items of the responses that the fit does not know, and of the fit
        that the responses lack.
    """

    models: pd.Index
    rows: Ints
    domains: tuple[DomainCells, ...]
    items: pd.Index
    metadata: pd.DataFrame
    left_out: dict[str, int]

    def of(self, some: Ints) -> Matched:
        """Those of some models, by their numbers."""
        return replace(
            self,
            models=self.models[some],
            rows=self.rows[some],
            domains=tuple(replace(cells, rows=cells.rows[some]) for cells in self.domains),
            metadata=self.metadata.iloc[some],
        )


def match(fit: Fit, responses: Responses) -> Matched:
    """Put responses in the order of a fit; nothing is read yet.

    Raises
    ------
    InputError
        If they have no model or no item in common.
    """
    models = fit.models.index[fit.models.index.isin(responses.models.index)]
    items = fit.items.index[fit.items.index.isin(responses.items.index)]
    for what, shared, asked in (
        ("models", models, responses.models.index),
        ("items", items, responses.items.index),
    ):
        if shared.empty:
            raise InputError(
                f"none of the {len(asked)} {what} of the responses is known to the fit; "
                "give the responses that were fitted"
            )
    rows = responses.models.index.get_indexer(models)
    weighed = any(part.array.dtype != np.int8 for part in responses.domains.values())
    cell = WEIGHED_BYTES if weighed else 1
    held = len(models) * len(items) * cell <= HELD_BYTES
    domains = []
    for name in fit.domains.index:
        ids = items[items.get_level_values("domain") == name].get_level_values("item_id")
        if ids.empty:
            continue
        table = fit.items.loc[name].loc[ids]
        parameters = (table[part].to_numpy(np.float64) for part in Items._fields)
        columns = responses.item_ids(name).get_indexer(ids)
        constant = table["constant"].to_numpy(bool)
        cells = responses.domains[name]
        domains.append(DomainCells(name, Items(*parameters), constant, rows, columns, cells, held))
    left_out = {
        "models_unknown": len(responses.models) - len(models),
        "items_unknown": len(responses.items) - len(items),
        "models_missing": len(fit.models) - len(models),
        "items_missing": len(fit.items) - len(items),
    }
    places = fit.models.index.get_indexer(models)
    metadata = responses.models.loc[models]
    return Matched(models, places, tuple(domains), items, metadata, left_out)


def attempts(block: ResponseBlock) -> npt.NDArray[np.float64]:
    """Attempts behind each cell of a block, 0 where missing."""
    cells = block.weight if block.weight.size else answered(block.responses)
    return np.asarray(cells, np.float64)


def successes(block: ResponseBlock) -> npt.NDArray[np.float64]:
    """Right answers in each cell of a block, 0 where missing."""
    return np.maximum(np.asarray(block.responses, np.float64), 0.0)
