"""The chunk policy and the bytes of chunks."""

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from mtlirt.responses.chunks import (
    CHUNK_CELLS,
    CHUNK_ITEMS,
    array_metadata,
    chunk_lengths,
    chunk_shape,
    decode_chunk,
    encode_chunk,
)


@given(models=st.integers(1, 10**6), items=st.integers(1, 10**6))
def test_chunks_are_whole_or_near_equal_and_bounded(models, items):
    rows, columns = chunk_shape(models, items)
    assert rows * columns <= CHUNK_CELLS
    if models * items <= CHUNK_CELLS:
        assert (rows, columns) == (models, items)
        return
    assert columns <= CHUNK_ITEMS
    for total, size in ((models, rows), (items, columns)):
        lengths = chunk_lengths(total, size)
        assert sum(lengths) == total
        assert size - lengths[-1] < len(lengths)


@pytest.mark.parametrize(
    ("shape", "chunks"),
    [
        ((4272, 1534), (4272, 1534)),
        ((4272, 13_259), (4272, 13_259)),
        ((100_000, 13_000), (10_000, 6500)),
        ((1, CHUNK_CELLS), (1, CHUNK_CELLS)),
    ],
)
def test_known_shapes(shape, chunks):
    assert chunk_shape(*shape) == chunks


@pytest.mark.parametrize(
    ("dtype", "fill"), [("int8", -1), ("int16", -1), ("int16", 0), ("float32", np.nan)]
)
@pytest.mark.parametrize("position", [(0, 0), (1, 1)])
def test_chunks_decode_to_what_was_encoded(dtype, fill, position):
    metadata = array_metadata((5, 7), (3, 4), np.dtype(dtype), fill)
    shape = (3, 4) if position == (0, 0) else (2, 3)
    for block in (
        np.arange(np.prod(shape)).reshape(shape).astype(dtype),
        np.full(shape, fill, dtype),
    ):
        data = encode_chunk(metadata, position, block)
        decoded = decode_chunk(metadata, position, data)
        assert decoded.dtype == block.dtype
        np.testing.assert_array_equal(decoded, block)


def test_a_block_of_another_shape_is_refused():
    metadata = array_metadata((5, 7), (3, 4), np.dtype("int8"), -1)
    with pytest.raises(ValueError, match=r"chunk \(0, 0\): computed as int8 \(1, 4\)"):
        encode_chunk(metadata, (0, 0), np.zeros((1, 4), "int8"))
