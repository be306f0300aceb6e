"""Arrays of a draft: each block computed, encoded, written and described by one task."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass
from itertools import product
from typing import Any

import dask.array as da
import numpy as np
from dask.delayed import Delayed, delayed
from numpy.typing import NDArray

from mtlirt.responses.chunks import METADATA, array_metadata, chunk_key, encode_chunk
from mtlirt.responses.matrix import answered
from mtlirt.storage.draft import Draft
from mtlirt.storage.manifest import StoredFile
from mtlirt.storage.root import open_root

Takers = tuple[int, NDArray[np.bool_]]
"""A model chunk, and which of its models answered any item of a block."""


@dataclass(frozen=True)
class SavedBlock:
    """A block that was written.

    Attributes
    ----------
    position
        Its model chunk and item chunk.
    file
        Its chunk, for the draft.
    takers
        Which of its models answered any of its items.
    """

    position: tuple[int, int]
    file: StoredFile
    takers: NDArray[np.bool_]

    @property
    def of_line(self) -> Takers:
        """The takers with their model chunk."""
        return self.position[0], self.takers


def save_array(
    draft: Draft,
    folder: str,
    array: da.Array,
    chunks: tuple[int, int],
    fill: float,
    positions: Iterable[tuple[int, int]] | None = None,
) -> list[Delayed]:
    """Write the metadata of an array, and promise its blocks.

    Parameters
    ----------
    draft
        The version to be.
    folder
        The array's folder in it.
    array
        The array, of any chunking.
    chunks
        Models and items of a stored chunk.
    fill
        The array's missing value.
    positions
        Model chunk and item chunk of the blocks to write; None for all.

    Returns
    -------
    list of Delayed
        `SavedBlock` of each; add their files to the draft.
    """
    metadata = array_metadata(array.shape, chunks, array.dtype, fill)
    draft.write(f"{folder}/{METADATA}", metadata)
    save = delayed(_save_block, traverse=False)
    location, path = draft.root.location, f"{draft.prefix}/{folder}"
    blocks = array.rechunk(chunks).to_delayed()
    every = product(range(blocks.shape[0]), range(blocks.shape[1]))
    return [
        save(blocks[place], location, path, metadata, place)
        for place in (every if positions is None else positions)
    ]


def _save_block(
    block: NDArray[Any], location: str, path: str, metadata: bytes, position: tuple[int, int]
) -> SavedBlock:
    data = encode_chunk(metadata, position, block)
    file = open_root(location).write_data(f"{path}/{chunk_key(position)}", data)
    return SavedBlock(position, file, answered(block).any(axis=1))
