"""Zip archives: every compression that logs have, and every way to be broken."""

import io
import zipfile

import pytest

from mtlirt.errors import InputError
from mtlirt.ingest.formats.archives import open_archive

MEMBERS = {"a.json": b'{"a": 1}' * 50, "b/é.json": b"", "c.json": bytes(range(256)) * 40}


def zipped(compression):
    file = io.BytesIO()
    with zipfile.ZipFile(file, "w", compression) as archive:
        for name, content in MEMBERS.items():
            archive.writestr(name, content)
    return file.getvalue()


@pytest.fixture(scope="session")
def packed(zstandard_zip):
    return {
        "stored": zipped(zipfile.ZIP_STORED),
        "deflated": zipped(zipfile.ZIP_DEFLATED),
        "zstandard": zstandard_zip(MEMBERS),
    }


KINDS = ["stored", "deflated", "zstandard"]


@pytest.mark.parametrize("kind", KINDS)
def test_members(write, packed, kind):
    with open_archive(write("x.eval", packed[kind])) as archive:
        assert archive.names == list(MEMBERS)
        assert {name: archive.read(name) for name in reversed(archive.names)} == MEMBERS


@pytest.mark.filterwarnings("ignore:Duplicate name")
def test_the_last_of_one_name_counts(write):
    file = io.BytesIO()
    with zipfile.ZipFile(file, "w") as archive:
        archive.writestr("a", "old")
        archive.writestr("a", "new")
    with open_archive(write("x.eval", file.getvalue())) as archive:
        assert archive.names == ["a"]
        assert archive.read("a") == b"new"


@pytest.mark.parametrize("kind", KINDS)
def test_damage_is_noticed(write, packed, kind):
    content = bytearray(packed[kind])
    start = content.index(b"c.json") + len(b"c.json")
    content[start + 12 : start + 16] = b"\x00\xff\x00\xff"
    with open_archive(write("x.eval", bytes(content))) as archive:
        assert archive.read("a.json") == MEMBERS["a.json"]
        with pytest.raises(InputError, match=r"x.eval: cannot read its member c.json: "):
            archive.read("c.json")


def test_a_compression_that_nobody_knows(write, packed):
    content = packed["stored"]
    entry = content.index(b"PK\x01\x02")
    content = content[: entry + 10] + b"\x63\x00" + content[entry + 12 :]
    with (
        open_archive(write("x.eval", content)) as archive,
        pytest.raises(InputError, match=r"cannot read its member a.json: .*compression"),
    ):
        archive.read("a.json")


@pytest.mark.parametrize(
    "content", [b"", b"PK\x03\x04 and no more", zipped(zipfile.ZIP_STORED)[:-40]]
)
def test_no_archive(write, content):
    path = write("x.eval", content)
    with pytest.raises(InputError, match=r"x.eval: no whole zip archive"), open_archive(path):
        pass


@pytest.mark.parametrize(
    ("at", "value"),
    [(6, b"\xff"), (42, b"\xff\xff\xff\x7f")],
    ids=["a version to come", "members beyond the end"],
)
@pytest.mark.parametrize("kind", KINDS)
def test_a_directory_that_is_damaged(write, packed, kind, at, value):
    content = bytearray(packed[kind])
    start = content.index(b"PK\x01\x02") + at
    content[start : start + len(value)] = value
    path = write("x.eval", bytes(content))
    with pytest.raises(InputError, match=r"x.eval: "), open_archive(path) as archive:
        archive.read("a.json")


def test_a_directory_before_the_start(write):
    content = bytearray(zipped(zipfile.ZIP_STORED))
    end = content.index(b"PK\x05\x06")
    content[end + 12 : end + 16] = b"\xff\xff\xff\x00"
    path = write("x.eval", bytes(content))
    with pytest.raises(InputError, match=r"x.eval: no whole zip archive"), open_archive(path):
        pass
