"""JSON of logs into typed structures that leave out what no reader asks for."""

from __future__ import annotations

import hashlib
import json
from collections.abc import Iterator
from typing import Any, TypeVar

import msgspec

from mtlirt.errors import InputError
from mtlirt.ingest.locations import Location
from mtlirt.ingest.opening import naming, open_bytes

T = TypeVar("T")

_BOM = b"\xef\xbb\xbf"


def decode(content: bytes, kind: type[T], place: str) -> T:
    """Decode one JSON document; NaN and infinities, which JSON has not, are numbers.

    Parameters
    ----------
    content
        UTF-8, with or without a byte order mark.
    kind
        A `msgspec.Struct` or a type of them.
    place
        Names the file, and the part of it, in errors.

    Raises
    ------
    InputError
        If it is no JSON, or not of that type: names the field.
    """
    content = content.removeprefix(_BOM)
    try:
        return msgspec.json.decode(content, type=kind)
    except msgspec.ValidationError as error:
        raise InputError(f"{place}: {error}") from error
    except (msgspec.DecodeError, UnicodeDecodeError, RecursionError):
        return _decode_loosely(content, kind, place)


def _decode_loosely(content: bytes, kind: type[T], place: str) -> T:
    """As `decode`, by Python's own decoder, which is slower and takes more."""
    try:
        return msgspec.convert(json.loads(content), type=kind)
    except msgspec.ValidationError as error:
        raise InputError(f"{place}: {error}") from error
    except UnicodeDecodeError as error:
        raise InputError(f"{place}: not UTF-8 text ({error.reason})") from error
    except RecursionError as error:
        raise InputError(f"{place}: its JSON is nested too deeply") from error
    except ValueError as error:
        raise InputError(f"{place}: broken JSON: {error}") from error


def read_document(path: Location, kind: type[T]) -> T:
    """Decode a file of one JSON document; see `decode`."""
    with naming(path), open_bytes(path) as file:
        content = file.read()
    return decode(content, kind, str(path))


def read_documents(
    path: Location, kind: type[T], start: tuple[int, int] = (1, 0)
) -> Iterator[tuple[int, int, T]]:
    """Decode a file of a JSON document a line, line by line; see `decode`. Blank ones are skipped.

    Parameters
    ----------
    start
        The number of the first line to read, and the byte it starts at.

    Yields
    ------
    number, offset, document
        The line's number, and the byte it starts at.
    """
    number, offset = start
    with naming(path), open_bytes(path) as file:
        file.seek(offset)
        for line in file:
            if not line.removeprefix(_BOM).isspace():
                yield number, offset, decode(line, kind, f"{path} line {number}")
            number += 1
            offset += len(line)


def content_hash(content: Any) -> str:
    """A short hash of what a document asks: of JSON values."""
    text = json.dumps(content, sort_keys=True, separators=(",", ":"))
    return hashlib.blake2b(text.encode(), digest_size=8).hexdigest()
