"""Check that snapshots are as they were published."""

from __future__ import annotations

import os
from collections.abc import Iterator
from dataclasses import dataclass

import pyarrow as pa

from mtlirt.snapshots.history import BrokenVersion, broken, read_manifests
from mtlirt.snapshots.load import read_info
from mtlirt.snapshots.schema import table_schemas
from mtlirt.storage.errors import StorageError
from mtlirt.storage.manifest import Manifest, StoredFile, manifest_path
from mtlirt.storage.root import Root, open_root
from mtlirt.storage.tables import from_parquet
from mtlirt.storage.url import split_version

TABLES = tuple(table_schemas(0))
"""The names of the tables of a snapshot."""


@dataclass(frozen=True)
class Problem:
    """A file that is not as it should be, by its path in the root, and what is wrong with it."""

    file: str
    reason: str


@dataclass(frozen=True)
class VersionCheck:
    """How one version was found.

    Attributes
    ----------
    version
        Its number.
    files, bytes
        How many data files its manifest names, and their size; 0 where the manifest is broken.
    problems
        Whatever is wrong with it.
    """

    version: int
    files: int
    bytes: int
    problems: tuple[Problem, ...]


def verify(url: str | os.PathLike[str]) -> Iterator[VersionCheck]:
    """Check versions one by one: manifest, files by size and SHA-256, form of the tables.

    Versions are numbered from 1 on: one that is not there was removed. If that was the last, it
    leaves its data folder, see `orphans`.

    Parameters
    ----------
    url
        A local path or URL: of all versions, or of one as ``URL@VERSION``.

    Yields
    ------
    VersionCheck
        The newest last.

    Raises
    ------
    InputError
        If there are no such snapshots.
    """
    bare, version = split_version(os.fspath(url))
    root = open_root(bare)
    checked = 0
    for manifest in read_manifests(root, version):
        if version is None:
            for lost in range(checked + 1, manifest.version):
                yield VersionCheck(lost, 0, 0, (Problem(manifest_path(lost), "is missing"),))
        checked = manifest.version
        if isinstance(manifest, BrokenVersion):
            problem = Problem(manifest_path(manifest.version), manifest.reason)
            yield VersionCheck(manifest.version, 0, 0, (problem,))
        else:
            size = sum(file.bytes for file in manifest.files)
            problems = tuple(_problems(root, manifest))
            yield VersionCheck(manifest.version, len(manifest.files), size, problems)


def orphans(url: str | os.PathLike[str]) -> list[str] | None:
    """Data folders that no version names: of writers that were killed, or are at work.

    Returns
    -------
    list or None
        Their names; None where a manifest is broken, which may name some.
    """
    root = open_root(url)
    folders = root.names("data")
    named = set()
    for manifest in read_manifests(root):
        if isinstance(manifest, BrokenVersion):
            return None
        named |= {file.path.split("/")[1] for file in manifest.files}
    return [folder for folder in folders if folder not in named]


def _problems(root: Root, manifest: Manifest) -> Iterator[Problem]:
    for reason in _manifest_faults(root, manifest):
        yield Problem(manifest_path(manifest.version), reason)
    damaged = dict(root.damaged(manifest))
    for file in manifest.files:
        reason = damaged.get(file) or _table_fault(file, root.read(manifest, file.name))
        if reason:
            yield Problem(file.path, reason)


def _manifest_faults(root: Root, manifest: Manifest) -> Iterator[str]:
    """What a manifest that can be understood says wrongly, or not at all."""
    for name in TABLES:
        if f"{name}.parquet" not in manifest.by_name:
            yield f"names no {name}.parquet"
    try:
        seconds = read_info(root, manifest).seconds
    except StorageError as error:
        yield broken(root, manifest.version, error).reason
        return
    history = manifest.by_name.get("history.parquet")
    timed = {len(seconds.domain_seconds), len(seconds.shared_seconds)}
    if history and timed != {history.rows}:
        yield f"info.seconds: of other rounds than the {history.rows} of the history"


def _table_fault(file: StoredFile, data: bytes) -> str:
    """What is wrong with the table in a file that is as it was written; empty if nothing."""
    name = file.name.removesuffix(".parquet")
    if name not in TABLES:
        return ""
    try:
        table = from_parquet(data)
    except (pa.ArrowException, OSError) as error:
        return f"is no Parquet file ({_one_line(error)})"
    try:
        table_schemas(table.num_columns - 1)[name].check(table)
    except ValueError as error:
        return _one_line(error)
    if table.num_rows != file.rows:
        return f"has {table.num_rows} rows, {file.rows} were written"
    return ""


def _one_line(error: Exception) -> str:
    return " ".join(str(error).split())
