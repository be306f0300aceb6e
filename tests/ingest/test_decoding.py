"""JSON of logs: what decodes, and which errors the rest gives."""

import gzip
from typing import Any

import pytest
from msgspec import Struct

from mtlirt.errors import InputError
from mtlirt.ingest.decoding import (
    content_hash,
    decode,
    numbered_lines,
    read_document,
    read_documents,
)


class Value(Struct):
    value: float | None = None
    text: str = ""
    tree: Any = None


def test_numbers_that_json_has_not():
    assert decode(b'{"value": NaN, "more": [Infinity]}', Value, "x").value != 0
    assert decode(b'{"value": -Infinity}', Value, "x").value == float("-inf")
    assert decode(b'\xef\xbb\xbf{"value": 1}', Value, "x").value == 1
    assert decode(b'{"other": "\\ud800"}', Value, "x").value is None


@pytest.mark.parametrize(
    ("content", "message"),
    [
        (b'{"value": 1', "x: broken JSON: "),
        (b'{"value": "a"}', r"x: Expected `float \| null`, got `str` - at `\$.value`"),
        (b'{"value": NaN, "more": }', "x: broken JSON: "),
        (b'[NaN, "a"]', r"x: Expected `object`, got `array`"),
        (b'{"text": "\xff"}', "x: not UTF-8 text"),
        (b'{"tree": ' + b"[" * 100_000, "x: its JSON is nested too deeply"),
        (b"", "x: broken JSON: "),
    ],
)
def test_what_does_not_decode(content, message):
    with pytest.raises(InputError, match=message):
        decode(content, Value, "x")


@pytest.mark.parametrize("gz", ["", ".gz"])
def test_documents_of_lines(write, gz):
    text = b'\xef\xbb\xbf{"value": 1}\r\n\n{"value": 2}\n{"value": NaN}\n \n'
    path = write(f"x.jsonl{gz}", gzip.compress(text) if gz else text)
    read = list(read_documents(path, Value))
    assert [number for number, _ in read] == [1, 3, 4]
    assert [line.value for _, line in read][:2] == [1, 2]
    lines = list(numbered_lines(path))
    assert list(numbered_lines(path, lines[2][:2])) == lines[2:]
    assert lines[2][2] == b'{"value": NaN}\n'
    write(path.name, gzip.compress(text + b"{") if gz else text + b"{")
    with pytest.raises(InputError, match=rf"{path} line 6: broken JSON"):
        list(read_documents(path, Value))


def test_a_file_cut_off(write):
    path = write("x.json.gz", gzip.compress(b'{"value": 1}' * 100)[:-12])
    with pytest.raises(InputError, match=rf"{path}: "):
        read_document(path, Value)


def test_hashes_do_not_depend_on_the_order_of_keys():
    assert content_hash({"a": 1, "b": "é"}) == content_hash({"b": "é", "a": 1})
    assert content_hash(["ab", "c"]) != content_hash(["a", "bc"])
