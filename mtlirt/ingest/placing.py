"""Place responses in the grid."""

from __future__ import annotations

from collections.abc import Callable

import numpy as np
import numpy.typing as npt

from mtlirt.ingest.cells import CellRule, Grid, Observed, Ranks
from mtlirt.ingest.collisions import resolve_collisions
from mtlirt.responses.matrix import MISSING


def place_cells(
    batches: list[Observed],
    ranks: Ranks,
    rule: CellRule,
    name_cell: Callable[[int, int], str],
) -> Grid:
    """Place responses in the grid.

    Parameters
    ----------
    batches
        In the order of the sources.
    ranks
        Where models and items are.
    rule
        What becomes of several responses in one cell.
    name_cell
        Names the model and item of a row and column, for errors.
    """
    with_trials = any(batch.trials is not None for batch in batches)
    small = not with_trials and all(batch.correct.dtype == np.int8 for batch in batches)
    empty, dtype = (MISSING, np.int8) if small else (np.nan, np.float32)
    correct = np.full(ranks.shape, empty, dtype)
    trials = np.zeros(ranks.shape, np.int16) if with_trials else None
    for batch in batches:
        cells = ranks.cells(batch)
        correct.ravel()[cells] = batch.correct
        if trials is not None:
            trials.ravel()[cells] = 1 if batch.trials is None else batch.trials
    filled = np.count_nonzero(correct >= 0)
    if filled == sum(len(batch.models) for batch in batches):
        return Grid(correct, trials)
    return resolve_collisions(Grid(correct, trials), batches, ranks, rule, name_cell)


def touched_cells(batches: list[Observed], ranks: Ranks) -> npt.NDArray[np.bool_]:
    """Which cells of the grid responses fall into."""
    touched = np.zeros(ranks.shape, bool)
    for batch in batches:
        touched.ravel()[ranks.cells(batch)] = True
    return touched
