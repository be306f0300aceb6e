"""A root: the versions of one thing, under one URL."""

from __future__ import annotations

import os
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from hashlib import sha256

from pydantic import ValidationError

from mtlirt.errors import InputError
from mtlirt.storage.backend import Backend, open_backend
from mtlirt.storage.draft import Draft
from mtlirt.storage.errors import StorageError
from mtlirt.storage.manifest import (
    FOLDER,
    SCHEMA_VERSION,
    Kind,
    Manifest,
    StoredFile,
    manifest_path,
    manifest_version,
)
from mtlirt.storage.url import split_version


def open_root(url: str | os.PathLike[str]) -> Root:
    """Open the root at a local path or URL, which need not exist yet.

    Parameters
    ----------
    url
        A local path, or a URL with a scheme of `mtlirt.storage.backend`; without a version.
    """
    url = os.fspath(url)
    bare, version = split_version(url)
    if version is not None:
        raise InputError(f"{url}: names version {version}, expected {bare} without a version")
    return Root(url, open_backend(url))


def open_version(
    url: str | os.PathLike[str], version: int | None = None, *, kind: Kind
) -> tuple[Root, Manifest]:
    """Open a root and the manifest of one of its versions.

    Parameters
    ----------
    url
        A local path or URL; ``URL@VERSION`` names a version.
    version
        The version; the latest where neither names one.
    kind
        What the root must hold.

    Raises
    ------
    InputError
        If there is no such version, or it is of another kind.
    """
    bare, named = split_version(os.fspath(url))
    if version is not None and named not in {None, version}:
        raise InputError(f"{url}: names version {named}, but version {version} was asked for")
    root = open_root(bare)
    return root, root.manifest(named if version is None else version, kind=kind)


@dataclass(frozen=True)
class Root:
    """Objects under one URL, and the versions that its manifests make of them.

    Attributes
    ----------
    url
        As it was given; messages name it.
    backend
        Where the objects are.
    """

    url: str
    backend: Backend

    @property
    def location(self) -> str:
        """A path or URL that opens this root from any folder and process."""
        return self.backend.url

    def write_new(self, path: str, data: bytes) -> None:
        """Create an object whole and exclusively; FileExistsError where there is one."""
        with self._reporting("write", path):
            self.backend.write_new(path, data)

    def put(self, path: str, data: bytes) -> None:
        """Create an object or replace it, whole."""
        with self._reporting("write", path):
            self.backend.put(path, data)

    def read_bytes(self, path: str) -> bytes:
        """The bytes of an object, unverified; FileNotFoundError where there is none."""
        with self._reporting("read", path):
            return self.backend.read(path)

    def names(self, folder: str) -> list[str]:
        """Sorted names in a folder as they are now, empty where there is none."""
        with self._reporting("list", folder):
            return self.backend.names(folder)

    def remove_folder(self, folder: str) -> None:
        """Remove all objects of a folder."""
        with self._reporting("remove", folder):
            self.backend.remove_folder(folder)

    def write_data(self, path: str, data: bytes, rows: int | None = None) -> StoredFile:
        """Write a data file of a draft and describe it.

        Writing the same path again replaces it, so that a task may run twice. Hand what is
        returned to `Draft.add`.
        """
        file = StoredFile(path=path, bytes=len(data), sha256=sha256(data).hexdigest(), rows=rows)
        self.put(path, data)
        return file

    def draft(self, kind: Kind) -> Draft:
        """Begin a new version of a root of this kind."""
        if self.versions():
            self.manifest(kind=kind)
        return Draft(self, kind)

    def versions(self) -> list[int]:
        """The committed versions, ascending."""
        numbers = map(manifest_version, self.names(FOLDER))
        return sorted(number for number in numbers if number is not None)

    def manifest(self, version: int | None = None, *, kind: Kind | None = None) -> Manifest:
        """Read a manifest.

        Parameters
        ----------
        version
            Its version; the latest where None.
        kind
            What the root is expected to hold; anything where None.
        """
        versions = self.versions()
        if not versions:
            expected = f"a {kind} root" if kind else "a root"
            raise InputError(f"{self.url}: no version found, expected {expected} with {FOLDER}/")
        if version is None:
            version = versions[-1]
        elif version not in versions:
            raise InputError(
                f"{self.url}: no version {version}; it has {len(versions)} "
                f"from {versions[0]} to {versions[-1]}"
            )
        manifest = self._read_manifest(version)
        if kind is not None and manifest.kind != kind:
            raise InputError(f"{self.url}: holds {manifest.kind}, expected {kind}")
        return manifest

    def read(self, manifest: Manifest, name: str) -> bytes:
        """The bytes of a data file of a version, after checking its size and SHA-256."""
        file = manifest.by_name.get(name)
        if file is None:
            raise StorageError(f"{self.url}: version {manifest.version} has no file {name}")
        data, problem = self._examine(file)
        if problem:
            raise StorageError(
                f"{self.url}: version {manifest.version}: {name} ({file.path}): {problem}; "
                "restore it from a copy"
            )
        return data

    def damaged(self, manifest: Manifest) -> Iterator[tuple[StoredFile, str]]:
        """Read all data files of a version; gives those that are not as written, and why."""
        for file in manifest.files:
            _, problem = self._examine(file)
            if problem:
                yield file, problem

    def _examine(self, file: StoredFile) -> tuple[bytes, str]:
        """The bytes of a data file, and what is wrong with them; nothing if empty."""
        try:
            data = self.read_bytes(file.path)
        except FileNotFoundError:
            return b"", "is missing"
        if len(data) != file.bytes:
            return data, f"has {len(data)} bytes, {file.bytes} were written"
        if sha256(data).hexdigest() != file.sha256:
            return data, "was altered since it was written (sha256)"
        return data, ""

    def _read_manifest(self, version: int) -> Manifest:
        path = manifest_path(version)
        try:
            manifest = Manifest.model_validate_json(self.read_bytes(path))
        except FileNotFoundError:
            raise StorageError(f"{self.url}: {path}: was removed meanwhile") from None
        except ValidationError as error:
            first = error.errors(include_url=False)[0]
            field = ".".join(map(str, first["loc"])) or "the file"
            raise StorageError(
                f"{self.url}: {path}: {field}: {first['msg']}; altered, or written by another "
                "version of mtlirt"
            ) from None
        if manifest.schema_version != SCHEMA_VERSION:
            raise StorageError(
                f"{self.url}: {path}: has schema version {manifest.schema_version}, this mtlirt "
                f"reads {SCHEMA_VERSION}: use the mtlirt that wrote it, or a later one"
            )
        if manifest.version != version:
            raise StorageError(f"{self.url}: {path}: names version {manifest.version} inside")
        return manifest

    @contextmanager
    def _reporting(self, verb: str, path: str) -> Iterator[None]:
        """Turn failures of the place itself into errors that name it."""
        try:
            yield
        except (FileExistsError, FileNotFoundError):
            raise
        except OSError as error:
            reason = error.strerror or error
            raise StorageError(f"{self.url}: cannot {verb} {path}: {reason}") from error
