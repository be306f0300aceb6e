"""Load a published fit."""

from __future__ import annotations

import os

import pyarrow as pa
from pydantic import ValidationError

from mtlirt.result import Fit
from mtlirt.snapshots.info import SnapshotInfo
from mtlirt.snapshots.schema import PATH, table_schemas
from mtlirt.storage.errors import StorageError
from mtlirt.storage.manifest import Manifest
from mtlirt.storage.root import Root, open_version
from mtlirt.storage.tables import from_parquet

ROUND_COLUMNS = [
    "objective",
    "change",
    "rank",
    "fused",
    "domain_seconds",
    "shared_seconds",
    "converged",
]
"""The columns of `Fit.history`."""


def load(url: str | os.PathLike[str], version: int | None = None) -> Fit:
    """Load a snapshot; every file is verified against the SHA-256 of its manifest.

    Parameters
    ----------
    url
        A local path or URL; ``URL@VERSION`` names a version.
    version
        The version; the latest where neither names one.

    Returns
    -------
    Fit
        The one that was published, to the bit; nothing of it is unpickled.

    Raises
    ------
    InputError
        If there is no such snapshot.
    StorageError
        If a file is missing or altered; names it.
    """
    root, manifest = open_version(url, version, kind="snapshot")
    return read_fit(root, manifest)


def read_fit(root: Root, manifest: Manifest) -> Fit:
    """The fit of a version of a root of snapshots."""
    return read_tables(root, manifest, read_info(root, manifest))


def read_tables(root: Root, manifest: Manifest, info: SnapshotInfo) -> Fit:
    """The fit whose files are among those of a version, with what its manifest says of it."""
    loadings = _read_table(root, manifest, "representation")
    frames = {}
    schemas = table_schemas(loadings.num_columns - 1)
    if any(file.name == "path.parquet" for file in manifest.files):
        schemas["path"] = PATH
    for name, schema in schemas.items():
        table = loadings if name == "representation" else _read_table(root, manifest, name)
        try:
            frames[name] = schema.frame(table)
        except ValueError as error:
            raise StorageError(
                f"{root.url}: version {manifest.version}: {name}.parquet: {error}; "
                "written by another version of mtlirt"
            ) from None
    history = frames.pop("history").assign(**info.seconds.model_dump())
    return Fit(**frames, history=history[ROUND_COLUMNS], info=info.fit)


def read_info(root: Root, manifest: Manifest) -> SnapshotInfo:
    """What the manifest of a snapshot says besides its files."""
    try:
        return SnapshotInfo.model_validate(manifest.info)
    except ValidationError as error:
        first = error.errors(include_url=False)[0]
        field = ".".join(map(str, first["loc"]))
        raise StorageError(
            f"{root.url}: version {manifest.version}: info.{field}: {first['msg']}; altered, or "
            "written by another version of mtlirt"
        ) from None


def _read_table(root: Root, manifest: Manifest, name: str) -> pa.Table:
    return from_parquet(root.read(manifest, f"{name}.parquet"))
