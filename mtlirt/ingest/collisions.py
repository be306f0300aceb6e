"""Several responses in one cell of the grid."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass

import numpy as np
import numpy.typing as npt

from mtlirt.errors import InputError
from mtlirt.ingest.cells import CONFLICTS, DUPLICATES, CellRule, Grid, Ints, Observed, one_of
from mtlirt.ingest.values import MOST_TRIALS, Floats


@dataclass(frozen=True)
class _Groups:
    """Responses that share a cell with another, one group a cell.

    Attributes
    ----------
    members
        Positions of the responses in the order of the sources, group after group.
    starts, sizes
        Where each group begins among the members, and how many it has.
    correct, trials
        The members' values.
    """

    members: Ints
    starts: Ints
    sizes: Ints
    correct: Floats
    trials: Ints

    @property
    def equal(self) -> npt.NDArray[np.bool_]:
        """Which groups hold one value only."""
        same = [
            np.minimum.reduceat(column, self.starts) == np.maximum.reduceat(column, self.starts)
            for column in (self.correct, self.trials)
        ]
        both: npt.NDArray[np.bool_] = same[0] & same[1]
        return both


def resolve_collisions(
    grid: Grid,
    cells: Ints,
    batches: list[Observed],
    rule: CellRule,
    name_cell: Callable[[int, int], str],
) -> Grid:
    """Apply the rule to every cell that more than one response fell into.

    Parameters
    ----------
    grid
        With the last response in each cell; written to.
    cells
        The cell of each response of all batches.
    batches, rule, name_cell
        As for `mtlirt.ingest.placing.place_cells`.
    """
    groups = _find_groups(cells, batches)
    equal = groups.equal
    columns = grid.correct.shape[1]
    ends = groups.starts + groups.sizes - 1
    correct, trials = groups.correct[groups.starts], groups.trials[groups.starts]
    for choice, these, noun in (
        (rule.duplicates, equal, "duplicates"),
        (rule.conflicts, ~equal, "conflicts"),
    ):
        if not these.any():
            continue
        if choice == "error":
            raise _collision(groups, these, noun, cells, columns, batches, name_cell)
        if choice == "last":
            correct[these], trials[these] = groups.correct[ends][these], groups.trials[ends][these]
        if choice == "attempts":
            _check_attempts(groups, these, batches)
            correct[these] = np.add.reduceat(groups.correct, groups.starts)[these]
            trials[these] = np.add.reduceat(groups.trials, groups.starts)[these]
    where = cells[groups.members[groups.starts]]
    grid = _with_trials(grid) if "attempts" in (rule.duplicates, rule.conflicts) else grid
    grid.correct.ravel()[where] = correct
    if grid.trials is not None:
        grid.trials.ravel()[where] = trials
    extra = groups.sizes - 1
    return Grid(grid.correct, grid.trials, int(extra[equal].sum()), int(extra[~equal].sum()))


def _find_groups(cells: Ints, batches: list[Observed]) -> _Groups:
    order = np.argsort(cells, kind="stable")
    starts = np.flatnonzero(np.diff(cells[order], prepend=-1))
    sizes = np.diff(starts, append=len(cells))
    members = order[np.repeat(sizes > 1, sizes)]
    sizes = sizes[sizes > 1]
    correct = np.concatenate([batch.correct.astype(np.float64) for batch in batches])
    trials = np.concatenate(
        [
            np.ones(len(batch.models), np.int64) if batch.trials is None else batch.trials
            for batch in batches
        ]
    )
    return _Groups(
        members, np.cumsum(sizes) - sizes, sizes, correct[members], trials[members].astype(np.int64)
    )


def _with_trials(grid: Grid) -> Grid:
    """The same grid with a count of attempts."""
    if grid.trials is not None:
        return grid
    observed = grid.correct >= 0
    correct = np.where(observed, grid.correct, np.nan).astype(np.float32)
    return Grid(correct, observed.astype(np.int16))


def _collision(
    groups: _Groups,
    these: npt.NDArray[np.bool_],
    noun: str,
    cells: Ints,
    columns: int,
    batches: list[Observed],
    name_cell: Callable[[int, int], str],
) -> InputError:
    """The error that names the earliest two responses in one cell."""
    heads = np.where(these, groups.members[groups.starts], len(cells))
    start = int(groups.starts[heads.argmin()])
    second = start + 1
    if noun == "conflicts":
        values = np.column_stack([groups.correct, groups.trials])[start:]
        second = start + int((values != values[0]).any(axis=1).argmax())
    cell = name_cell(*divmod(int(cells[groups.members[start]]), columns))
    texts = [_value_text(groups, position) for position in (start, second)]
    said = f"both say {texts[0]}" if texts[0] == texts[1] else f"{texts[0]}, then {texts[1]}"
    places = [_place(batches, int(groups.members[position])) for position in (start, second)]
    choices = one_of((DUPLICATES if noun == "duplicates" else CONFLICTS)[1:])
    return InputError(
        f"{places[0]} and {places[1]}: {cell}: {said}; choose {noun} {choices} (--{noun}) for "
        f"this and {int(these.sum()) - 1} other cells"
    )


def _check_attempts(groups: _Groups, these: npt.NDArray[np.bool_], batches: list[Observed]) -> None:
    """Refuse to count fractions as attempts, or more attempts than fit."""
    member_of_these = np.repeat(these, groups.sizes)
    fractions = np.flatnonzero(member_of_these & (groups.correct != np.trunc(groups.correct)))
    if len(fractions):
        place = _place(batches, int(groups.members[fractions[0]]))
        raise InputError(f"{place}: a fraction cannot be one of several attempts")
    totals = np.add.reduceat(groups.trials, groups.starts)
    many = np.flatnonzero(these & (totals > MOST_TRIALS))
    if len(many):
        place = _place(batches, int(groups.members[groups.starts[many[0]]]))
        raise InputError(
            f"{place}: {totals[many[0]]} attempts at one cell, at most {MOST_TRIALS} are stored"
        )


def _value_text(groups: _Groups, position: int) -> str:
    trials = groups.trials[position]
    return f"correct {groups.correct[position]:g}" + (f" of {trials}" if trials != 1 else "")


def _place(batches: list[Observed], position: int) -> str:
    for batch in batches:
        if position < len(batch.models):
            return batch.place(position)
        position -= len(batch.models)
    raise IndexError(position)
