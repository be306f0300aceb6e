"""Chunks of a stored array: how large, and their bytes as chunks of a Zarr v3 array."""

from __future__ import annotations

from typing import Any

import numpy as np
import zarr
from numpy.typing import NDArray
from zarr.buffer import default_buffer_prototype
from zarr.codecs import BloscCodec
from zarr.storage import MemoryStore

CHUNK_CELLS = 64 * 2**20
"""A domain with no more cells than this is one chunk, and no chunk has more."""

CHUNK_ITEMS = 8192
"""A chunk of a domain that is split has no more items than this."""

METADATA = "zarr.json"


def chunk_shape(models: int, items: int) -> tuple[int, int]:
    """The shape of a domain's chunks: all of it, or near-equal parts both ways."""
    if models * items <= CHUNK_CELLS:
        return models, items
    item_chunk = _near_equal(items, CHUNK_ITEMS)
    return _near_equal(models, CHUNK_CELLS // item_chunk), item_chunk


def chunk_lengths(total: int, size: int) -> tuple[int, ...]:
    """The lengths of the chunks of one dimension, the last one maybe shorter."""
    return tuple(min(size, total - start) for start in range(0, total, size))


def _near_equal(total: int, most: int) -> int:
    parts = -(-total // most)
    return -(-total // parts)


def array_metadata(
    shape: tuple[int, ...], chunks: tuple[int, ...], dtype: np.dtype[Any], fill: float
) -> bytes:
    """The ``zarr.json`` of an array."""
    objects: dict[str, Any] = {}
    zarr.create_array(
        MemoryStore(objects),
        shape=shape,
        chunks=chunks,
        dtype=dtype,
        fill_value=fill,
        compressors=[
            BloscCodec(typesize=dtype.itemsize, cname="zstd", clevel=5, shuffle="bitshuffle")
        ],
    )
    return bytes(objects[METADATA].to_bytes())


def chunk_key(position: tuple[int, ...]) -> str:
    """The name of a chunk below the folder of its array."""
    return "/".join(["c", *map(str, position)])


def encode_chunk(metadata: bytes, position: tuple[int, ...], block: NDArray[Any]) -> bytes:
    """The bytes of the chunk at a position of the array that `metadata` describes."""
    objects: dict[str, Any] = {METADATA: _buffer(metadata)}
    stored = zarr.open_array(MemoryStore(objects), mode="r+")
    array = stored.with_config({"write_empty_chunks": True})  # a missing file is then always a loss
    region = _region(array, position)
    expected = tuple(part.stop - part.start for part in region)
    if block.dtype != array.dtype or block.shape != expected:
        raise ValueError(f"chunk {position}: computed as {block.dtype} {block.shape}")
    array[region] = block
    return bytes(objects[chunk_key(position)].to_bytes())


def decode_chunk(metadata: bytes, position: tuple[int, ...], data: bytes) -> NDArray[Any]:
    """The inverse of `encode_chunk`."""
    objects = {METADATA: _buffer(metadata), chunk_key(position): _buffer(data)}
    array = zarr.open_array(MemoryStore(objects, read_only=True), mode="r")
    return np.asarray(array[_region(array, position)])


def _region(array: Any, position: tuple[int, ...]) -> tuple[slice, ...]:
    return tuple(
        slice(k * size, min((k + 1) * size, total))
        for k, size, total in zip(position, array.chunks, array.shape, strict=True)
    )


def _buffer(data: bytes) -> Any:
    return default_buffer_prototype().buffer.from_bytes(data)
