"""Tidy JSON lines: records whose values may change type from line to line."""

from __future__ import annotations

from collections.abc import Iterator
from itertools import islice
from typing import Any

import numpy as np
import pyarrow as pa

from mtlirt.errors import InputError
from mtlirt.ingest.ids import show, show_some
from mtlirt.ingest.jsonlines import read_lines
from mtlirt.ingest.locations import Location
from mtlirt.ingest.objects import encode_object_ids, object_values
from mtlirt.ingest.reader import Batch, Rows, no_records

_BATCH_LINES = 1 << 16
_VALUES = ("correct", "trials")


def read_line_batches(path: Location, domain_column: str | None) -> Iterator[Batch]:
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
    batch = _next_batch(str(path), lines, required, optional)
    yield batch or no_records(path)
    while batch is not None:
        batch = _next_batch(str(path), lines, required, optional)
        if batch is not None:
            yield batch


def _next_batch(
    source: str,
    lines: Iterator[tuple[int, dict[str, Any] | None]],
    required: dict[str, str],
    optional: dict[str, str],
) -> Batch | None:
    """Turn some lines into a batch, None where there are no more.

    The dicts give the key of each field. Values go straight into columns: keeping the objects of
    many lines would keep the garbage collector busy.
    """
    numbers: list[int] = []
    keys: set[str] = set()
    values: dict[str, list[Any]] = {field: [] for field in required | optional}
    number = blank = 0
    for number, line in islice(lines, _BATCH_LINES):
        if line is None:
            blank += 1
            continue
        numbers.append(number)
        keys.update(line)
        for field, key in required.items():
            if key not in line:
                found = show_some(list(line)) or "none"
                raise InputError(f"{source} line {number}: no key {show(key)}; found {found}")
            values[field].append(line[key])
        for field, key in optional.items():
            values[field].append(line.get(key))
    if not number:
        return None
    rows = Rows(source, np.array(numbers, np.int64), "line")
    fields = required | {field: key for field, key in optional.items() if key in keys}
    columns = {
        field: (object_values if field in _VALUES else encode_object_ids)(values[field], rows, key)
        for field, key in fields.items()
    }
    ignored = frozenset(keys - set(fields.values()))
    return Batch(pa.RecordBatch.from_pydict(columns), rows, ignored, blank)
