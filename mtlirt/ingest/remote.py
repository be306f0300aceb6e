"""Read objects behind URLs, with errors that name them."""

from __future__ import annotations

import io
import os
from collections.abc import Iterator
from contextlib import contextmanager
from typing import TYPE_CHECKING, Any

from upath import UPath

from mtlirt.storage.errors import StorageError

if TYPE_CHECKING:
    from _typeshed import WriteableBuffer

BLOCK = 1 << 23
"""Bytes that are asked of the server at a time, at least."""


def s3_options() -> dict[str, Any]:
    """How s3fs connects, without remembering what is there; botocore finds access and server."""
    from mtlirt.storage.s3 import TIMEOUTS

    return {"use_listings_cache": False, "config_kwargs": TIMEOUTS}


@contextmanager
def reaching(url: UPath) -> Iterator[None]:
    """Turn whatever s3fs raises into an error that names the URL."""
    from s3fs.utils import FileExpired

    from mtlirt.storage.s3_errors import S3_ERRORS, explained

    try:
        yield
    except FileNotFoundError:
        raise StorageError(f"{url}: was removed meanwhile") from None
    except FileExpired:
        raise StorageError(f"{url}: was replaced while it was read; run again") from None
    except S3_ERRORS as error:
        raise StorageError(f"{url}: {explained(error)}") from None


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
            self._file: Any = url.open("rb", buffering=BLOCK)

    def readable(self) -> bool:
        """True."""
        return True

    def seekable(self) -> bool:
        """True."""
        return True

    def seek(self, offset: int, whence: int = os.SEEK_SET) -> int:
        """Go to a byte."""
        return int(self._file.seek(offset, whence))

    def readinto(self, buffer: WriteableBuffer) -> int:
        """Read on, a whole buffer or what is left."""
        with reaching(self._url):
            return int(self._file.readinto(buffer))
