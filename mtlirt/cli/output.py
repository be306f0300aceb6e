"""How verbs print: tables for people on a terminal, plain text elsewhere, JSON on request."""

from __future__ import annotations

import json
import sys
from collections.abc import Sequence
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    import pandas as pd

TABLE_FORMATS = (".parquet", ".csv")
"""What the name of a file that holds a table may end in."""


def print_json(content: Any) -> None:
    """Print one JSON document."""
    print(json.dumps(content, indent=2, ensure_ascii=False))


def print_table(columns: Sequence[str], rows: Sequence[Sequence[object]]) -> None:
    """Print a table: drawn on a terminal, elsewhere in columns apart by two spaces or more.

    Parameters
    ----------
    columns
        Their names.
    rows
        A cell a column each; numbers stand to the right.
    """
    numeric = [
        all(isinstance(cell, (int, float)) for cell in column) for column in zip(*rows, strict=True)
    ] or [False] * len(columns)
    cells = [[_text(cell) for cell in row] for row in rows]
    columns = [_text(name) for name in columns]
    if sys.stdout.isatty():
        _draw(columns, cells, numeric)
        return
    lines = [columns, *cells]
    widths = [max(map(len, column)) for column in zip(*lines, strict=True)]
    for row in lines:
        aligned = [
            cell.rjust(width) if right else cell.ljust(width)
            for cell, width, right in zip(row, widths, numeric, strict=True)
        ]
        print("  ".join(aligned).rstrip())


def encoded(table: pd.DataFrame, ending: str) -> bytes:
    """A table as the bytes of a file with such an ending, one of `TABLE_FORMATS`."""
    import pyarrow as pa
    from pyarrow import csv, parquet

    content = pa.Table.from_pandas(table, preserve_index=False).replace_schema_metadata()
    sink = pa.BufferOutputStream()
    write = csv.write_csv if ending == ".csv" else parquet.write_table
    write(content, sink)
    return sink.getvalue().to_pybytes()


def _draw(columns: Sequence[str], cells: Sequence[Sequence[str]], numeric: Sequence[bool]) -> None:
    from rich.console import Console
    from rich.table import Table
    from rich.text import Text

    table = Table()
    for name, right in zip(columns, numeric, strict=True):
        table.add_column(Text(name), justify="right" if right else "left")
    for row in cells:
        table.add_row(*map(Text, row))
    Console().print(table)


def _text(cell: object) -> str:
    """A cell on one line; whole numbers with commas."""
    if isinstance(cell, int):
        return f"{cell:,}"
    return "".join(letter if letter.isprintable() else repr(letter)[1:-1] for letter in str(cell))
