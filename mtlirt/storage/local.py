"""Objects in a local folder."""

from __future__ import annotations

import os
import shutil
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from uuid import uuid4

from mtlirt.errors import InputError


@dataclass(frozen=True)
class LocalBackend:
    """A folder of this machine (or one mounted on it), where names are paths relative to it."""

    base: Path

    def __post_init__(self) -> None:
        if self.base.exists() and not self.base.is_dir():
            raise InputError(
                f"{self.base}: is a file, expected a folder: give a folder or a new path"
            )

    @property
    def url(self) -> str:
        """The absolute path."""
        return str(self.base)

    def write_new(self, path: str, data: bytes) -> None:
        """Create a file that appears whole or not at all; FileExistsError where there is one."""
        with self._beside(path, data) as temporary:
            (self.base / path).hardlink_to(temporary)

    def put(self, path: str, data: bytes) -> None:
        """Create a file or replace it, whole."""
        with self._beside(path, data) as temporary:
            temporary.replace(self.base / path)

    def read(self, path: str) -> bytes:
        """The bytes of a file; FileNotFoundError where there is none."""
        return (self.base / path).read_bytes()

    def names(self, folder: str) -> list[str]:
        """Sorted names in a folder, empty where there is none."""
        try:
            return sorted(entry.name for entry in (self.base / folder).iterdir())
        except FileNotFoundError:
            return []

    def remove_folder(self, folder: str) -> None:
        """Remove a folder and all it holds, as far as that is possible."""
        shutil.rmtree(self.base / folder, ignore_errors=True)

    @contextmanager
    def _beside(self, path: str, data: bytes) -> Iterator[Path]:
        """A flushed temporary file in the folder of `path`, for the caller to give its name."""
        final = self.base / path
        final.parent.mkdir(parents=True, exist_ok=True)
        temporary = final.parent / f".writing-{uuid4().hex}"
        try:
            with temporary.open("xb") as file:
                file.write(data)
                file.flush()
                os.fsync(file.fileno())
            yield temporary
        finally:
            temporary.unlink(missing_ok=True)
