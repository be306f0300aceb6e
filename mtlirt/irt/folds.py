"""Deal the cells of blocks into folds, whatever the order and the chunks of models and items."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np
import numpy.typing as npt

from mtlirt.irt.blocks import ResponseBlock
from mtlirt.irt.kernels import compiled

Labels = npt.NDArray[np.int8]
Keys = npt.NDArray[np.uint64]


@compiled
def dealt(observed: npt.NDArray[np.bool_], models: Keys, items: Keys, folds: int) -> Labels:
    """The fold of each observed cell, -1 of others; each model's cells are dealt out evenly.

    A model's cells are ordered by a hash (SplitMix64's) of its key and theirs and dealt in turn,
    beginning with a fold of the model's own. Cost: a sort of each row.
    """
    labels = np.full(observed.shape, -1, np.int8)
    for i in range(observed.shape[0]):
        cells = np.flatnonzero(observed[i])
        keys = np.empty(len(cells), np.uint64)
        for k in range(len(cells)):
            z = models[i] * np.uint64(0x9E3779B97F4A7C15) + items[cells[k]]
            z = (z ^ (z >> np.uint64(30))) * np.uint64(0xBF58476D1CE4E5B9)
            z = (z ^ (z >> np.uint64(27))) * np.uint64(0x94D049BB133111EB)
            keys[k] = z ^ (z >> np.uint64(31))
        first = int(models[i] % np.uint64(folds))
        order = np.argsort(keys)
        for k in range(len(cells)):
            labels[i, cells[order[k]]] = (first + k) % folds
    return labels


def fold_labels(row: Sequence[ResponseBlock], models: Keys, items: Keys, folds: int) -> Labels:
    """The folds of the cells of one model chunk, over all its item chunks.

    Parameters
    ----------
    row
        The blocks of the model chunk.
    models, items
        Hashes of their ids.
    """
    observed = np.concatenate([answered_cells(block) for block in row], axis=1)
    return dealt(observed, models, items, folds)


def answered_cells(block: ResponseBlock) -> npt.NDArray[np.bool_]:
    """Which cells of a block are not missing."""
    if block.weight.size:
        return np.asarray(block.weight > 0)
    return np.asarray(np.greater_equal(block.responses, 0))


def part_of_block(
    block: ResponseBlock, labels: Labels, columns: slice, fold: int, held_out: bool
) -> ResponseBlock:
    """A block with the cells of a fold missing, or, held out, with all others missing.

    Parameters
    ----------
    labels, columns
        `fold_labels` of its model chunk, and its own items there.
    """
    missing = (labels[:, columns] != fold) if held_out else (labels[:, columns] == fold)
    if block.weight.size:
        present = ~missing
        return ResponseBlock(block.responses * present, block.weight * present)
    every_bit = -missing.view(np.int8)  # -1, missing, is all bits set
    return ResponseBlock(block.responses | every_bit, block.weight)
