"""Place responses in the grid."""

from __future__ import annotations

from collections.abc import Callable

import numpy as np

from mtlirt.ingest.cells import CellRule, Grid, Ints, Observed
from mtlirt.ingest.collisions import resolve_collisions
from mtlirt.responses.matrix import MISSING


def place_cells(
    batches: list[Observed],
    model_ranks: Ints,
    item_ranks: Ints,
    rule: CellRule,
    name_cell: Callable[[int, int], str],
) -> Grid:
    """Place responses in the grid.

    Parameters
    ----------
    batches
        In the order of the sources.
    model_ranks, item_ranks
        The row of each model code, the column of each item code.
    rule
        What becomes of several responses in one cell.
    name_cell
        Names the model and item of a row and column, for errors.
    """
    shape = len(model_ranks), len(item_ranks)
    with_trials = any(batch.trials is not None for batch in batches)
    small = not with_trials and all(batch.correct.dtype == np.int8 for batch in batches)
    correct = np.full(shape, MISSING, np.int8) if small else np.full(shape, np.nan, np.float32)
    trials = np.zeros(shape, np.int16) if with_trials else None
    for batch in batches:
        cell = _cells_of(batch, model_ranks, item_ranks)
        correct.ravel()[cell] = batch.correct
        if trials is not None:
            trials.ravel()[cell] = 1 if batch.trials is None else batch.trials
    filled = np.count_nonzero(correct >= 0)
    if filled == sum(len(batch.models) for batch in batches):
        return Grid(correct, trials)
    cells = np.concatenate([_cells_of(batch, model_ranks, item_ranks) for batch in batches])
    return resolve_collisions(Grid(correct, trials), cells, batches, rule, name_cell)


def _cells_of(batch: Observed, model_ranks: Ints, item_ranks: Ints) -> Ints:
    """The place of each response in the grid, row after row."""
    return model_ranks[batch.models] * len(item_ranks) + item_ranks[batch.items]
