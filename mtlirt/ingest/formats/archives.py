"""Zip archives of logs, member by member."""

from __future__ import annotations

import struct
import zlib
from collections.abc import Iterator
from contextlib import contextmanager
from errno import EINVAL
from typing import BinaryIO
from zipfile import BadZipFile, ZipFile, ZipInfo

import pyarrow as pa

from mtlirt.errors import InputError
from mtlirt.ingest.locations import Location
from mtlirt.ingest.opening import naming, open_plain

_ZSTANDARD = 93
_BROKEN = (BadZipFile, EOFError, RuntimeError, ValueError, struct.error, zlib.error)
"""What `zipfile` raises on damage; `NotImplementedError` is a `RuntimeError`."""
LARGEST, RATIO = 2**29, 200
"""Bytes of a member, and how many times its packed bytes that is: more of both is a bomb."""

_LOCAL_HEADER = struct.Struct("<4s22xHH")


class Archive:
    """An open zip archive. Members of one name are the last of them."""

    def __init__(self, file: BinaryIO, zipped: ZipFile, source: str) -> None:
        self._file, self._zip, self._source = file, zipped, source
        self._members = {info.filename: info for info in zipped.infolist()}

    @property
    def names(self) -> list[str]:
        """The names of the members in the order of the archive."""
        return list(self._members)

    def read(self, name: str) -> bytes:
        """The content of a member: stored, deflated, or compressed with Zstandard.

        Raises
        ------
        InputError
            Names the archive and the member that cannot be read, or that unpacks to far more than
            a log would.
        """
        info = self._members[name]
        if info.file_size > LARGEST and info.file_size > RATIO * info.compress_size:
            raise InputError(
                f"{self._source}: its member {name} of {info.compress_size:,} bytes unpacks to "
                f"{info.file_size:,}, which no log does; unpack it yourself if it is one"
            )
        try:
            if info.compress_type == _ZSTANDARD:
                return self._read_zstandard(info)
            return self._zip.read(info)
        except _BROKEN as error:
            raise InputError(f"{self._source}: cannot read its member {name}: {error}") from error
        except OSError as error:
            _raise_unless_misplaced(error)
            raise InputError(f"{self._source}: cannot read its member {name}: {error}") from error

    def _read_zstandard(self, info: ZipInfo) -> bytes:
        """Zip files know Zstandard only from Python 3.14 on."""
        self._file.seek(info.header_offset)
        magic, name, extra = _LOCAL_HEADER.unpack(self._file.read(_LOCAL_HEADER.size))
        if magic != b"PK\x03\x04":
            raise BadZipFile("it is not where the directory says")
        self._file.seek(name + extra, 1)
        packed = self._file.read(info.compress_size)
        try:
            content: bytes = pa.decompress(packed, info.file_size, codec="zstd", asbytes=True)
        except OSError as error:
            raise BadZipFile(str(error)) from error
        if zlib.crc32(content) != info.CRC:
            raise BadZipFile("its checksum is another")
        return content


def _raise_unless_misplaced(error: OSError) -> None:
    """Let errors of the disk pass; a place that no file has is the archive's own fault."""
    if error.errno != EINVAL:
        raise error


@contextmanager
def open_archive(path: Location) -> Iterator[Archive]:
    """Open a zip archive.

    Raises
    ------
    InputError
        If it is none, or is cut off.
    """
    with naming(path), open_plain(path) as file:
        try:
            zipped = ZipFile(file)
        except _BROKEN as error:
            raise InputError(f"{path}: no whole zip archive: {error}") from error
        except OSError as error:
            _raise_unless_misplaced(error)
            raise InputError(f"{path}: no whole zip archive: {error}") from error
        with zipped:
            yield Archive(file, zipped, str(path))
