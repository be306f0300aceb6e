"""What the versions of a root of snapshots are, told by their manifests alone."""

from __future__ import annotations

import os
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from datetime import datetime
from typing import Any
from uuid import UUID

from pydantic import JsonValue

from mtlirt.snapshots.info import SnapshotInfo
from mtlirt.snapshots.load import read_info
from mtlirt.storage.errors import StorageError
from mtlirt.storage.manifest import Manifest, StoredFile, manifest_path
from mtlirt.storage.root import Root, open_root, open_version


@dataclass(frozen=True)
class Summary:
    """One version at a glance.

    Attributes
    ----------
    version, created
        Its number, and when it was published (UTC).
    models, items, domains
        How many there are.
    estimator, rank, rounds, converged, log_likelihood
        Of `Fit.info`; None where it has none.
    responses
        What it was fitted to, as URL@VERSION; None where that is not recorded.
    bytes
        Size of its files.
    """

    version: int
    created: datetime
    models: int | None
    items: int | None
    domains: int | None
    estimator: str | None
    rank: int | None
    rounds: int | None
    converged: bool | None
    log_likelihood: float | None
    responses: str | None
    bytes: int


@dataclass(frozen=True)
class BrokenVersion:
    """A version whose manifest cannot be understood, and why."""

    version: int
    reason: str


@dataclass(frozen=True)
class Details:
    """All that is recorded of one version.

    Attributes
    ----------
    summary
        The version at a glance.
    parent, run_id
        The version it was made from, if any, and the write that made it.
    fit
        `Fit.info`: options, convergence and the convention of the parameters.
    inputs, software
        What was fitted, and the versions of the packages that did it.
    seconds
        How long its rounds took.
    files
        Its data files.
    """

    summary: Summary
    parent: int | None
    run_id: UUID
    fit: Mapping[str, JsonValue]
    inputs: Mapping[str, JsonValue]
    software: Mapping[str, str]
    seconds: float
    files: tuple[StoredFile, ...]


def list_versions(url: str | os.PathLike[str]) -> list[Summary | BrokenVersion]:
    """Tell all versions at a glance, the newest last.

    Parameters
    ----------
    url
        A local path or URL without a version.

    Raises
    ------
    InputError
        If there are no snapshots.
    """
    root = open_root(url)
    found: list[Summary | BrokenVersion] = []
    for manifest in read_manifests(root):
        if isinstance(manifest, BrokenVersion):
            found.append(manifest)
            continue
        try:
            found.append(_summary(manifest, read_info(root, manifest)))
        except StorageError as error:
            found.append(broken(root, manifest.version, error))
    return found


def describe(url: str | os.PathLike[str], version: int | None = None) -> Details:
    """Tell all that is recorded of one version.

    Parameters
    ----------
    url
        A local path or URL; ``URL@VERSION`` names a version.
    version
        The version; the latest where neither names one.

    Raises
    ------
    InputError
        If there is no such snapshot.
    StorageError
        If its manifest is broken.
    """
    root, manifest = open_version(url, version, kind="snapshot")
    info = read_info(root, manifest)
    return Details(
        summary=_summary(manifest, info),
        parent=manifest.parent,
        run_id=manifest.run_id,
        fit=info.fit,
        inputs=info.inputs,
        software=info.software,
        seconds=sum(info.seconds.domain_seconds + info.seconds.shared_seconds),
        files=manifest.files,
    )


def read_manifests(root: Root, version: int | None = None) -> Iterator[Manifest | BrokenVersion]:
    """Read one manifest or all, the newest last, of a root that must hold snapshots."""
    versions = root.versions() if version is None else [version]
    if not versions:
        root.manifest(kind="snapshot")  # says that there is none
    for number in versions:
        try:
            yield root.manifest(number, kind="snapshot")
        except StorageError as error:
            yield broken(root, number, error)


def broken(root: Root, version: int, error: StorageError) -> BrokenVersion:
    """What is wrong with a manifest; raises the error again if the place failed instead."""
    if isinstance(error.__cause__, OSError):
        raise error
    reason = str(error)
    for place in (root.url, manifest_path(version), f"version {version}"):
        reason = reason.removeprefix(f"{place}: ")
    return BrokenVersion(version, reason)


def _summary(manifest: Manifest, info: SnapshotInfo) -> Summary:
    rows = {name: file.rows for name, file in manifest.by_name.items()}
    fit: Mapping[str, Any] = info.fit
    responses, version = info.inputs.get("responses"), info.inputs.get("version")
    return Summary(
        version=manifest.version,
        created=manifest.created,
        models=rows.get("models.parquet"),
        items=rows.get("items.parquet"),
        domains=rows.get("domains.parquet"),
        estimator=fit.get("estimator"),
        rank=fit.get("rank"),
        rounds=fit.get("rounds"),
        converged=fit.get("converged"),
        log_likelihood=fit.get("log_likelihood"),
        responses=None if responses is None else f"{responses}@{version}",
        bytes=sum(file.bytes for file in manifest.files),
    )
