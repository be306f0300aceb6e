"""Parquet files; of a remote one, Arrow reads in this thread alone, as `lending` says why."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

import pyarrow as pa
import pyarrow.parquet as pq

from mtlirt.ingest.locations import Location
from mtlirt.ingest.opening import naming, open_plain

SUFFIXES = (".parquet", ".pq")


def read_schema(path: Location) -> pa.Schema:
    """Read the names and types of the columns."""
    with naming(path), _open(path) as parquet:
        return parquet.schema_arrow


def read_table(path: Location) -> pa.Table:
    """Read all of it."""
    with naming(path):
        if isinstance(path, Path):
            return pq.read_table(path)
        with _open(path) as parquet:
            return parquet.read(use_threads=False)


def read_batches(
    path: Location, columns: list[str], dictionaries: list[str], rows: int
) -> Iterator[pa.RecordBatch]:
    """Yield some columns, so many rows at a time or fewer; `dictionaries` come encoded as such."""
    with naming(path), _open(path, dictionaries) as parquet:
        yield from parquet.iter_batches(rows, columns=columns, use_threads=isinstance(path, Path))


@contextmanager
def _open(path: Location, dictionaries: list[str] | None = None) -> Iterator[pq.ParquetFile]:
    if isinstance(path, Path):
        with pq.ParquetFile(path, read_dictionary=dictionaries) as parquet:
            yield parquet
    else:
        with (
            open_plain(path) as file,
            pq.ParquetFile(file, read_dictionary=dictionaries, pre_buffer=False) as parquet,
        ):
            yield parquet
