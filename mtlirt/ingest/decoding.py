"""JSON of tools' logs into typed objects: only the fields that are asked for are looked at."""

from __future__ import annotations

import json
from collections.abc import Iterator
from typing import TypeVar

import msgspec

from mtlirt.errors import InputError
from mtlirt.ingest.jsonlines import without_mark
from mtlirt.ingest.locations import Location
from mtlirt.ingest.opening import naming, open_bytes

Decoded = TypeVar("Decoded")


def decode(text: bytes, decoder: msgspec.json.Decoder[Decoded], place: str) -> Decoded:
    """Decode JSON, also with the NaN and Infinity that Python writes.

    Parameters
    ----------
    place
        Names the text in errors.

    Raises
    ------
    InputError
        If it is broken, or a field is not what it should be.
    """
    try:
        return decoder.decode(text)
    except msgspec.ValidationError as error:
        raise InputError(f"{place}: {error}") from error
    except (msgspec.DecodeError, UnicodeDecodeError, RecursionError):
        return _decode_slowly(text, decoder, place)


def _decode_slowly(text: bytes, decoder: msgspec.json.Decoder[Decoded], place: str) -> Decoded:
    try:
        converted: Decoded = msgspec.convert(json.loads(text), decoder.type)
    except msgspec.ValidationError as error:
        raise InputError(f"{place}: {error}") from error
    except UnicodeDecodeError as error:
        raise InputError(f"{place}: not UTF-8 text ({error.reason})") from error
    except (ValueError, RecursionError) as error:
        raise InputError(f"{place}: broken JSON: {error}") from error
    return converted


def read_document(path: Location, decoder: msgspec.json.Decoder[Decoded]) -> Decoded:
    """Decode a file that is one JSON document."""
    with naming(path), open_bytes(path) as file:
        text = without_mark(file.read())
    return decode(text, decoder, str(path))


def numbered_lines(path: Location) -> Iterator[tuple[int, bytes]]:
    """Yield the lines of a file that are not blank, with their numbers."""
    with naming(path), open_bytes(path) as file:
        for number, line in enumerate(file, 1):
            text = without_mark(line) if number == 1 else line
            if text and not text.isspace():
                yield number, text
