"""What in the responses deserves a look: constant, empty, shared, nearly equal."""

from __future__ import annotations

from collections import Counter, defaultdict
from collections.abc import Mapping, Sequence
from typing import TypedDict

import numpy as np

from mtlirt.ingest.cells import Grid, Observed, Ranks
from mtlirt.ingest.report import ItemId
from mtlirt.ingest.values import Floats


class CellNotices(TypedDict):
    """What the cells tell; fields of `IngestReport`."""

    constant_domains: tuple[str, ...]
    constant_items: tuple[ItemId, ...]
    empty_models: tuple[str, ...]
    empty_items: tuple[ItemId, ...]


NO_CELL_NOTICES: CellNotices = {
    "constant_domains": (),
    "constant_items": (),
    "empty_models": (),
    "empty_items": (),
}


class IdNotices(TypedDict):
    """What the ids tell; fields of `IngestReport`."""

    shared_items: tuple[str, ...]
    same_folded_models: tuple[tuple[str, ...], ...]
    same_folded_items: tuple[tuple[ItemId, ...], ...]


def notice_cells(
    grid: Grid, models: Sequence[str], items: Sequence[ItemId], columns: Mapping[str, slice]
) -> CellNotices:
    """Find constant and empty domains, items and models.

    Parameters
    ----------
    grid
        Responses of `models` to `items`.
    models, items
        Their ids in the order of rows and columns.
    columns
        The items of each domain.
    """
    low, high = _item_range(grid)
    empty = ~(np.fmax.reduce(grid.correct, axis=1) >= 0)
    constant = np.flatnonzero(low == high)
    return {
        "constant_domains": tuple(
            domain
            for domain, part in columns.items()
            if np.fmin.reduce(low[part]) == np.fmax.reduce(high[part])
        ),
        "constant_items": tuple(items[item] for item in constant.tolist()),
        "empty_models": tuple(models[row] for row in np.flatnonzero(empty).tolist()),
        "empty_items": tuple(items[item] for item in np.flatnonzero(np.isnan(low)).tolist()),
    }


def notice_ids(models: Sequence[str], items: Sequence[ItemId]) -> IdNotices:
    """Find item ids in several domains, and ids that differ only in the case of letters."""
    folded_models: defaultdict[str, list[str]] = defaultdict(list)
    for model in models:
        folded_models[model.casefold()].append(model)
    folded_items: defaultdict[ItemId, list[ItemId]] = defaultdict(list)
    for domain, item in items:
        folded_items[domain, item.casefold()].append((domain, item))
    times = Counter(item for _, item in items)
    return {
        "shared_items": tuple(item for item, count in times.items() if count > 1),
        "same_folded_models": tuple(tuple(ids) for ids in folded_models.values() if len(ids) > 1),
        "same_folded_items": tuple(tuple(ids) for ids in folded_items.values() if len(ids) > 1),
    }


def notice_thresholds(
    batches: Sequence[Observed],
    ranks: Ranks,
    items: Sequence[ItemId],
    constant: Sequence[ItemId],
) -> tuple[ItemId, ...]:
    """Find the constant items whose values differed before a threshold cut them."""
    low, high = np.full(len(items), np.inf), np.full(len(items), -np.inf)
    for batch in batches:
        if batch.raw is not None:
            columns = ranks.columns[batch.items]
            np.minimum.at(low, columns, batch.raw)
            np.maximum.at(high, columns, batch.raw)
    varied = {items[item] for item in np.flatnonzero(low < high).tolist()}
    return tuple(item for item in constant if item in varied)


def _item_range(grid: Grid) -> tuple[Floats, Floats]:
    """The lowest and highest response to each item, NaN where there is none."""
    if grid.correct.dtype == np.int8:
        high = grid.correct.max(axis=0)
        low = grid.correct.view(np.uint8).min(axis=0)  # missing reads as 255
        return np.where(high < 0, np.nan, low), np.where(high < 0, np.nan, high)
    trials = 1 if grid.trials is None else np.maximum(grid.trials, 1)
    rates = grid.correct / trials
    return np.fmin.reduce(rates, axis=0), np.fmax.reduce(rates, axis=0)
