"""Read objects behind URLs, with errors that name them."""

from __future__ import annotations

import io
import os
from collections.abc import Iterator
from contextlib import contextmanager
from typing import TYPE_CHECKING, Any

from upath import UPath

from mtlirt.ingest.web import HTTP, download, explained, is_absent, web_errors
from mtlirt.storage.errors import StorageError

if TYPE_CHECKING:
    from _typeshed import WriteableBuffer

WEB = (*HTTP, "hf")

BLOCK = 1 << 23
"""Bytes that are asked of the server at a time, at least."""


def s3_options() -> dict[str, Any]:
    """How s3fs connects, without remembering what is there; botocore finds access and server."""
    from mtlirt.storage.s3 import TIMEOUTS

    return {"use_listings_cache": False, "config_kwargs": TIMEOUTS}


@contextmanager
def reaching(url: UPath) -> Iterator[None]:
    """Turn whatever a file system raises into an error that names the URL."""
    with _reaching_web(url) if url.protocol in WEB else _reaching_s3(url):
        yield


@contextmanager
def _reaching_web(url: UPath) -> Iterator[None]:
    try:
        yield
    except FileNotFoundError as error:
        told = "was removed meanwhile" if is_absent(error) else explained(error)
        raise StorageError(f"{url}: {told}") from None
    except web_errors() as error:
        raise StorageError(f"{url}: {explained(error)}") from None


@contextmanager
def _reaching_s3(url: UPath) -> Iterator[None]:
    from s3fs.utils import FileExpired

    from mtlirt.storage.s3_errors import S3_ERRORS
    from mtlirt.storage.s3_errors import explained as s3_explained

    try:
        yield
    except FileNotFoundError:
        raise StorageError(f"{url}: was removed meanwhile") from None
    except FileExpired:
        raise StorageError(f"{url}: was replaced while it was read; run again") from None
    except S3_ERRORS as error:
        raise StorageError(f"{url}: {s3_explained(error)}") from None


class RemoteFile(io.RawIOBase):
    """An object, read block by block as it is asked for.

    Parameters
    ----------
    url
        Names it.
    """

    def __init__(self, url: UPath) -> None:
        self._url = url
        with reaching(url):
            opened: Any = url.open("rb", buffering=BLOCK)
            self._size: int | None = opened.size
            unsized = self._size is None and url.protocol in HTTP
            self._file: Any = download(url) if unsized else opened

    def readable(self) -> bool:
        """True."""
        return True

    def seekable(self) -> bool:
        """True."""
        return True

    def seek(self, offset: int, whence: int = os.SEEK_SET) -> int:
        """Go to a byte."""
        return int(self._file.seek(offset, whence))

    def close(self) -> None:
        """Let go of it."""
        if not self.closed:
            self._file.close()
        super().close()

    def readinto(self, buffer: WriteableBuffer) -> int:
        """Read on, a whole buffer or what is left."""
        with reaching(self._url):
            place = self._file.tell()
            count = self._read(buffer)
        if self._size is not None and count < min(memoryview(buffer).nbytes, self._size - place):
            raise StorageError(
                f"{self._url}: ends after {place + count} bytes, {self._size} were announced: "
                "run again"
            )
        return count

    def _read(self, buffer: WriteableBuffer) -> int:
        try:
            return int(self._file.readinto(buffer))
        except ValueError:
            if self._url.protocol not in HTTP:
                raise
            place = self._file.tell()
            self._file = download(self._url)
            self._file.seek(place)
            return int(self._file.readinto(buffer))
