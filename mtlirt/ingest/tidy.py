"""Tidy tables: one response a row, in Parquet, CSV, TSV or JSON lines."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass

import numpy as np
import numpy.typing as npt
import pyarrow as pa
import pyarrow.compute as pc

from mtlirt.errors import InputError
from mtlirt.ingest import delimited, jsonlines, parquet
from mtlirt.ingest.ids import encode_ids, is_text, show, show_some
from mtlirt.ingest.locations import Location, is_empty
from mtlirt.ingest.opening import bare_suffix, naming
from mtlirt.ingest.reader import Batch, Rows, no_records
from mtlirt.ingest.tidy_lines import read_line_batches

SUFFIXES = (*parquet.SUFFIXES, *delimited.SUFFIXES, *jsonlines.SUFFIXES)

_REQUIRED = ("model_id", "item_id", "correct")
_IDS = ("model_id", "item_id", "domain")
BATCH_ROWS = 1 << 18
"""Records that are taken at a time: what is computed of them fits in a cache."""


@dataclass(frozen=True)
class TidyReader:
    """Reads tidy files.

    Attributes
    ----------
    domain_column
        The column of the domains; None for ``domain``, in files that have it.
    suffixes
        How the names of its files end.
    """

    domain_column: str | None = None
    suffixes: tuple[str, ...] = SUFFIXES

    def read(self, path: Location) -> Iterator[Batch]:
        """Read one file, its format told by the end of its name."""
        suffix = bare_suffix(path)
        if suffix not in SUFFIXES:
            raise InputError(f"{path}: the name of a tidy file ends in {' '.join(SUFFIXES)}")
        if is_empty(path):
            yield no_records(path)
        elif suffix in parquet.SUFFIXES:
            yield from self._read_parquet(path)
        elif suffix in jsonlines.SUFFIXES:
            yield from read_line_batches(path, self.domain_column)
        else:
            yield from self._read_delimited(path)

    def _read_parquet(self, path: Location) -> Iterator[Batch]:
        schema = parquet.read_schema(path)
        fields = find_columns(schema.names, self.domain_column, str(path))
        text = [
            fields[name]
            for name in _IDS
            if name in fields and is_text(schema.field(fields[name]).type)
        ]
        ignored = frozenset(schema.names) - set(fields.values())
        tables = parquet.read_batches(path, list(fields.values()), text, BATCH_ROWS)
        empty = True
        with naming(path):
            for batch in tidy_batches(tables, fields, Rows(str(path), 1), ignored):
                empty = False
                yield batch
        if empty:
            yield no_records(path)

    def _read_delimited(self, path: Location) -> Iterator[Batch]:
        header = delimited.read_header(path)
        if not header.names:
            yield no_records(path)
            return
        fields = find_columns(header.names, self.domain_column, str(path))
        ignored = frozenset(header.names) - set(fields.values())
        empty = True
        for row, table in delimited.read_columns(path, header, list(fields.values())):
            empty = False
            kept = np.flatnonzero(~_blank_rows(table))
            blank = len(table) - len(kept)
            rows = Rows(str(path), row + kept if blank else row)
            table = table.take(kept) if blank else table
            yield Batch(_records(table, fields, str(path)), rows, ignored, blank)
        if empty:
            yield no_records(path)


def find_columns(names: Sequence[str], domain_column: str | None, source: str) -> dict[str, str]:
    """Name the column of each field of a record.

    Parameters
    ----------
    names
        All columns of the file.
    domain_column
        The column of the domains; None for ``domain``, if there is one.
    source
        Names the file in errors.
    """
    fields = {field: field for field in _REQUIRED}
    if domain_column is not None:
        fields["domain"] = domain_column
    absent = [name for name in fields.values() if name not in names]
    if absent:
        raise InputError(
            f"{source}: no column {show_some(absent)}; found {show_some(list(names))}; rename its "
            "columns, or name the right format (--format) or domain column (--domain-column)"
        )
    for optional in ("domain", "trials"):
        if optional in names:
            fields.setdefault(optional, optional)
    for name in fields.values():
        if list(names).count(name) > 1:
            raise InputError(f"{source}: more than one column is called {show(name)}")
    return fields


def tidy_batches(
    batches: Iterable[pa.RecordBatch],
    fields: dict[str, str],
    start: Rows,
    ignored: frozenset[str],
) -> Iterator[Batch]:
    """Turn batches of consecutive rows of a tidy table into batches of records.

    Parameters
    ----------
    batches
        Of any types that ids and values may have.
    fields
        The column of each field of a record.
    start
        Where the first row stands.
    ignored
        Columns of the table that `fields` leaves out.
    """
    row = int(start.numbers)
    for table in batches:
        records = _records(table, fields, start.source)
        yield Batch(records, Rows(start.source, row), ignored)
        row += len(table)


def _records(table: pa.RecordBatch, fields: dict[str, str], source: str) -> pa.RecordBatch:
    columns = {
        field: encode_ids(table[name], f"{source}: column {show(name)}")
        if field in _IDS
        else table[name]
        for field, name in fields.items()
    }
    return pa.RecordBatch.from_pydict(columns)


def _blank_rows(table: pa.RecordBatch) -> npt.NDArray[np.bool_]:
    """Rows of a delimited file in which every column read is empty."""
    blank = np.ones(len(table), bool)
    for column in table.columns:
        assert isinstance(column, pa.DictionaryArray)
        empty = pc.index(column.dictionary, "").as_py()
        if empty < 0:
            return np.zeros(len(table), bool)
        blank &= column.indices.to_numpy() == empty
    return blank
