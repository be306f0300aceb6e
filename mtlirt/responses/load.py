"""Arrays of a stored version as lazy Dask arrays, a block a chunk."""

from __future__ import annotations

from functools import lru_cache
from typing import Any

import dask.array as da
import numpy as np
from dask.base import tokenize
from numpy.typing import NDArray

from mtlirt.responses.chunks import METADATA, chunk_key, chunk_lengths, decode_chunk
from mtlirt.storage.errors import StorageError
from mtlirt.storage.manifest import Manifest
from mtlirt.storage.root import Root, open_version


def lazy_array(
    root: Root,
    manifest: Manifest,
    folder: str,
    shape: tuple[int, int],
    chunks: tuple[int, int],
    dtype: str,
) -> da.Array:
    """A stored array whose graph holds only where its blocks are."""
    place = {
        "url": root.location,
        "version": manifest.version,
        "run_id": str(manifest.run_id),
        "folder": folder,
    }
    lazy: da.Array = da.map_blocks(
        load_block,
        **place,
        name=f"load-block-{tokenize(place)}",
        chunks=tuple(map(chunk_lengths, shape, chunks)),
        dtype=dtype,
        meta=np.empty((0, 0), dtype),
    )
    return lazy


def load_block(
    url: str, version: int, run_id: str, folder: str, block_id: tuple[int, ...]
) -> NDArray[Any]:
    """Read one block of a stored array and verify it; needs nothing but its arguments.

    Parameters
    ----------
    url, version, run_id
        The store, its version, and the write that made it.
    folder
        The array's folder in the version.
    block_id
        The block's position in the array.
    """
    root, manifest = _cached_version(url, version, run_id)
    metadata = _cached_metadata(url, version, run_id, folder)
    data = root.read(manifest, f"{folder}/{chunk_key(block_id)}")
    return decode_chunk(metadata, block_id, data)


# A version never changes and a run id is never used again, so these can't go stale.
@lru_cache(maxsize=16)
def _cached_version(url: str, version: int, run_id: str) -> tuple[Root, Manifest]:
    root, manifest = open_version(url, version, kind="responses")
    if str(manifest.run_id) != run_id:
        raise StorageError(f"{url}: version {version} was replaced since it was opened")
    return root, manifest


@lru_cache(maxsize=1024)
def _cached_metadata(url: str, version: int, run_id: str, folder: str) -> bytes:
    root, manifest = _cached_version(url, version, run_id)
    return root.read(manifest, f"{folder}/{METADATA}")
