"""A stored version and what is added to it: lazy responses that know which chunks change."""

from __future__ import annotations

import math
from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field
from itertools import product
from typing import Any

import dask.array as da
import numpy as np
import pandas as pd
from dask.base import compute
from dask.delayed import delayed
from numpy.typing import NDArray

from mtlirt.errors import InputError
from mtlirt.responses.layout import chunks_of
from mtlirt.responses.matrix import MISSING, DomainResponses, Responses, answered
from mtlirt.responses.store import StoredResponses

SMALL_CHUNK = 1 << 22
"""Cells of a chunk below which a domain that has grown to more chunks than `MANY` is cut anew."""

MANY = 4

Ints = NDArray[np.int64]
Cells = tuple[Ints, Ints]
"""Rows and columns."""

NO_CELLS: Cells = np.empty(0, np.int64), np.empty(0, np.int64)


@dataclass(frozen=True)
class DomainGrowth:
    """What becomes of the chunks of one domain.

    Attributes
    ----------
    chunks
        Models and items of a chunk.
    kept
        Whether chunks that the version has already, and that do not change, stay as they are.
    changed
        Positions of the chunks that are to be written.
    """

    chunks: tuple[int, int]
    kept: bool
    changed: frozenset[tuple[int, int]]


@dataclass(frozen=True)
class GrownResponses(Responses):
    """A stored version with more models, items and cells.

    Attributes
    ----------
    stored
        The version that it was made from.
    growth
        Domain -> what becomes of its chunks.
    """

    stored: StoredResponses
    growth: Mapping[str, DomainGrowth]


def grow(
    stored: StoredResponses,
    added: Responses,
    cleared: Mapping[str, Cells],
    models: pd.DataFrame,
    items: pd.DataFrame,
) -> GrownResponses:
    """Add responses to a stored version.

    Parameters
    ----------
    stored
        The version.
    added
        Its cells that are not missing count, also where the version has others.
    cleared
        Domain -> cells of the version that become missing unless `added` has them.
    models, items
        The tables of the whole: those of the version, then what is new; new items behind the
        others of their domain, new domains last.

    Raises
    ------
    InputError
        If fractions would meet repeated attempts in a domain.
    """
    domains, growth = {}, {}
    names = items.index.get_level_values("domain")
    for domain in names.unique():
        columns = items.index[names == domain].get_level_values("item_id")
        new = _new_cells(added, domain, models.index, columns)
        old = stored.responses.domains.get(domain)
        dtype = _joint_dtype(domain, [part.array.dtype for part in (old, new.part) if part])
        whole = _padded(old, (len(models), len(columns)), dtype)
        chunks, kept = _chunking(stored.rows.get(domain), whole)
        lost = cleared.get(domain, NO_CELLS)
        growth[domain] = DomainGrowth(
            chunks, kept, _changed(whole, old if kept else None, chunks, [lost, new.cells])
        )
        domains[domain] = _with_cells(whole, chunks, lost, new, dtype)
    return GrownResponses(domains, models, items, stored, growth)


def pick(array: da.Array, cells: Cells) -> NDArray[Any]:
    """The values of some cells; computes the blocks that hold them, one after the other."""
    found = np.empty(len(cells[0]), array.dtype)
    chunks = array.chunks[0][0], array.chunks[1][0]
    for position, members, within in _by_block(cells, chunks):
        found[members] = array.blocks[position].compute()[within]
    return found


@dataclass(frozen=True)
class _NewCells:
    """What is added to a domain: `part` as it came, and its cells in the whole."""

    part: DomainResponses | None
    cells: Cells = NO_CELLS
    correct: NDArray[Any] = field(default_factory=lambda: np.empty(0, np.int8))
    trials: NDArray[Any] | None = None


def _new_cells(added: Responses, domain: str, models: pd.Index, items: pd.Index) -> _NewCells:
    part = added.domains.get(domain)
    if part is None:
        return _NewCells(None)
    correct, trials = compute(part.array, part.trials)
    rows, columns = np.nonzero(answered(correct))
    cells = (
        models.get_indexer(added.models.index)[rows],
        items.get_indexer(added.item_ids(domain))[columns],
    )
    return _NewCells(
        part,
        cells,
        correct[rows, columns],
        None if trials is None else trials[rows, columns],
    )


def _joint_dtype(domain: str, dtypes: list[np.dtype[Any]]) -> np.dtype[Any]:
    """The type that holds all: int8, int16 with trials, or float32."""
    if {np.dtype("int16"), np.dtype("float32")} <= set(dtypes):
        raise InputError(
            f"domain {domain!r}: fractions and repeated attempts do not mix, and the store has "
            "the one, the sources the other; make them two domains, or cut the fractions at a "
            "threshold"
        )
    return max(dtypes, key=lambda dtype: dtype.itemsize)


