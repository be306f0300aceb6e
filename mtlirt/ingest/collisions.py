"""Several responses in one cell of the grid."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from dataclasses import dataclass

import numpy as np
import numpy.typing as npt

from mtlirt.errors import InputError
from mtlirt.ingest.cells import (
    CONFLICTS,
    DUPLICATES,
    CellRule,
    Grid,
    Ints,
    Observed,
    Ranks,
    one_of,
)
from mtlirt.ingest.values import MOST_TRIALS, Floats


@dataclass(frozen=True)
class _Groups:
    """Responses that share a cell with another, one group a cell.

    Attributes
    ----------
    members
        Positions of the responses in the order of the sources, group after group.
    cells
        The cell of each group.
    starts, sizes
        Where each group begins among the members, and how many it has.
    correct, trials
        The members' values.
    """

    members: Ints
    cells: Ints
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
    batches: list[Observed],
    ranks: Ranks,
    rule: CellRule,
    name_cell: Callable[[int, int], str],
) -> Grid:
    """Apply the rule to every cell that more than one response fell into.

    Parameters
    ----------
    grid
        With the last response in each cell; written to.
    batches, ranks, rule, name_cell
        As for `mtlirt.ingest.placing.place_cells`.

    Notes
    -----
    Needs 5 bytes a cell and some 100 a response that shares its cell.
    """
    groups = _find_groups(batches, ranks)
    equal = groups.equal
    ends = groups.starts + groups.sizes - 1
    correct, trials = groups.correct[groups.starts], groups.trials[groups.starts]
    for choice, these, noun in (
        (rule.duplicates, equal, "duplicates"),
        (rule.conflicts, ~equal, "conflicts"),
    ):
        if not these.any():
            continue
        if choice == "error":
            raise _collision(groups, these, noun, batches, ranks, name_cell)
        if choice == "last":
            correct[these], trials[these] = groups.correct[ends][these], groups.trials[ends][these]
        if choice == "attempts":
            _check_attempts(groups, these, batches)
            correct[these] = np.add.reduceat(groups.correct, groups.starts)[these]
            trials[these] = np.add.reduceat(groups.trials, groups.starts)[these]
    grid = _with_trials(grid) if "attempts" in (rule.duplicates, rule.conflicts) else grid
    grid.correct.ravel()[groups.cells] = correct
    if grid.trials is not None:
        grid.trials.ravel()[groups.cells] = trials
    extra = groups.sizes - 1
    return Grid(grid.correct, grid.trials, int(extra[equal].sum()), int(extra[~equal].sum()))


def _find_groups(batches: list[Observed], ranks: Ranks) -> _Groups:
    shared = _shared_cells(batches, ranks)
    parts = []
    for begin, batch in _numbered(batches):
        cells = ranks.cells(batch)
        these = np.flatnonzero(shared[cells])
        trials = np.ones(len(these)) if batch.trials is None else batch.trials[these]
        parts.append((begin + these, cells[these], batch.correct[these], trials))
    members, cells, correct, trials = (np.concatenate(part) for part in zip(*parts, strict=True))
    order = np.argsort(cells, kind="stable")
    starts = np.flatnonzero(np.diff(cells[order], prepend=-1))
    return _Groups(
        members[order],
        cells[order[starts]],
        starts,
        np.diff(starts, append=len(order)),
        correct[order].astype(np.float32).astype(np.float64),  # equal are those stored alike
        trials[order].astype(np.int64),
    )


def _shared_cells(batches: list[Observed], ranks: Ranks) -> npt.NDArray[np.bool_]:
    """Which cells more than one response fell into: those where not every one is the last."""
    rows, columns = ranks.shape
    responses = sum(len(batch.models) for batch in batches)
    last = np.zeros(rows * columns, np.min_scalar_type(responses))
    for begin, batch in _numbered(batches):
        last[ranks.cells(batch)] = np.arange(begin, begin + len(batch.models))
    shared = np.zeros(rows * columns, bool)
    for begin, batch in _numbered(batches):
        cells = ranks.cells(batch)
        shared[cells[last[cells] != np.arange(begin, begin + len(cells))]] = True
    return shared


def _numbered(batches: list[Observed]) -> Iterator[tuple[int, Observed]]:
    """Each batch with the position of its first response."""
    begin = 0
    for batch in batches:
        yield begin, batch
        begin += len(batch.models)


def _with_trials(grid: Grid) -> Grid:
    """The same grid with a count of attempts."""
    if grid.trials is not None:
        return grid
    observed = grid.correct >= 0
    correct = grid.correct.astype(np.float32)
    correct[~observed] = np.nan
    return Grid(correct, observed.astype(np.int16))


def _collision(
    groups: _Groups,
    these: npt.NDArray[np.bool_],
    noun: str,
    batches: list[Observed],
    ranks: Ranks,
    name_cell: Callable[[int, int], str],
) -> InputError:
    """The error that names the earliest two responses in one cell."""
    candidates = np.flatnonzero(these)
    group = candidates[groups.members[groups.starts[candidates]].argmin()]
    start = int(groups.starts[group])
    second = start + 1
    if noun == "conflicts":
        values = np.column_stack([groups.correct, groups.trials])[start:]
        second = start + int((values != values[0]).any(axis=1).argmax())
    cell = name_cell(*divmod(int(groups.cells[group]), ranks.shape[1]))
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
    for begin, batch in _numbered(batches):
        if position < begin + len(batch.models):
            return batch.place(position - begin)
    raise IndexError(position)
