"""Write grown responses as the next version: chunks that change, and the rest by reference."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

import dask.array as da
import numpy as np
import pyarrow as pa
from dask.base import compute
from dask.delayed import Delayed, delayed
from numpy.typing import NDArray

from mtlirt.responses.chunks import METADATA, chunk_key
from mtlirt.responses.growth import GrownResponses
from mtlirt.responses.layout import RESPONSES, arrays_of, count_takers, domain_row
from mtlirt.responses.matrix import answered
from mtlirt.responses.save import Takers, save_array
from mtlirt.responses.schema import DOMAINS
from mtlirt.responses.store import StoredResponses, version_info, write_table, write_tables
from mtlirt.storage.draft import Draft


def append_version(grown: GrownResponses, history: Mapping[str, Any]) -> int:
    """Write grown responses behind the version that they were made from.

    Parameters
    ----------
    grown
        From `mtlirt.responses.growth.grow`.
    history
        How the new version comes about; what came before is in the history of its parent.

    Returns
    -------
    int
        The version.

    Raises
    ------
    StorageError
        If another version was written meanwhile.

    Notes
    -----
    Reads and writes the chunks that change, and reads those of the same models.
    """
    stored = grown.stored
    with stored.root.draft("responses") as draft:
        write_tables(draft, grown, history)
        write_table(draft, "domains.parquet", _write_domains(draft, grown))
        info = version_info(grown)
        return draft.commit(info=info, parent=stored.manifest.version).version


@dataclass(frozen=True)
class _Work:
    """What is to be computed for a domain: blocks written, by array; takers of blocks kept."""

    saved: dict[str, list[Delayed]]
    kept: list[Delayed]
    before: list[Delayed]


def _write_domains(draft: Draft, grown: GrownResponses) -> pa.Table:
    """Write what changes, adopt what does not; gives the domain table."""
    keys = _keys(grown)
    work = {domain: _begin(draft, grown, domain, key) for domain, key in keys.items()}
    computed = compute([[w.saved, w.kept, w.before] for w in work.values()])[0]
    rows = []
    for (domain, key), (saved, kept, before) in zip(keys.items(), computed, strict=True):
        for blocks in saved.values():
            for block in blocks:
                draft.add(block.file)
        part, growth = grown.domains[domain], grown.growth[domain]
        row = grown.stored.rows.get(domain)
        takers = count_takers([*(block.of_line for block in saved[RESPONSES]), *kept])
        if row is not None and growth.kept:
            takers += row["models"] - count_takers(before)
        rows.append(domain_row(domain, key, part, growth.chunks, takers))
    return pa.Table.from_pylist(rows, schema=DOMAINS)


def _keys(grown: GrownResponses) -> dict[str, str]:
    """The folder of each domain: what it was, or the next number."""
    known = {domain: row["key"] for domain, row in grown.stored.rows.items()}
    fresh = (domain for domain in grown.domains if domain not in known)
    number = max(int(key.removeprefix("d")) for key in known.values()) + 1
    known |= {domain: f"d{number + k:03d}" for k, domain in enumerate(fresh)}
    return {domain: known[domain] for domain in grown.domains}


def _begin(draft: Draft, grown: GrownResponses, domain: str, key: str) -> _Work:
    part, growth = grown.domains[domain], grown.growth[domain]
    old = grown.stored.responses.domains.get(domain)
    untouched = (
        growth.kept
        and not growth.changed
        and old is not None
        and old.array.shape == part.array.shape
    )
    saved: dict[str, list[Delayed]] = {}
    for name, array, fill in arrays_of(part):
        folder = f"{key}/{name}"
        written = {chunk_key(position) for position in growth.changed}
        if not untouched:
            written.add(METADATA)
        if growth.kept:
            _adopt(draft, grown.stored, folder, written)
        saved[name] = []
        if written:
            positions = sorted(growth.changed)
            saved[name] = save_array(draft, folder, array, growth.chunks, fill, positions)
    if old is None or not growth.kept:
        return _Work(saved, [], [])
    lines = {i for i, _ in growth.changed}
    return _Work(
        saved,
        _takers(part.array, lines, growth.changed),
        _takers(old.array, lines, frozenset()),
    )


def _adopt(draft: Draft, stored: StoredResponses, folder: str, written: set[str]) -> None:
    """Take over the files of an array but those that are written anew."""
    for file in stored.manifest.files:
        array, _, name = file.name.partition(f"{folder}/")
        if not array and name and name not in written:
            draft.adopt(file)


def _takers(array: da.Array, lines: set[int], without: frozenset[tuple[int, int]]) -> list[Delayed]:
    """Takers of the blocks of some model chunks, without some of the blocks."""
    return [
        delayed(_block_takers, traverse=False)(i, block)
        for (i, j), block in np.ndenumerate(array.to_delayed())
        if i in lines and (i, j) not in without
    ]


def _block_takers(line: int, block: NDArray[Any]) -> Takers:
    return line, answered(block).any(axis=1)
