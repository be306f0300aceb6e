"""Place responses in a grid of models x items, and decide what happens where two meet."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import Literal

import numpy as np
import numpy.typing as npt

from mtlirt.errors import InputError
from mtlirt.ingest.reader import Rows
from mtlirt.ingest.values import MOST_TRIALS, Floats
from mtlirt.responses.matrix import MISSING

Ints = npt.NDArray[np.int64]

_DUPLICATES = ("error", "first", "attempts")
_CONFLICTS = ("error", "first", "last", "attempts")


@dataclass(frozen=True)
class CellRule:
    """What becomes of several responses of one model to one item.

    Attributes
    ----------
    duplicates
        When all are equal: an error, one response, or as many attempts.
    conflicts
        When they differ: an error, the first in the order of the sources, the last, or as many
        attempts.
    """

    duplicates: Literal["error", "first", "attempts"] = "error"
    conflicts: Literal["error", "first", "last", "attempts"] = "error"

    def __post_init__(self) -> None:
        if self.duplicates not in _DUPLICATES:
            raise InputError(f"duplicates is {self.duplicates!r}, expected {_one_of(_DUPLICATES)}")
        if self.conflicts not in _CONFLICTS:
            raise InputError(f"conflicts is {self.conflicts!r}, expected {_one_of(_CONFLICTS)}")


@dataclass(frozen=True)
class Observed:
    """The responses of one batch that are not missing.

    Attributes
    ----------
    rows
        Where the records of the batch stand.
    kept
        Positions in the batch; None where nothing was missing.
    models, items
        Codes of the model and the item of each response.
    correct
        int8, or float64 where there are fractions or trials.
    trials
        Attempts behind each response; None where each is one.
    raw
        Values before a threshold cut them; None without one.
    """

    rows: Rows
    kept: npt.NDArray[np.int32] | None
    models: npt.NDArray[np.int32]
    items: npt.NDArray[np.int32]
    correct: npt.NDArray[np.int8] | Floats
    trials: npt.NDArray[np.int16] | None
    raw: Floats | None

    def place(self, position: int) -> str:
        """Name the place of one response."""
        return self.rows.place(position if self.kept is None else int(self.kept[position]))


@dataclass(frozen=True)
class Grid:
    """Responses of all models to all items.

    Attributes
    ----------
    correct
        int8 with -1 missing; or float32 with NaN missing, where there are fractions or trials.
    trials
        int16 attempts, 0 where missing; None where each response is one.
    duplicates, conflicts
        Responses that gave way to, or merged with, an equal or a differing one.
    """

    correct: npt.NDArray[np.int8] | npt.NDArray[np.float32]
    trials: npt.NDArray[np.int16] | None
    duplicates: int = 0
    conflicts: int = 0


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
    cells = [model_ranks[batch.models] * shape[1] + item_ranks[batch.items] for batch in batches]
    with_trials = any(batch.trials is not None for batch in batches)
    small = not with_trials and all(batch.correct.dtype == np.int8 for batch in batches)
    correct = np.full(shape, MISSING, np.int8) if small else np.full(shape, np.nan, np.float32)
    trials = np.zeros(shape, np.int16) if with_trials else None
    for batch, cell in zip(batches, cells, strict=True):
        correct.ravel()[cell] = batch.correct
        if trials is not None:
            trials.ravel()[cell] = 1 if batch.trials is None else batch.trials
    filled = np.count_nonzero(correct >= 0)
    if filled == sum(map(len, cells)):
        return Grid(correct, trials)
    return _resolve(Grid(correct, trials), np.concatenate(cells), batches, rule, name_cell)


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


def _resolve(
    grid: Grid,
    cells: Ints,
    batches: list[Observed],
    rule: CellRule,
    name_cell: Callable[[int, int], str],
) -> Grid:
    """Apply the rule to every cell that more than one response fell into."""
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
    choices = _one_of((_DUPLICATES if noun == "duplicates" else _CONFLICTS)[1:])
    return InputError(
        f"{places[0]} and {places[1]}: {cell}: {said}; {int(these.sum())} cells have such "
        f"{noun}: choose {noun} {choices} (--{noun})"
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


def _one_of(words: tuple[str, ...]) -> str:
    return f"{', '.join(words[:-1])} or {words[-1]}"
