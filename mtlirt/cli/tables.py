"""Tables as the bytes of files that users name."""

from __future__ import annotations

from typing import TYPE_CHECKING

if TYPE_CHECKING:
    import pandas as pd

FORMATS = (".parquet", ".csv")


def encoded(table: pd.DataFrame, ending: str) -> bytes:
    """A table as the bytes of a file of one of `FORMATS`."""
    import pyarrow as pa
    from pyarrow import csv, parquet

    arrow = pa.Table.from_pandas(table, preserve_index=False).replace_schema_metadata()
    sink = pa.BufferOutputStream()
    write = csv.write_csv if ending == ".csv" else parquet.write_table
    write(arrow, sink)
    return sink.getvalue().to_pybytes()
