"""Join tables about models and items to responses."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Generic, Literal, TypeVar

import numpy as np
import pandas as pd
import pyarrow as pa
import pyarrow.parquet as pq

from mtlirt.errors import InputError
from mtlirt.ingest import delimited, jsonlines
from mtlirt.ingest.ids import encode_ids, show, show_some
from mtlirt.ingest.objects import encode_object_ids
from mtlirt.ingest.opening import bare_suffix, naming
from mtlirt.ingest.reader import Rows
from mtlirt.ingest.report import ItemId
from mtlirt.ingest.tidy import PARQUET_SUFFIXES, SUFFIXES

NUMERIC = ("weight", "guessing")
"""Columns that delimited files hold as numbers; their other columns are text."""

Unknown = Literal["error", "report"]
Key = TypeVar("Key", str, ItemId)


@dataclass(frozen=True)
class Joined(Generic[Key]):
    """A table of responses with its metadata.

    Attributes
    ----------
    table
        The rows as they were, the metadata as columns.
    unknown
        Ids of the metadata that the table lacks.
    absent
        How many ids of the table the metadata lacks; their columns are null.
    """

    table: pd.DataFrame
    unknown: tuple[Key, ...]
    absent: int


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


def join_models(path: Path, models: pd.DataFrame, unknown: Unknown = "error") -> Joined[str]:
    """Join a table of models.

    Parameters
    ----------
    path
        A file with a column ``model_id`` and any others.
    models
        The model table of responses.
    unknown
        Whether ids that the responses lack are an error or listed.
    """
    metadata = read_metadata(path, required=("model_id",))
    return _join(metadata, list(metadata.ids["model_id"]), models, "model", unknown)


def join_items(
    path: Path,
    items: pd.DataFrame,
    unknown: Unknown = "error",
    domain_column: str | None = None,
) -> Joined[ItemId]:
    """Join a table of items.

    Parameters
    ----------
    path
        A file with a column ``item_id``, a column of domains where an item id alone does not
        say which item is meant, and any others.
    items
        The item table of responses.
    unknown
        Whether ids that the responses lack are an error or listed.
    domain_column
        The column of domains; None for ``domain``.
    """
    column = domain_column or "domain"
    metadata = read_metadata(path, required=("item_id",), optional=(column,))
    if column in metadata.ids:
        keys = list(zip(metadata.ids[column], metadata.ids["item_id"], strict=True))
    else:
        keys = list(_find_domains(metadata, items))
    return _join(metadata, keys, items, "item", unknown)


def read_metadata(path: Path, required: Sequence[str], optional: Sequence[str] = ()) -> Metadata:
    """Read a Parquet, CSV, TSV or JSON lines file.

    Parameters
    ----------
    path
        The file.
    required, optional
        Its columns of ids.
    """
    if not path.is_file():
        raise InputError(f"{path}: no such file")
    suffix = bare_suffix(path)
    if suffix in PARQUET_SUFFIXES:
        with naming(path):
            table, rows = pq.read_table(path), Rows(str(path), 1)
    elif suffix in delimited.SUFFIXES:
        table, rows = _read_delimited(path)
    elif suffix in jsonlines.SUFFIXES:
        table, rows = _read_lines(path, {*required, *optional})
    else:
        raise InputError(f"{path}: the name of a table ends in {' '.join(SUFFIXES)}")
    names = table.column_names
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


def _read_delimited(path: Path) -> tuple[pa.Table, Rows]:
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
        else pa.array([text or None for text in column], pa.string())
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


def _read_lines(path: Path, ids: set[str]) -> tuple[pa.Table, Rows]:
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


def _find_domains(metadata: Metadata, items: pd.DataFrame) -> Iterator[ItemId]:
    """The item that each item id alone stands for; an unknown one gets no domain."""
    domains: defaultdict[str, list[str]] = defaultdict(list)
    for domain, item in items.index:
        domains[item].append(domain)
    for position, item in enumerate(metadata.ids["item_id"]):
        found = domains.get(item, [""])
        if len(found) > 1:
            raise InputError(
                f"{metadata.rows.place(position)}: item_id {show(item)} is in domains "
                f"{show_some(found)}: add a column 'domain'"
            )
        yield found[0], item


def _join(
    metadata: Metadata, keys: list[Key], table: pd.DataFrame, noun: str, unknown: Unknown
) -> Joined[Key]:
    """Bring the metadata into the order of the table."""
    places: dict[Key, int] = {}
    for position, key in enumerate(keys):
        first = places.setdefault(key, position)
        if first != position:
            raise InputError(
                f"{metadata.rows.place(first)} and {metadata.rows.place(position)}: "
                f"{noun} {_show_key(key)} twice"
            )
    known = set(table.index)
    strangers = tuple(key for key in keys if key not in known)
    if strangers and unknown == "error":
        raise InputError(
            f"{metadata.rows.place(places[strangers[0]])}: {noun} {_show_key(strangers[0])} is not "
            f"in the responses, nor are {len(strangers) - 1} others: mend the table, or choose "
            "unknown report (--unknown)"
        )
    order = [places.get(key) for key in table.index]
    columns = metadata.columns.take(pa.array(order, pa.int64()))
    joined = columns.to_pandas(types_mapper=_NULLABLE.get).set_axis(table.index)
    return Joined(joined, strangers, order.count(None))


_NULLABLE: dict[pa.DataType, Any] = {
    pa.bool_(): pd.BooleanDtype(),
    pa.int8(): pd.Int8Dtype(),
    pa.int16(): pd.Int16Dtype(),
    pa.int32(): pd.Int32Dtype(),
    pa.int64(): pd.Int64Dtype(),
}
"""Types that pandas would otherwise change where a value is null."""


def _show_key(key: str | ItemId) -> str:
    return show(key) if isinstance(key, str) else f"{show(key[1])} of domain {show(key[0])}"
