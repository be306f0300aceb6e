"""Versions of responses at a URL: a Zarr array a domain, tables as Parquet."""

from __future__ import annotations

import os
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

import pyarrow as pa
from dask.base import compute
from pydantic import JsonValue

from mtlirt.errors import InputError
from mtlirt.responses.layout import (
    RESPONSES,
    TRIALS,
    arrays_of,
    chunks_of,
    count_takers,
    domain_row,
)
from mtlirt.responses.load import lazy_array
from mtlirt.responses.matrix import DomainResponses, Responses
from mtlirt.responses.save import save_array
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
        write_tables(draft, responses, history)
        write_table(draft, "domains.parquet", _write_arrays(draft, responses, chunks))
        parent = None if overwrite else EMPTY
        return draft.commit(info=version_info(responses), parent=parent).version


def open_responses(url: str | os.PathLike[str], version: int | None = None) -> Responses:
    """Open responses lazily: reads the tables; blocks are read and verified when computed.

    Parameters
    ----------
    url
        A local path or URL; ``URL@VERSION`` names a version.
    version
        The version; the latest where neither names one.
    """
    return open_stored(url, version).responses


@dataclass(frozen=True)
class StoredResponses:
    """One version of a store.

    Attributes
    ----------
    root, manifest
        The store and the version.
    rows
        The domain table: domain -> its row.
    responses
        What it holds, lazily.
    """

    root: Root
    manifest: Manifest
    rows: Mapping[str, Mapping[str, Any]]
    responses: Responses


def open_stored(url: str | os.PathLike[str], version: int | None = None) -> StoredResponses:
    """Open one version of a store with what says how it is stored; see `open_responses`."""
    root, manifest = open_version(url, version, kind="responses")
    models = frame_from_table(_read_table(root, manifest, "models.parquet", MODELS), MODELS)
    items = frame_from_table(_read_table(root, manifest, "items.parquet", ITEMS), ITEMS)
    table = _read_table(root, manifest, "domains.parquet", DOMAINS)
    rows = {row["domain"]: row for row in table.to_pylist()}
    domains = {name: _lazy_domain(root, manifest, row, len(models)) for name, row in rows.items()}
    return StoredResponses(root, manifest, rows, Responses(domains, models, items))


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
    return [
        _history_entry(root, root.manifest(version))
        for version in root.versions()
        if version <= last.version
    ]


def lineage(root: Root, manifest: Manifest) -> list[HistoryEntry]:
    """How a version came about: those that it was made from, oldest first, and itself."""
    entries = [_history_entry(root, manifest)]
    while manifest.parent is not None:
        manifest = root.manifest(manifest.parent)
        entries.append(_history_entry(root, manifest))
    return entries[::-1]


def _history_entry(root: Root, manifest: Manifest) -> HistoryEntry:
    return HistoryEntry(
        manifest.version,
        manifest.created.isoformat(timespec="microseconds"),
        history_from_table(_read_table(root, manifest, "history.parquet", HISTORY)),
    )


def write_tables(draft: Draft, responses: Responses, history: Mapping[str, Any]) -> None:
    """Write the tables of models and of items, and how the version comes about."""
    write_table(draft, "models.parquet", table_from_frame(responses.models, MODELS))
    write_table(draft, "items.parquet", table_from_frame(responses.items, ITEMS))
    write_table(draft, "history.parquet", history_table(history))


def version_info(responses: Responses) -> dict[str, JsonValue]:
    """What the manifest of a version says of its size."""
    models, items = responses.shape
    return {"models": models, "items": items, "domains": len(responses.domains)}


def write_table(draft: Draft, name: str, table: pa.Table) -> None:
    """Write one table of a version."""
    draft.write(name, to_parquet(table), rows=table.num_rows)


def _read_table(root: Root, manifest: Manifest, name: str, schema: pa.Schema) -> pa.Table:
    return expect_columns(from_parquet(root.read(manifest, name)), schema)


def _write_arrays(draft: Draft, responses: Responses, chunks: tuple[int, int] | None) -> pa.Table:
    """Write the arrays of all domains in one computation; gives the domain table."""
    keys = [f"d{number:03d}" for number in range(len(responses.domains))]
    shapes = [chunks_of(part, chunks) for part in responses.domains.values()]
    grids = [
        {
            name: save_array(draft, f"{key}/{name}", array, shape, fill)
            for name, array, fill in arrays_of(part)
        }
        for key, shape, part in zip(keys, shapes, responses.domains.values(), strict=True)
    ]
    computed = compute(*grids)
    rows = []
    for (domain, part), key, shape, saved in zip(
        responses.domains.items(), keys, shapes, computed, strict=True
    ):
        for blocks in saved.values():
            for block in blocks:
                draft.add(block.file)
        rows.append(
            domain_row(
                domain, key, part, shape, count_takers(block.of_line for block in saved[RESPONSES])
            )
        )
    return pa.Table.from_pylist(rows, schema=DOMAINS)


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
