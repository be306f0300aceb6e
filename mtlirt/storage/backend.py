"""What a root needs of a place that holds objects, and which place a URL means."""

from __future__ import annotations

import re
from pathlib import Path
from typing import Protocol
from urllib.parse import unquote

import fsspec

from mtlirt.errors import InputError
from mtlirt.storage.local import LocalBackend
from mtlirt.storage.objects import ObjectBackend

OBJECT_STORES = {"memory"}
"""Schemes whose ``pipe_file(mode="create")`` is known to be exclusive."""


class Backend(Protocol):
    """Named objects under one base; names are relative and separated by ``/``."""

    @property
    def url(self) -> str:
        """What opens this place from any process."""

    def write_new(self, path: str, data: bytes) -> None:
        """Create an object whole; FileExistsError where there is one.

        A backend may take an object of exactly these bytes for this write.
        """

    def put(self, path: str, data: bytes) -> None:
        """Create an object or replace it, whole."""

    def read(self, path: str) -> bytes:
        """The bytes of an object; FileNotFoundError where there is none."""

    def names(self, folder: str) -> list[str]:
        """Sorted names in a folder as they are now, empty where there is none."""

    def remove_folder(self, folder: str) -> None:
        """Remove all objects of a folder."""


def open_backend(url: str) -> Backend:
    """The backend of a local path, a ``file://`` URL or an object store's URL."""
    scheme = re.match(r"([A-Za-z][A-Za-z0-9+.-]*)://", url)
    if scheme is None:
        return LocalBackend(Path(url).absolute())
    if scheme[1] == "file":
        return LocalBackend(Path(unquote(url.removeprefix("file://"))).absolute())
    if scheme[1] == "s3":
        from mtlirt.storage.s3 import S3Backend

        return S3Backend.at(url)
    if scheme[1] in OBJECT_STORES:
        filesystem, base = fsspec.core.url_to_fs(url)
        return ObjectBackend(filesystem, base.rstrip("/"))
    known = ", ".join(f"{name}://" for name in sorted(OBJECT_STORES | {"file", "s3"}))
    raise InputError(f"{url}: cannot store under {scheme[0]}; give a local path, or one of {known}")
