"""A version in the making."""

from __future__ import annotations

from collections.abc import Mapping
from contextlib import suppress
from types import TracebackType
from typing import TYPE_CHECKING, Self
from uuid import uuid4

from pydantic import JsonValue

from mtlirt.storage.errors import StorageError
from mtlirt.storage.manifest import Kind, Manifest, StoredFile, manifest_path

if TYPE_CHECKING:
    from mtlirt.storage.root import Root

EMPTY = 0
"""The `parent` of a version that must be the first of its root."""

ATTEMPTS = 1000


class Draft:
    """Data files written but not yet visible to readers; `commit` makes them a version.

    Use it as a context: left without a commit, it removes what it wrote.

    Attributes
    ----------
    run_id
        Identifies this write.
    prefix
        The folder of its data files, relative to the root.
    """

    def __init__(self, root: Root, kind: Kind) -> None:
        self.root = root
        self.kind: Kind = kind
        self.run_id = uuid4()
        self.prefix = f"data/{self.run_id}"
        self._files: dict[str, StoredFile] = {}
        self._may_be_visible = False

    def write(self, name: str, data: bytes, rows: int | None = None) -> StoredFile:
        """Write one data file; `rows` says how many rows a table has."""
        file = self.root.write_data(f"{self.prefix}/{name}", data, rows)
        self.add(file)
        return file

    def add(self, file: StoredFile) -> None:
        """Take in a file that `Root.write_data` wrote under `prefix`, maybe on another machine."""
        if not file.path.startswith(f"{self.prefix}/"):
            raise ValueError(f"{file.path} does not lie under {self.prefix}")
        self._list(file)

    def adopt(self, file: StoredFile) -> None:
        """Take over a file of an earlier version, as it is and where it is."""
        if file.path.startswith(f"{self.prefix}/"):
            raise ValueError(f"{file.path} is of no earlier version")
        self._list(file)

    def _list(self, file: StoredFile) -> None:
        if file.name in self._files:
            raise ValueError(f"{file.name} was written before")
        self._files[file.name] = file

    def commit(
        self, *, info: Mapping[str, JsonValue] | None = None, parent: int | None = None
    ) -> Manifest:
        """Make the files the next version of the root.

        Parameters
        ----------
        info
            What else to record.
        parent
            The version this one was made from, which must still be the latest, or `EMPTY` where
            there must be none yet. None for an independent write, which takes the next free number.

        Returns
        -------
        Manifest
            The committed version.
        """
        if self._may_be_visible:
            raise ValueError("a draft is committed once")
        for _ in range(ATTEMPTS):
            latest = max(self.root.versions(), default=EMPTY)
            if parent is not None and parent != latest:
                raise StorageError(
                    f"{self.root.url}: version {latest} was written meanwhile by another process, "
                    f"this write builds on {f'version {parent}' if parent else 'an empty root'}: "
                    "start again from the latest version"
                )
            manifest = Manifest(
                kind=self.kind,
                version=latest + 1,
                parent=parent or None,
                run_id=self.run_id,
                files=tuple(sorted(self._files.values(), key=lambda file: file.path)),
                info=dict(info or {}),
            )
            self._may_be_visible = True
            try:
                self.root.write_new(manifest_path(manifest.version), manifest.to_json())
            except FileExistsError:
                self._may_be_visible = False
            else:
                return manifest
        raise StorageError(f"{self.root.url}: lost the race for a version {ATTEMPTS} times")

    def __enter__(self) -> Self:
        return self

    def __exit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        traceback: TracebackType | None,
    ) -> None:
        if not self._may_be_visible:
            with suppress(StorageError):  # what stays is an orphan, and no reader sees it
                self.root.remove_folder(self.prefix)
