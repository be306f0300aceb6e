"""Publish a fit as a version of a snapshot root."""

from __future__ import annotations

import os
from collections.abc import Mapping
from importlib.metadata import version

from pydantic import JsonValue

from mtlirt.result import Fit
from mtlirt.snapshots.info import RoundSeconds, SnapshotInfo
from mtlirt.snapshots.pictures import path_picture
from mtlirt.snapshots.schema import PATH, table_schemas
from mtlirt.storage.draft import Draft
from mtlirt.storage.root import Root, open_root
from mtlirt.storage.tables import to_parquet

SOFTWARE = ("mtlirt", "numpy", "numba", "scipy", "dask", "pyarrow")
"""Packages whose versions a snapshot records."""


def publish(
    fit: Fit, url: str | os.PathLike[str], *, inputs: Mapping[str, JsonValue] | None = None
) -> int:
    """Publish a fit as the next version at a URL.

    Parameters
    ----------
    fit
        What to publish.
    url
        A local path or URL without a version; it may hold snapshots already.
    inputs
        What was fitted, as JSON: the URL, version and run id of the responses.

    Returns
    -------
    int
        The version.

    Notes
    -----
    The tables of `Fit` are Parquet files of their names. They hold no times, so equal fits give
    equal bytes under the same software; a path of cross-validation is ``path.parquet`` and, as a
    picture, ``path.svg``. Timings, options and software are in
    the manifest.
    """
    with snapshot_root(url).draft("snapshot") as draft:
        info = write_fit(draft, fit, inputs or {})
        return draft.commit(info=info.model_dump()).version


def write_fit(draft: Draft, fit: Fit, inputs: Mapping[str, JsonValue]) -> SnapshotInfo:
    """Write the files of a fit into a version in the making, and say what its manifest needs."""
    times = list(RoundSeconds.model_fields)
    info = SnapshotInfo(
        fit=dict(fit.info),
        inputs=dict(inputs),
        software={package: version(package) for package in SOFTWARE},
        seconds=RoundSeconds.model_validate(fit.history[times].to_dict("list")),
    )
    frames = {
        "items": fit.items,
        "domains": fit.domains,
        "models": fit.models,
        "traits": fit.traits,
        "representation": fit.representation,
        "history": fit.history.drop(columns=times),
    }
    schemas = table_schemas(fit.representation.shape[1])
    tables = {name: schemas[name].table(name, frame) for name, frame in frames.items()}
    picture = None
    if fit.path is not None:
        tables["path"] = PATH.table("path", fit.path)
        picture = path_picture(fit.path)
    for name, table in tables.items():
        draft.write(f"{name}.parquet", to_parquet(table), rows=table.num_rows)
    if picture is not None:
        draft.write("path.svg", picture, rows=None)
    return info


def snapshot_root(url: str | os.PathLike[str]) -> Root:
    """The root at a URL without a version, which must hold snapshots or nothing yet."""
    root = open_root(url)
    if root.versions():
        root.manifest(kind="snapshot")
    return root
