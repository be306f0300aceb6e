"""Blocks and the passes over them against NumPy."""

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from hypothesis.extra import numpy as hnp

from mtlirt.irt import kernels
from mtlirt.irt.blocks import ONE_ATTEMPT, count_block, response_block

SHAPES = hnp.array_shapes(min_dims=2, max_dims=2, min_side=1, max_side=9)


def assert_counts(counts, right, attempts):
    np.testing.assert_allclose(counts.item_successes, right.sum(axis=0), rtol=1e-12)
    np.testing.assert_allclose(counts.item_attempts, attempts.sum(axis=0), rtol=1e-12)
    np.testing.assert_allclose(counts.model_successes, right.sum(axis=1), rtol=1e-12)
    np.testing.assert_allclose(counts.model_attempts, attempts.sum(axis=1), rtol=1e-12)
    np.testing.assert_array_equal(counts.model_cells, (attempts > 0).sum(axis=1))
    np.testing.assert_array_equal(counts.item_cells, (attempts > 0).sum(axis=0))


def assert_products(block, right):
    rng = np.random.default_rng(1)
    slope, trait = rng.normal(size=right.shape[1]), rng.normal(size=right.shape[0])
    found = kernels.row_products(block.responses, slope)
    np.testing.assert_allclose(found, right @ slope, rtol=1e-12, atol=1e-12)
    found = kernels.column_products(block.responses, trait)
    np.testing.assert_allclose(found, trait @ right, rtol=1e-12, atol=1e-12)


@given(hnp.arrays(np.int8, SHAPES, elements=st.integers(-1, 1)))
@settings(max_examples=40, deadline=None)
def test_binary_blocks_with_missing_cells_count_as_numpy_does(responses):
    block = response_block(responses)
    right, attempts = (responses == 1).astype(float), (responses >= 0).astype(float)
    assert_counts(count_block(block), right, attempts)
    assert_products(block, right)
    assert count_block(block).largest_attempts == 1.0


@given(st.data())
@settings(max_examples=40, deadline=None)
def test_repeated_trials_count_as_numpy_does(data):
    shape = data.draw(SHAPES)
    trials = data.draw(hnp.arrays(np.int16, shape, elements=st.integers(0, 300)))
    share = data.draw(hnp.arrays(np.float64, shape, elements=st.floats(0, 1)))
    successes = np.where(trials > 0, np.floor(share * trials), -1).astype(np.int16)
    block = response_block(successes, trials)
    assert_counts(count_block(block), np.maximum(successes, 0).astype(float), trials.astype(float))
    assert_products(block, np.maximum(successes, 0).astype(float))
    assert count_block(block).largest_attempts == trials.max()


def test_fractions_are_weights_of_one_attempt_and_nan_is_missing():
    responses = np.array([[0.8888, np.nan, 0.5], [1.0, 0.0, np.nan]], np.float32)
    block = response_block(responses)
    right = np.nan_to_num(responses).astype(float)
    attempts = (~np.isnan(responses)).astype(float)
    assert_counts(count_block(block), right, attempts)
    assert_products(block, right)


def test_a_large_block_in_any_memory_order_gives_the_same_products():
    responses = np.random.default_rng(2).integers(-1, 2, (300, 1100)).astype(np.int8)
    right = (responses == 1).astype(float)
    assert_products(response_block(np.asfortranarray(responses)), right)
    assert_products(response_block(responses[::-1, ::2]), right[::-1, ::2])


def test_rows_kept_are_those_rows():
    trials = np.array([[1, 2], [0, 0], [3, 1]], np.int16)
    block = response_block(np.array([[1, 0], [-1, -1], [2, 1]], np.int16), trials)
    kept = block.rows(np.array([True, False, True]))
    np.testing.assert_array_equal(kept.responses, [[1, 0], [2, 1]])
    np.testing.assert_array_equal(kept.weight, [[1, 2], [3, 1]])
    assert block.rows(np.ones(3, bool)) is block
    binary = response_block(np.array([[1], [-1]], np.int8)).rows(np.array([True, False]))
    np.testing.assert_array_equal(binary.responses, [[1]])
    assert binary.weight is ONE_ATTEMPT


@pytest.mark.parametrize(
    ("responses", "trials"),
    [
        (np.array([[2]], np.int8), None),
        (np.array([[-2]], np.int8), None),
        (np.array([[1.0001]], np.float32), None),
        (np.array([[-0.2]], np.float32), None),
        (np.array([[3]], np.int16), np.array([[2]], np.int16)),
        (np.array([[-1]], np.int16), np.array([[2]], np.int16)),
    ],
)
def test_what_is_no_response_is_refused(responses, trials):
    with pytest.raises(ValueError, match=r"responses|fractions|successes"):
        response_block(responses, trials)
