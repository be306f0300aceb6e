"""Dealing cells into folds."""

import numpy as np
import pytest

from mtlirt.irt.blocks import response_block
from mtlirt.irt.folds import fold_labels, part_of_block


@pytest.fixture
def responses():
    rng = np.random.default_rng(1)
    cells = rng.integers(0, 2, (40, 33)).astype(np.int8)
    cells[rng.random(cells.shape) < 0.3] = -1
    return cells


@pytest.fixture
def keys():
    rng = np.random.default_rng(2)
    return rng.integers(0, 2**63, 40, np.uint64), rng.integers(0, 2**63, 33, np.uint64)


def test_every_cell_is_in_one_fold_and_each_model_is_dealt_out_evenly(responses, keys):
    labels = fold_labels([response_block(responses)], *keys, 5)
    assert ((labels >= 0) == (responses >= 0)).all()
    for row in labels:
        counts = np.bincount(row[row >= 0], minlength=5)
        assert counts.max() - counts.min() <= 1
    sizes = np.bincount(labels[labels >= 0], minlength=5)
    assert sizes.max() - sizes.min() < 0.15 * sizes.mean()


def test_items_of_a_fold_are_not_the_same_for_all_models(keys):
    full = np.ones((40, 33), np.int8)
    labels = fold_labels([response_block(full)], *keys, 5)
    share = (labels == 0).mean(axis=0)
    assert share.max() < 0.5
    assert np.abs(np.corrcoef(labels[:, 0], labels[:, 1])[0, 1]) < 0.5


def test_neither_order_nor_chunks_matter(responses, keys):
    models, items = keys
    whole = fold_labels([response_block(responses)], *keys, 5)
    split = [response_block(part) for part in np.split(responses, [10, 25], axis=1)]
    np.testing.assert_array_equal(fold_labels(split, *keys, 5), whole)
    rows, columns = np.random.default_rng(3).permutation(40), np.arange(33)[::-1]
    mixed = responses[rows][:, columns]
    labels = fold_labels([response_block(mixed)], models[rows], items[columns], 5)
    np.testing.assert_array_equal(labels, whole[rows][:, columns])


@pytest.mark.parametrize("kind", ["cells", "trials"])
def test_training_and_held_out_parts_add_up(responses, keys, kind):
    trials = np.where(responses >= 0, 3, 0) if kind == "trials" else None
    block = response_block(responses.astype(np.int16) if kind == "trials" else responses, trials)
    labels = fold_labels([block], *keys, 4)
    columns = slice(5, 20)
    part = type(block)(block.responses[:, columns], block.weight[:, columns])
    for fold in range(4):
        kept = part_of_block(part, labels, columns, fold, held_out=False)
        held = part_of_block(part, labels, columns, fold, held_out=True)
        if kind == "trials":
            np.testing.assert_array_equal(kept.weight + held.weight, part.weight)
            np.testing.assert_array_equal(kept.responses + held.responses, part.responses)
        else:
            np.testing.assert_array_equal(
                np.maximum(kept.responses, held.responses), part.responses
            )
        inside = labels[:, columns] == fold
        seen = held.weight > 0 if kind == "trials" else held.responses >= 0
        np.testing.assert_array_equal(seen, inside)
