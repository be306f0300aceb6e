"""Arrays of a draft: each block computed, encoded, written and described by one task."""

from __future__ import annotations

from dataclasses import dataclass
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


@dataclass(frozen=True)
class SavedBlock:
    """A block that was written.

    Attributes
    ----------
    file
        Its chunk, for the draft.
    takers
        Which of its models answered any of its items.
    """

    file: StoredFile
    takers: NDArray[np.bool_]


def save_array(
    draft: Draft, folder: str, array: da.Array, chunks: tuple[int, int], fill: float
) -> list[list[Delayed]]:
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

    Returns
    -------
    list of list of Delayed
        `SavedBlock` by model chunk and item chunk; add their files to the draft.
    """
    metadata = array_metadata(array.shape, chunks, array.dtype, fill)
    draft.write(f"{folder}/{METADATA}", metadata)
    save = delayed(_save_block, traverse=False)
    location, path = draft.root.location, f"{draft.prefix}/{folder}"
    blocks = array.rechunk(chunks).to_delayed()
    return [
        [save(block, location, path, metadata, (i, j)) for j, block in enumerate(line)]
        for i, line in enumerate(blocks)
    ]


def _save_block(
    block: NDArray[Any], location: str, path: str, metadata: bytes, position: tuple[int, int]
) -> SavedBlock:
    data = encode_chunk(metadata, position, block)
    file = open_root(location).write_data(f"{path}/{chunk_key(position)}", data)
    return SavedBlock(file, answered(block).any(axis=1))
