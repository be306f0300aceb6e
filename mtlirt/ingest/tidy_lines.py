"""Tidy JSON lines: records whose values may change type from line to line."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from itertools import islice
from pathlib import Path
from typing import Any

import numpy as np
import pyarrow as pa

from mtlirt.errors import InputError
from mtlirt.ingest.ids import show, show_some
from mtlirt.ingest.jsonlines import read_lines
from mtlirt.ingest.objects import encode_object_ids, object_values
from mtlirt.ingest.reader import Batch, Rows, no_records

_BATCH_LINES = 1 << 16


def read_line_batches(path: Path, domain_column: str | None) -> Iterator[Batch]:
    """Read the records of one file.

    Parameters
    ----------
    path
        The file.
    domain_column
        The key of the domains, which every line must have; None for ``domain``, which a line
        may lack.
    """
    required = {"model_id": "model_id", "item_id": "item_id", "correct": "correct"}
    optional = {"trials": "trials"}
    (optional if domain_column is None else required)["domain"] = domain_column or "domain"
    lines = read_lines(path)
    empty = True
    while chunk := list(islice(lines, _BATCH_LINES)):
        empty = False
        yield _batch(str(path), chunk, required, optional)
    if empty:
        yield no_records(path)


def _batch(
    source: str,
    chunk: Sequence[tuple[int, dict[str, Any] | None]],
    required: dict[str, str],
    optional: dict[str, str],
) -> Batch:
    """Turn some lines into a batch; the dicts give the key of each field."""
    numbers = [number for number, line in chunk if line is not None]
    lines = [line for _, line in chunk if line is not None]
    rows = Rows(source, np.array(numbers, np.int64), "line")
    keys = {key for line in lines for key in line}
    fields = required | {field: key for field, key in optional.items() if key in keys}
    columns: dict[str, pa.Array[Any]] = {}
    for field, key in fields.items():
        values = [line.get(key) for line in lines]
        if field in required and not all(key in line for line in lines):
            raise _no_key(lines, key, rows)
        encode = object_values if field in ("correct", "trials") else encode_object_ids
        columns[field] = encode(values, rows, key)
    ignored = frozenset(keys - set(fields.values()))
    return Batch(pa.RecordBatch.from_pydict(columns), rows, ignored, len(chunk) - len(lines))


def _no_key(lines: Sequence[dict[str, Any]], key: str, rows: Rows) -> InputError:
    position = next(position for position, line in enumerate(lines) if key not in line)
    found = show_some(list(lines[position])) or "none"
    return InputError(f"{rows.place(position)}: no key {show(key)}; found {found}")
