"""Cells of the model x item grid: what is observed, and the rule for several in one cell."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Literal

import numpy as np
import numpy.typing as npt

from mtlirt.errors import InputError
from mtlirt.ingest.reader import Rows
from mtlirt.ingest.values import Floats

Ints = npt.NDArray[np.int64]
SmallCodes = npt.NDArray[np.unsignedinteger]
"""Codes in as few bytes as hold them."""

DUPLICATES = ("error", "first", "attempts")
CONFLICTS = ("error", "first", "last", "attempts")


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
        if self.duplicates not in DUPLICATES:
            raise InputError(f"duplicates is {self.duplicates!r}, expected {one_of(DUPLICATES)}")
        if self.conflicts not in CONFLICTS:
            raise InputError(f"conflicts is {self.conflicts!r}, expected {one_of(CONFLICTS)}")


@dataclass(frozen=True)
class Observed:
    """The responses of one batch that are not missing: 5 bytes each, mostly.

    Attributes
    ----------
    rows
        Where the records of the batch stand.
    present
        Which records of the batch they are, a bit each (`numpy.packbits`); None for all.
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
    present: npt.NDArray[np.uint8] | None
    models: SmallCodes
    items: SmallCodes
    correct: npt.NDArray[np.int8] | Floats
    trials: npt.NDArray[np.int16] | None
    raw: Floats | None

    def place(self, position: int) -> str:
        """Name the place of one response."""
        if self.present is not None:
            position = int(np.flatnonzero(np.unpackbits(self.present))[position])
        return self.rows.place(position)


@dataclass(frozen=True)
class Ranks:
    """Where models and items are in the grid.

    Attributes
    ----------
    rows, columns
        The row of each model code, the column of each item code.
    """

    rows: Ints
    columns: Ints

    @property
    def shape(self) -> tuple[int, int]:
        """Rows and columns of the grid."""
        return len(self.rows), len(self.columns)

    def cells(self, batch: Observed) -> Ints:
        """The place of each response in the grid, row after row."""
        starts = self.rows * len(self.columns)
        return starts.take(batch.models) + self.columns.take(batch.items)


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


def one_of(words: tuple[str, ...]) -> str:
    """Words as a choice."""
    return f"{', '.join(words[:-1])} or {words[-1]}"
