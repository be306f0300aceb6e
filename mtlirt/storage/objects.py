"""Objects of an fsspec file system whose writes are whole and can be exclusive."""

from __future__ import annotations

from dataclasses import dataclass

from fsspec import AbstractFileSystem


@dataclass(frozen=True)
class ObjectBackend:
    """The keys under `base` of an object store, where names are relative to it."""

    filesystem: AbstractFileSystem
    base: str

    @property
    def url(self) -> str:
        """The URL of the base."""
        return str(self.filesystem.unstrip_protocol(self.base))

    def write_new(self, path: str, data: bytes) -> None:
        """Create an object; FileExistsError where there is one."""
        self.filesystem.pipe_file(self._key(path), data, mode="create")

    def put(self, path: str, data: bytes) -> None:
        """Create an object or replace it."""
        self.filesystem.pipe_file(self._key(path), data)

    def read(self, path: str) -> bytes:
        """The bytes of an object; FileNotFoundError where there is none."""
        return bytes(self.filesystem.cat_file(self._key(path)))

    def names(self, folder: str) -> list[str]:
        """Sorted names under a folder, empty where there is none; never from a cache."""
        try:
            keys = self.filesystem.ls(self._key(folder), detail=False, refresh=True)
        except FileNotFoundError:
            return []
        return sorted(key.rstrip("/").rsplit("/", 1)[-1] for key in keys)

    def remove_folder(self, folder: str) -> None:
        """Remove all objects under a folder."""
        for key in self.filesystem.find(self._key(folder)):
            self.filesystem.rm_file(key)

    def _key(self, path: str) -> str:
        return f"{self.base}/{path}"
