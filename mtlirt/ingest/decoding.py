"""JSON of tools' logs into typed objects: only the fields that are asked for are looked at."""

from __future__ import annotations

import hashlib
import json
from collections.abc import Iterator
from typing import Any, TypeVar

import msgspec

from mtlirt.errors import InputError
from mtlirt.ingest.jsonlines import without_mark
from mtlirt.ingest.locations import Location
from mtlirt.ingest.opening import naming, open_bytes

Decoded = TypeVar("Decoded")


def decode(content: bytes, kind: type[Decoded], place: str) -> Decoded:
    """Decode one JSON document, also with the NaN and Infinity that Python writes.

    Parameters
    ----------
    content
        UTF-8, with or without a byte order mark.
    kind
        A `msgspec.Struct` or a type of them; msgspec keeps what it knows of a `Struct`, so one a
        line costs nothing.
    place
        Names the file, and the part of it, in errors.

    Raises
    ------
    InputError
        If it is no JSON, or not of that type: names the field.
    """
    content = without_mark(content)
    try:
        return msgspec.json.decode(content, type=kind)
    except msgspec.ValidationError as error:
        raise InputError(f"{place}: {error}") from error
    except (msgspec.DecodeError, UnicodeDecodeError, RecursionError):
        return _decode_loosely(content, kind, place)


def _decode_loosely(content: bytes, kind: type[Decoded], place: str) -> Decoded:
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


def read_document(path: Location, kind: type[Decoded]) -> Decoded:
    """Decode a file that is one JSON document; see `decode`."""
    with naming(path), open_bytes(path) as file:
        content = file.read()
    return decode(content, kind, str(path))


def read_documents(path: Location, kind: type[Decoded]) -> Iterator[tuple[int, Decoded]]:
    """Decode a file of a JSON document a line, with the lines' numbers; see `decode`."""
    for number, _, text in numbered_lines(path):
        yield number, decode(text, kind, f"{path} line {number}")


def numbered_lines(
    path: Location, start: tuple[int, int] = (1, 0)
) -> Iterator[tuple[int, int, bytes]]:
    """The lines of a file that are not blank.

    Parameters
    ----------
    start
        The number of the first line to read, and the byte it starts at.

    Yields
    ------
    number, offset, text
        The line's number, the byte it starts at, and the line.
    """
    number, offset = start
    with naming(path), open_bytes(path) as file:
        file.seek(offset)
        for line in file:
            text = without_mark(line)
            if text and not text.isspace():
                yield number, offset, text
            number += 1
            offset += len(line)


def content_hash(content: Any) -> str:
    """A short hash of what a document asks: of JSON values."""
    return text_hash(json.dumps(content, sort_keys=True, separators=(",", ":")))


def text_hash(text: str) -> str:
    """A short hash of what a document asks: of its text."""
    return hashlib.blake2b(text.encode(), digest_size=8).hexdigest()
