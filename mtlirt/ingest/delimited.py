"""Delimited text: CSV, and TSV where the file is named so."""

from __future__ import annotations

import csv
import io
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import BinaryIO, cast

import pyarrow as pa
import pyarrow.csv as pacsv

from mtlirt.ingest.lending import CsvOptions, read_csv_lent
from mtlirt.ingest.locations import Location
from mtlirt.ingest.opening import bare_suffix, is_gzipped, naming, open_bytes, open_plain

SUFFIXES = (".csv", ".csv.gz", ".tsv", ".tsv.gz")

_BLOCK = 1 << 24


@dataclass(frozen=True)
class Header:
    """The first row of a file that is not blank.

    Attributes
    ----------
    names
        Its cells; empty where the file has none.
    row
        Its number, counting blank rows.
    """

    names: list[str]
    row: int


def read_header(path: Location) -> Header:
    """Read the header of a file."""
    for number, cells in read_rows(path):
        return Header(cells, number)
    return Header([], 1)


def read_rows(path: Location) -> Iterator[tuple[int, list[str]]]:
    """Yield the rows that are not blank, each with its number."""
    with naming(path), _open_text(path) as file:
        for number, cells in enumerate(csv.reader(file, delimiter=_delimiter(path)), 1):
            if any(cells):
                yield number, cells


def read_columns(
    path: Location, header: Header, columns: Sequence[str]
) -> Iterator[tuple[int, pa.RecordBatch]]:
    """Yield the rows below the header, blank ones too, as dictionaries of text, never null.

    Yields
    ------
    row, batch
        The number of the batch's first row, and the columns asked for.
    """
    row = header.row + 1
    options = (
        pacsv.ReadOptions(block_size=_BLOCK, skip_rows=header.row - 1),
        pacsv.ParseOptions(
            delimiter=_delimiter(path), newlines_in_values=True, ignore_empty_lines=False
        ),
        pacsv.ConvertOptions(
            include_columns=list(columns),
            column_types=dict.fromkeys(columns, pa.dictionary(pa.int32(), pa.string())),
            strings_can_be_null=False,
            null_values=[],
        ),
    )
    with naming(path):
        for batch in _read_batches(path, options):
            yield row, batch
            row += batch.num_rows


def _read_batches(path: Location, options: CsvOptions) -> Iterator[pa.RecordBatch]:
    if isinstance(path, Path):
        with pa.input_stream(path) as stream:
            yield from pacsv.open_csv(cast(BinaryIO, stream), *options)
    else:
        with open_plain(path) as file:
            yield from read_csv_lent(file, is_gzipped(path), options)


def _delimiter(path: Location) -> str:
    return "\t" if bare_suffix(path) == ".tsv" else ","


@contextmanager
def _open_text(path: Location) -> Iterator[io.TextIOWrapper]:
    with open_bytes(path) as file, io.TextIOWrapper(file, "utf-8-sig", newline="") as text:
        yield text
