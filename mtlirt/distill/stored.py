"""Distilled benchmarks as versions of a root."""

from __future__ import annotations

import os
from collections.abc import Mapping
from typing import Any

import numpy as np
import numpy.typing as npt
import pandas as pd
import pyarrow as pa
from pydantic import BaseModel, ConfigDict, JsonValue, ValidationError

from mtlirt.distill.distilled import Distilled
from mtlirt.distill.reconstruction.intervals import Intervals
from mtlirt.distill.reconstruction.methods import restored
from mtlirt.snapshots.info import SnapshotInfo
from mtlirt.snapshots.load import read_tables
from mtlirt.snapshots.publish import write_fit
from mtlirt.storage.errors import StorageError
from mtlirt.storage.manifest import Manifest
from mtlirt.storage.root import Root, open_root, open_version
from mtlirt.storage.tables import from_parquet, to_parquet


def _required(**types: pa.DataType) -> list[pa.Field[Any]]:
    return [pa.field(name, kind, nullable=False) for name, kind in types.items()]


def _nullable(**types: pa.DataType) -> list[pa.Field[Any]]:
    return [pa.field(name, kind) for name, kind in types.items()]


ITEM = _required(domain=pa.string(), item_id=pa.string())
ACCURACY = [
    *_required(models=pa.int64()),
    *_nullable(rmse=pa.float64(), bias=pa.float64(), spearman=pa.float64()),
]

SCHEMAS = {
    "chosen": pa.schema([*ITEM, *_required(position=pa.int64(), form=pa.string())]),
    "barred": pa.schema(
        [
            *ITEM,
            *_required(reason=pa.string()),
            *_nullable(share=pa.float64(), correlation=pa.float64(), copy_of=pa.string()),
        ]
    ),
    "sizes": pa.schema(
        [
            *_required(selection=pa.string(), items=pa.int64(), target=pa.string()),
            *ACCURACY,
        ]
    ),
    "test": pa.schema(
        [
            *_required(target=pa.string()),
            *ACCURACY,
            *_nullable(coverage=pa.float64(), width=pa.float64(), detectable=pa.float64()),
        ]
    ),
}
"""The tables of `Distilled`, in files of their names beside those of its fit."""

INDEX = {
    "chosen": ["domain", "item_id"],
    "barred": ["domain", "item_id"],
    "sizes": ["selection", "items", "target"],
    "test": ["target"],
}

ARRAYS = pa.schema(
    [
        pa.field("part", pa.string(), nullable=False),  # reconstruction or intervals
        pa.field("name", pa.string(), nullable=False),
        pa.field("shape", pa.list_(pa.int64()), nullable=False),
        pa.field("whole", pa.bool_(), nullable=False),  # numbers
        pa.field("values", pa.list_(pa.float64()), nullable=False),
    ]
)
"""``predictor.parquet``: a row an array, its values row by row."""


class DistilledInfo(BaseModel):
    """The manifest's ``info``.

    Attributes
    ----------
    snapshot
        Of the fit, as in a snapshot.
    distilled
        `Distilled.info`.
    """

    model_config = ConfigDict(frozen=True, extra="forbid", strict=True)

    snapshot: SnapshotInfo
    distilled: dict[str, JsonValue]


def publish_distilled(
    distilled: Distilled,
    url: str | os.PathLike[str],
    *,
    inputs: Mapping[str, JsonValue] | None = None,
) -> int:
    """Publish a distilled benchmark as the next version at a URL.

    Parameters
    ----------
    url
        A local path or URL without a version; it may hold distilled benchmarks already.
    inputs
        What it was made of, as JSON.

    Returns
    -------
    int
        The version. Equal ones have equal files under the same software.
    """
    tables = {name: _table(getattr(distilled, name), name) for name in SCHEMAS}
    parts = {
        "reconstruction": distilled.reconstruction.arrays(),
        "intervals": distilled.intervals.arrays(),
    }
    tables["predictor"] = pa.Table.from_pylist(
        [
            _array(part, name, array)
            for part, arrays in parts.items()
            for name, array in arrays.items()
        ],
        schema=ARRAYS,
    )
    with distilled_root(url).draft("distilled") as draft:
        snapshot = write_fit(draft, distilled.refit, inputs or {})
        for name, table in tables.items():
            draft.write(f"{name}.parquet", to_parquet(table), rows=table.num_rows)
        info = DistilledInfo(snapshot=snapshot, distilled=dict(distilled.info))
        return draft.commit(info=info.model_dump(mode="json")).version


def distilled_root(url: str | os.PathLike[str]) -> Root:
    """The root at a URL without a version, which must hold distilled benchmarks or nothing yet."""
    root = open_root(url)
    if root.versions():
        root.manifest(kind="distilled")
    return root


def load_distilled(url: str | os.PathLike[str], version: int | None = None) -> Distilled:
    """Load a distilled benchmark; every file is verified against the SHA-256 of its manifest.

    Parameters
    ----------
    url
        A local path or URL; ``URL@VERSION`` names a version.
    version
        The version; the latest where neither names one.

    Raises
    ------
    InputError
        If there is none.
    StorageError
        If a file is missing or altered; names it.
    """
    root, manifest = open_version(url, version, kind="distilled")
    return read_distilled(root, manifest)


def read_distilled(root: Root, manifest: Manifest) -> Distilled:
    """The distilled benchmark of a version of a root of such."""
    try:
        info = DistilledInfo.model_validate(manifest.info)
        tables = {name: _frame(root, manifest, name) for name in SCHEMAS}
        arrays = _arrays(from_parquet(root.read(manifest, "predictor.parquet")))
        method = str(dict(info.distilled["options"])["reconstruction"])  # type: ignore[arg-type]
        return Distilled(
            **tables,
            refit=read_tables(root, manifest, info.snapshot),
            reconstruction=restored(method, arrays["reconstruction"]),
            intervals=Intervals.from_arrays(arrays["intervals"]),
            info=info.distilled,
        )
    except (ValidationError, KeyError, ValueError, TypeError) as error:
        told = " ".join(str(error).split())
        raise StorageError(
            f"{root.url}: version {manifest.version}: {told}; altered, or written by another "
            "version of mtlirt"
        ) from None


def _table(frame: pd.DataFrame, name: str) -> pa.Table:
    table = pa.Table.from_pandas(frame.reset_index(), preserve_index=False)
    return table.select(SCHEMAS[name].names).cast(SCHEMAS[name]).replace_schema_metadata()


def _frame(root: Root, manifest: Manifest, name: str) -> pd.DataFrame:
    table = from_parquet(root.read(manifest, f"{name}.parquet"))
    if not table.schema.equals(SCHEMAS[name]):
        raise ValueError(f"{name}.parquet has other columns")
    frame: pd.DataFrame = table.to_pandas()
    return frame.set_index(INDEX[name])


def _array(part: str, name: str, array: npt.NDArray[Any]) -> dict[str, Any]:
    return {
        "part": part,
        "name": name,
        "shape": list(array.shape),
        "whole": bool(np.issubdtype(array.dtype, np.integer)),
        "values": array.ravel().astype(np.float64),
    }


def _arrays(table: pa.Table) -> dict[str, dict[str, npt.NDArray[Any]]]:
    if not table.schema.equals(ARRAYS):
        raise ValueError("predictor.parquet has other columns")
    found: dict[str, dict[str, npt.NDArray[Any]]] = {}
    for row in table.to_pylist():
        kind = np.intp if row["whole"] else np.float64
        values = np.array(row["values"], np.float64).astype(kind).reshape(row["shape"])
        found.setdefault(row["part"], {})[row["name"]] = values
    return found
