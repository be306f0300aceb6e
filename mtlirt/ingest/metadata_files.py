"""Read tables about models and items."""

from __future__ import annotations

from collections import Counter
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
import pyarrow as pa

from mtlirt.errors import InputError
from mtlirt.ingest import delimited, jsonlines, parquet
from mtlirt.ingest.ids import encode_ids, show, show_some
from mtlirt.ingest.locations import Location, kind_at
from mtlirt.ingest.objects import encode_object_ids
from mtlirt.ingest.opening import bare_suffix
from mtlirt.ingest.reader import Rows
from mtlirt.ingest.tidy import SUFFIXES

NUMERIC = ("weight", "guessing")
"""Columns that delimited files hold as numbers, nan for none; in others any word is a text."""


@dataclass(frozen=True)
class Metadata:
    """The content of one file.

    Attributes
    ----------
    ids
        Columns of ids, none of them null or blank.
    columns
        The other columns.
    rows
        Where the rows stand.
    """

    ids: Mapping[str, Sequence[str]]
    columns: pa.Table
    rows: Rows


def read_metadata(
    path: Location, required: Sequence[str], optional: Sequence[str] = ()
) -> Metadata:
    """Read a Parquet, CSV, TSV or JSON lines file.

    Parameters
    ----------
    path
        The file.
    required, optional
        Its columns of ids.
    """
    if kind_at(path) != "file":
        raise InputError(f"{path}: no such file")
    suffix = bare_suffix(path)
    if suffix in parquet.SUFFIXES:
        table, rows = parquet.read_table(path), Rows(str(path), 1)
    elif suffix in delimited.SUFFIXES:
        table, rows = _read_delimited(path, {*required, *optional})
    elif suffix in jsonlines.SUFFIXES:
        table, rows = _read_lines(path, {*required, *optional})
    else:
        raise InputError(f"{path}: the name of a table ends in {' '.join(SUFFIXES)}")
    names = table.column_names
    twice = [name for name, count in Counter(names).items() if count > 1]
    if twice:
        raise InputError(f"{path}: more than one column is called {show_some(twice)}")
    absent = [name for name in required if name not in names]
    if absent:
        raise InputError(f"{path}: no column {show_some(absent)}; found {show_some(names)}")
    found = [*required, *(name for name in optional if name in names)]
    ids = {name: _read_ids(table.column(name).combine_chunks(), name, rows) for name in found}
    return Metadata(ids, table.drop_columns(found), rows)


def _read_ids(column: Any, name: str, rows: Rows) -> list[str]:
    """Ids of a column, none of which may be blank."""
    place = f"{rows.source}: column {show(name)}"
    ids: list[str | None] = encode_ids(column, place).dictionary_decode().to_pylist()
    whole = [text for text in ids if text and not text.isspace()]
    if len(whole) < len(ids):
        position = next(place for place, text in enumerate(ids) if not text or text.isspace())
        raise InputError(f"{rows.place(position)}: {name} is {show(ids[position])}, expected an id")
    return whole


def _read_delimited(path: Location, ids: set[str]) -> tuple[pa.Table, Rows]:
    rows = list(delimited.read_rows(path))
    if not rows:
        raise InputError(f"{path}: empty, expected a header")
    (_, names), *body = rows
    for number, cells in body:
        if len(cells) != len(names):
            raise InputError(
                f"{path} row {number}: {len(cells)} cells, the header has {len(names)}"
            )
    place = Rows(str(path), np.array([number for number, _ in body], np.int64))
    columns = [[cells[column] for _, cells in body] for column in range(len(names))]
    arrays = [
        _number_column(column, name, place)
        if name in NUMERIC
        else pa.array([text if name in ids else text or None for text in column], pa.string())
        for name, column in zip(names, columns, strict=True)
    ]
    return pa.Table.from_arrays(arrays, names), place


def _number_column(texts: Sequence[str], name: str, rows: Rows) -> pa.Array[Any]:
    numbers: list[float | None] = []
    for position, text in enumerate(texts):
        try:
            numbers.append(float(text) if text else None)
        except ValueError:
            raise InputError(
                f"{rows.place(position)}: {name} is {show(text)}, expected a number"
            ) from None
    return pa.array(numbers, pa.float64())


def _read_lines(path: Location, ids: set[str]) -> tuple[pa.Table, Rows]:
    lines = [(number, line) for number, line in jsonlines.read_lines(path) if line is not None]
    rows = Rows(str(path), np.array([number for number, _ in lines], np.int64), "line")
    columns: dict[str, Any] = {}
    for name in dict.fromkeys(key for _, line in lines for key in line):
        values = [line.get(name) for _, line in lines]
        if name in ids:
            columns[name] = encode_object_ids(values, rows, name)
            continue
        try:
            columns[name] = pa.array(values)
        except (pa.ArrowInvalid, pa.ArrowTypeError) as error:
            raise InputError(f"{path}: key {show(name)}: values of several types") from error
    return pa.table(columns), rows
