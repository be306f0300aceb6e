"""JSON lines: one object a line."""

from __future__ import annotations

import json
from collections.abc import Iterator
from typing import Any

from mtlirt.errors import InputError
from mtlirt.ingest.ids import show
from mtlirt.ingest.locations import Location
from mtlirt.ingest.opening import naming, open_bytes

SUFFIXES = (".jsonl", ".jsonl.gz", ".ndjson", ".ndjson.gz")


def _distinct(pairs: list[tuple[str, Any]]) -> dict[str, Any]:
    """An object, which may not name a key twice."""
    found = dict(pairs)
    if len(found) < len(pairs):
        names = [name for name, _ in pairs]
        twice = next(name for name in names if names.count(name) > 1)
        raise ValueError(f"the key {show(twice)} occurs twice")
    return found


_DECODER = json.JSONDecoder(object_pairs_hook=_distinct)
_BOM = b"\xef\xbb\xbf"


def without_mark(text: bytes) -> bytes:
    """Text without the byte order mark that some editors put before it."""
    return text.removeprefix(_BOM)


def read_lines(path: Location) -> Iterator[tuple[int, dict[str, Any] | None]]:
    """Yield the object of each line with the line's number; None for a blank line."""
    with naming(path), open_bytes(path) as file:
        for number, line in enumerate(file, 1):
            if number == 1:
                line = without_mark(line)
            yield number, None if line.isspace() or not line else _parse(line, path, number)


def _parse(line: bytes, path: Location, number: int) -> dict[str, Any]:
    try:
        text = line.decode().strip()
        record, end = _DECODER.raw_decode(text)
    except UnicodeDecodeError as error:
        raise InputError(f"{path} line {number}: not UTF-8 text ({error.reason})") from error
    except (ValueError, RecursionError) as error:
        raise InputError(f"{path} line {number}: broken JSON: {error}") from error
    if end < len(text):
        raise InputError(f"{path} line {number}: broken JSON: {show(text[end:])} after the object")
    if not isinstance(record, dict):
        raise InputError(f"{path} line {number}: expected an object in braces, found {show(text)}")
    return record
