"""Versions of responses at a URL: a Zarr array a domain, tables as Parquet."""

from __future__ import annotations

import os
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

import numpy as np
import pyarrow as pa
from dask.base import compute

from mtlirt.errors import InputError
from mtlirt.responses.chunks import chunk_shape
from mtlirt.responses.load import lazy_array
from mtlirt.responses.matrix import MISSING, DomainResponses, Responses
from mtlirt.responses.save import SavedBlock, save_array
from mtlirt.responses.schema import (
    DOMAINS,
    HISTORY,
    ITEMS,
    MODELS,
    expect_columns,
    frame_from_table,
    history_from_table,
    history_table,
    table_from_frame,
)
from mtlirt.storage.draft import EMPTY, Draft
from mtlirt.storage.manifest import Manifest
from mtlirt.storage.root import Root, open_root, open_version
from mtlirt.storage.tables import from_parquet, to_parquet

RESPONSES = "responses"
TRIALS = "trials"


def write_responses(
    responses: Responses,
    url: str | os.PathLike[str],
    *,
    history: Mapping[str, Any],
    overwrite: bool = False,
    chunks: tuple[int, int] | None = None,
) -> int:
    """Write responses as a new version of a store; computes them, a block at a time.

    Parameters
    ----------
    responses
        What to write; of any chunking.
    url
        A local path or URL without a version.
    history
        How the responses came about, as JSON: sources, options, seed, counts.
    overwrite
        Let the new version follow those that the store holds, which stay readable; otherwise
        there must be none.
    chunks
        Models and items of a chunk, instead of `mtlirt.responses.chunks.chunk_shape`.

    Returns
    -------
    int
        The version.
    """
    root = open_root(url)
    versions = root.versions()
    if versions and not overwrite:
        raise InputError(
            f"{root.url}: holds version {versions[-1]} already; "
            "give another place, or overwrite to add a version"
        )
    if not responses.domains:
        raise InputError(f"{root.url}: there are no domains to write")
    if chunks is not None and min(chunks) < 1:
        raise InputError(f"chunks {chunks}: expected positive numbers of models and items")
    with root.draft("responses") as draft:
        _write_table(draft, "models.parquet", table_from_frame(responses.models, MODELS))
        _write_table(draft, "items.parquet", table_from_frame(responses.items, ITEMS))
        _write_table(draft, "history.parquet", history_table(history))
        _write_table(draft, "domains.parquet", _write_arrays(draft, responses, chunks))
        models, items = responses.shape
        info = {"models": models, "items": items, "domains": len(responses.domains)}
        return draft.commit(info=info, parent=None if overwrite else EMPTY).version


def open_responses(url: str | os.PathLike[str], version: int | None = None) -> Responses:
    """Open responses lazily: reads the tables; blocks are read and verified when computed.

    Parameters
    ----------
    url
        A local path or URL; ``URL@VERSION`` names a version.
    version
        The version; the latest where neither names one.
    """
    root, manifest = open_version(url, version, kind="responses")
    models = frame_from_table(_read_table(root, manifest, "models.parquet", MODELS), MODELS)
    items = frame_from_table(_read_table(root, manifest, "items.parquet", ITEMS), ITEMS)
    rows = _read_table(root, manifest, "domains.parquet", DOMAINS).to_pylist()
    domains = {row["domain"]: _lazy_domain(root, manifest, row, len(models)) for row in rows}
    return Responses(domains=domains, models=models, items=items)


@dataclass(frozen=True)
class HistoryEntry:
    """How one version of a store came about.

    Attributes
    ----------
    version
        The version.
    created
        When it was committed: UTC, ISO 8601.
    history
        What its writer said of it.
    """

    version: int
    created: str
    history: dict[str, Any]


def store_history(url: str | os.PathLike[str]) -> list[HistoryEntry]:
    """How a store came about: its versions up to the one the URL names, oldest first."""
    root, last = open_version(url, kind="responses")
    manifests = [root.manifest(version) for version in root.versions() if version <= last.version]
    return [
        HistoryEntry(
            manifest.version,
            manifest.created.isoformat(timespec="microseconds"),
            history_from_table(_read_table(root, manifest, "history.parquet", HISTORY)),
        )
        for manifest in manifests
    ]


def _write_table(draft: Draft, name: str, table: pa.Table) -> None:
    draft.write(name, to_parquet(table), rows=table.num_rows)


def _read_table(root: Root, manifest: Manifest, name: str, schema: pa.Schema) -> pa.Table:
    return expect_columns(from_parquet(root.read(manifest, name)), schema)


def _write_arrays(draft: Draft, responses: Responses, chunks: tuple[int, int] | None) -> pa.Table:
    """Write the arrays of all domains in one computation; gives the domain table."""
    keys = [f"d{number:03d}" for number in range(len(responses.domains))]
    shapes = [_chunks_of(part, chunks) for part in responses.domains.values()]
    grids = [
        {
            name: save_array(draft, f"{key}/{name}", array, shape, fill)
            for name, array, fill in _arrays_of(part)
        }
        for key, shape, part in zip(keys, shapes, responses.domains.values(), strict=True)
    ]
    computed = compute(*grids)
    rows = []
    for (domain, part), key, shape, saved in zip(
        responses.domains.items(), keys, shapes, computed, strict=True
    ):
        for grid in saved.values():
            for block in (block for line in grid for block in line):
                draft.add(block.file)
        rows.append(
            {
                "domain": domain,
                "key": key,
                "models": _takers(saved[RESPONSES]),
                "items": part.array.shape[1],
                "dtype": str(part.array.dtype),
                "has_trials": part.trials is not None,
                "model_chunk": shape[0],
                "item_chunk": shape[1],
            }
        )
    return pa.Table.from_pylist(rows, schema=DOMAINS)


def _arrays_of(part: DomainResponses) -> list[tuple[str, Any, float]]:
    """Name, array and missing value of the arrays that a domain is stored as."""
    missing = np.nan if part.array.dtype == np.float32 else MISSING
    arrays = [(RESPONSES, part.array, missing)]
    if part.trials is not None:
        arrays.append((TRIALS, part.trials, 0))
    return arrays


def _chunks_of(part: DomainResponses, chunks: tuple[int, int] | None) -> tuple[int, int]:
    models, items = part.array.shape
    most = chunks or chunk_shape(models, items)
    return min(most[0], models), min(most[1], items)


def _takers(grid: list[list[SavedBlock]]) -> int:
    """How many models answered anything, from the blocks by model chunk and item chunk."""
    return sum(int(np.any([block.takers for block in line], axis=0).sum()) for line in grid)


def _lazy_domain(
    root: Root, manifest: Manifest, row: Mapping[str, Any], models: int
) -> DomainResponses:
    shape = models, row["items"]
    chunks = row["model_chunk"], row["item_chunk"]
    array = lazy_array(root, manifest, f"{row['key']}/{RESPONSES}", shape, chunks, row["dtype"])
    if not row["has_trials"]:
        return DomainResponses(array)
    return DomainResponses(
        array, lazy_array(root, manifest, f"{row['key']}/{TRIALS}", shape, chunks, "int16")
    )
