"""Wide tables: one row a model, one column an item; or the other way round."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from itertools import islice
from typing import Any

import numpy as np
import pyarrow as pa

from mtlirt.errors import InputError
from mtlirt.ingest import delimited, parquet
from mtlirt.ingest.ids import encode_ids, show, show_some
from mtlirt.ingest.locations import Location, is_empty
from mtlirt.ingest.opening import bare_suffix
from mtlirt.ingest.reader import Batch, Rows, no_records
from mtlirt.ingest.values import reads_as_value

SUFFIXES = (*parquet.SUFFIXES, *delimited.SUFFIXES)

_BATCH_CELLS = 1 << 21


@dataclass(frozen=True)
class Layout:
    """How a wide table lies.

    Attributes
    ----------
    id_column
        The column that names each row; None for the first.
    transpose
        Whether rows are items and columns models.
    header
        Whether the first row names the columns; without it there are values only, and models and
        items are numbered from 1.
    """

    id_column: str | None = None
    transpose: bool = False
    header: bool = True

    def __post_init__(self) -> None:
        if self.id_column is not None and not self.header:
            raise InputError(
                "a file without a header (--no-header) has no column of names: leave out the "
                "model column (--model-column)"
            )

    @property
    def row_field(self) -> str:
        """What a row stands for."""
        return "item_id" if self.transpose else "model_id"

    @property
    def column_field(self) -> str:
        """What a column stands for."""
        return "model_id" if self.transpose else "item_id"

    def split(self, header: Sequence[str], source: str) -> tuple[int, list[str]]:
        """Find the column that names rows, and the ids that the others stand for.

        Parameters
        ----------
        header
            Names of all columns.
        source
            Names the file in errors.

        Returns
        -------
        position, ids
            The place of the naming column, and the other columns' names.
        """
        position = self._position(header, source)
        ids = [*header[:position], *header[position + 1 :]]
        if not ids:
            raise InputError(f"{source}: only one column, {show(header[position])}; expected items")
        twice = [name for name, count in Counter(ids).items() if count > 1]
        if twice and all(reads_as_value(name) for name in ids):
            raise InputError(
                f"{source}: its first row holds values, not the names of columns: write a header "
                f"with the {self.column_field} of each column, or choose no header (--no-header): "
                "models and items are then numbered"
            )
        if twice:
            raise InputError(f"{source}: more than one column is called {show_some(twice)}")
        for number, name in enumerate(header, 1):
            if number != position + 1 and not name.strip():
                raise InputError(f"{source}: column {number} has no name")
        return position, ids

    def _position(self, header: Sequence[str], source: str) -> int:
        if self.id_column is None:
            return 0
        if header.count(self.id_column) != 1:
            raise InputError(
                f"{source}: {header.count(self.id_column)} columns are called "
                f"{show(self.id_column)}, expected 1; found {show_some(list(header))}"
            )
        return header.index(self.id_column)


@dataclass(frozen=True)
class WideReader:
    """Reads wide CSV, TSV and Parquet.

    Attributes
    ----------
    layout
        How the tables lie.
    suffixes
        How the names of its files end.
    """

    layout: Layout = Layout()
    suffixes: tuple[str, ...] = SUFFIXES

    def read(self, path: Location) -> Iterator[Batch]:
        """Read one file, its format told by the end of its name."""
        suffix = bare_suffix(path)
        if suffix not in SUFFIXES:
            raise InputError(f"{path}: the name of a wide file ends in {' '.join(SUFFIXES)}")
        if is_empty(path):
            yield no_records(path)
        elif suffix in parquet.SUFFIXES:
            if not self.layout.header:
                raise InputError(f"{path}: Parquet names its columns: leave out --no-header")
            yield from wide_batches(parquet.read_table(path), self.layout, Rows(str(path), 1))
        else:
            yield from self._read_delimited(path)

    def _read_delimited(self, path: Location) -> Iterator[Batch]:
        rows = delimited.read_rows(path)
        if not self.layout.header:
            rows = _with_names(rows)
        header = next(rows, None)
        if header is None:
            yield no_records(path)
            return
        width = len(header[1])
        position, ids = self.layout.split(header[1], str(path))
        column_ids = encode_ids(pa.array(ids, pa.large_string()), str(path))
        first, unnamed = ("the header", 0) if self.layout.header else ("the first row", 1)
        some = max(1, _BATCH_CELLS // width)
        empty = True
        while chunk := list(islice(rows, some)):
            empty = False
            for number, cells in chunk:
                if len(cells) != width:
                    raise InputError(
                        f"{path} row {number}: {len(cells) - unnamed} cells, "
                        f"{first} has {width - unnamed}"
                    )
            row_ids = pa.array([cells.pop(position) for _, cells in chunk], pa.large_string())
            values = pa.array([cell for _, cells in chunk for cell in cells], pa.string())
            numbers = np.array([number for number, _ in chunk], np.int64)
            columns = {
                self.layout.row_field: _repeat(encode_ids(row_ids, str(path)), len(ids)),
                self.layout.column_field: _tile(column_ids, len(chunk)),
                "correct": values,
            }
            yield Batch(
                pa.RecordBatch.from_pydict(columns),
                Rows(str(path), numbers, repeats=len(ids)),
            )
        if empty:
            yield no_records(path)


def _with_names(rows: Iterator[tuple[int, list[str]]]) -> Iterator[tuple[int, list[str]]]:
    """Rows of values below a header and beside names, all numbers from 1."""
    for count, (number, cells) in enumerate(rows, 1):
        if count == 1:
            yield 0, ["", *(str(column) for column in range(1, len(cells) + 1))]
        yield number, [str(count), *cells]


def wide_batches(table: pa.Table, layout: Layout, start: Rows) -> Iterator[Batch]:
    """Turn a wide table into batches of records, some columns at a time.

    Parameters
    ----------
    table
        Ids in one column, values of any types in the others.
    layout
        How it lies.
    start
        Where its first row stands.
    """
    position, ids = layout.split(table.column_names, start.source)
    place = f"{start.source}: column {show(table.column_names[position])}"
    row_ids = encode_ids(_one_array(table.column(position)), place)
    table = table.remove_column(position)
    numbers = int(start.numbers) + np.arange(len(table), dtype=np.int64)
    by_type: dict[pa.DataType, list[int]] = {}
    for column, field in enumerate(table.schema):
        by_type.setdefault(field.type, []).append(column)
    some = max(1, _BATCH_CELLS // max(1, len(table)))
    for columns in by_type.values():
        for begin in range(0, len(columns), some):
            chosen = columns[begin : begin + some]
            names = pa.array([ids[column] for column in chosen], pa.large_string())
            records = {
                layout.row_field: _tile(row_ids, len(chosen)),
                layout.column_field: _repeat(encode_ids(names, start.source), len(table)),
                "correct": pa.concat_arrays(
                    [_one_array(table.column(column)) for column in chosen]
                ),
            }
            yield Batch(
                pa.RecordBatch.from_pydict(records),
                Rows(start.source, numbers, start.unit),
            )


def _one_array(column: pa.ChunkedArray[Any]) -> pa.Array[Any]:
    """A column in one piece, a dictionary decoded."""
    decoded = [
        chunk.dictionary_decode() if isinstance(chunk, pa.DictionaryArray) else chunk
        for chunk in column.chunks
    ]
    return pa.concat_arrays(decoded) if decoded else pa.array([], column.type)


def _repeat(ids: pa.Array[Any], times: int) -> pa.Array[Any]:
    """Each id so many times."""
    return ids.take(np.repeat(np.arange(len(ids), dtype=np.int32), times))


def _tile(ids: pa.Array[Any], times: int) -> pa.Array[Any]:
    """All ids, so many times over."""
    return ids.take(np.tile(np.arange(len(ids), dtype=np.int32), times))
