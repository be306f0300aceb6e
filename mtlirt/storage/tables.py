"""Arrow tables as Parquet files."""

from __future__ import annotations

import pyarrow as pa
import pyarrow.parquet as pq


def to_parquet(table: pa.Table) -> bytes:
    """The table as a Parquet file; equal tables give equal bytes."""
    sink = pa.BufferOutputStream()
    pq.write_table(
        table,
        sink,
        version="2.6",
        data_page_version="1.0",
        compression="zstd",
        compression_level=3,
        row_group_size=1 << 20,
        use_dictionary=True,
        write_statistics=True,
        store_schema=True,
    )
    return sink.getvalue().to_pybytes()


def from_parquet(data: bytes) -> pa.Table:
    """The table of a Parquet file, read in this thread.

    A thread of Arrow that lets go of the bytes while the program ends would abort it.
    """
    return pq.read_table(pa.BufferReader(data), use_threads=False)