def _padded(
    old: DomainResponses | None, shape: tuple[int, int], dtype: np.dtype[Any]
) -> DomainResponses:
    """What a domain has, in a larger array that is missing elsewhere, and maybe of another type."""
    if old is None:
        parts = {"array": da.empty((0, 0), dtype=dtype)}
    elif old.array.dtype == dtype:
        parts = {"array": old.array}
    else:
        there = answered(old.array)
        parts = {"array": da.where(there, old.array, _missing(dtype)).astype(dtype)}
    if dtype == np.int16:
        given = None if old is None else old.trials
        if given is None:
            given = answered(parts["array"]).astype(np.int16)
        parts["trials"] = given
    fills = {"array": _missing(dtype), "trials": 0}
    return DomainResponses(**{k: _pad(array, shape, fills[k]) for k, array in parts.items()})


def _pad(array: da.Array, shape: tuple[int, int], fill: float) -> da.Array:
    models, items = array.shape
    if shape[0] > models:
        below = da.full((shape[0] - models, items), fill, dtype=array.dtype)
        array = da.concatenate([array, below])
    if shape[1] > items:
        beside = da.full((shape[0], shape[1] - items), fill, dtype=array.dtype)
        array = da.concatenate([array, beside], axis=1)
    return array


def _missing(dtype: np.dtype[Any]) -> float:
    return np.nan if dtype == np.float32 else MISSING


def _chunking(
    row: Mapping[str, Any] | None, whole: DomainResponses
) -> tuple[tuple[int, int], bool]:
    """Models and items of a chunk, and whether the stored chunks stay."""
    fresh = chunks_of(whole, None)
    if row is None:
        return fresh, False
    chunks = row["model_chunk"], row["item_chunk"]
    count = math.prod(_counts(whole.array.shape, chunks))
    if count > MANY and math.prod(chunks) < SMALL_CHUNK:
        return fresh, False
    return chunks, whole.array.dtype == row["dtype"]


def _counts(shape: tuple[int, ...], chunks: tuple[int, int]) -> tuple[int, ...]:
    """How many chunks there are each way."""
    return tuple(-(-total // size) for total, size in zip(shape, chunks, strict=True))


def _changed(
    whole: DomainResponses,
    kept: DomainResponses | None,
    chunks: tuple[int, int],
    cells: list[Cells],
) -> frozenset[tuple[int, int]]:
    """Positions of chunks that are not among those kept, or hold one of some cells."""
    there: set[tuple[int, ...]] = set()
    if kept is not None:
        there = set(product(*map(range, _counts(kept.array.shape, chunks))))
    every = product(*map(range, _counts(whole.array.shape, chunks)))
    touched = {position for some in cells for position, _, _ in _by_block(some, chunks)}
    return frozenset((i, j) for i, j in every if (i, j) not in there or (i, j) in touched)


def _by_block(
    cells: Cells, chunks: tuple[int, int]
) -> Iterator[tuple[tuple[int, int], Ints, Cells]]:
    """The position of each block that holds some of the cells, which those are, and where in it."""
    rows, columns = cells
    if not len(rows):
        return
    wide = int(columns.max()) // chunks[1] + 1
    numbers = rows // chunks[0] * wide + columns // chunks[1]
    order = np.argsort(numbers, kind="stable")
    starts = np.flatnonzero(np.diff(numbers[order], prepend=-1))
    for members in np.split(order, starts[1:]):
        i, j = divmod(int(numbers[members[0]]), wide)
        yield (i, j), members, (rows[members] - i * chunks[0], columns[members] - j * chunks[1])


def _with_cells(
    whole: DomainResponses,
    chunks: tuple[int, int],
    lost: Cells,
    new: _NewCells,
    dtype: np.dtype[Any],
) -> DomainResponses:
    """A domain with some cells missing and others new."""
    array = _overlaid(whole.array, chunks, lost, _missing(dtype))
    array = _overlaid(array, chunks, new.cells, new.correct.astype(dtype))
    if whole.trials is None:
        return DomainResponses(array)
    attempts = np.ones(len(new.correct), np.int16) if new.trials is None else new.trials
    trials = _overlaid(whole.trials, chunks, lost, 0)
    return DomainResponses(array, _overlaid(trials, chunks, new.cells, attempts))


def _overlaid(
    array: da.Array, chunks: tuple[int, int], cells: Cells, values: NDArray[Any] | float
) -> da.Array:
    """An array in such chunks, with other values in some cells."""
    array = array.rechunk(chunks)
    blocks = array.to_delayed()
    for position, members, within in _by_block(cells, chunks):
        some = values[members] if isinstance(values, np.ndarray) else values
        blocks[position] = delayed(_with_values, traverse=False)(blocks[position], within, some)
    lazy = [
        [
            da.from_delayed(block, (rows, columns), array.dtype)
            for block, columns in zip(line, array.chunks[1], strict=True)
        ]
        for line, rows in zip(blocks, array.chunks[0], strict=True)
    ]
    joined: da.Array = da.block(lazy)
    return joined


def _with_values(block: NDArray[Any], within: Cells, values: NDArray[Any] | float) -> NDArray[Any]:
    changed = block.copy()
    changed[within] = values
    return changed
