"""What a distillation is asked for."""

from __future__ import annotations

from dataclasses import dataclass, field

from mtlirt.distill.reconstruction.methods import METHODS
from mtlirt.distill.screen import Screen
from mtlirt.distill.selection.select import METHODS as BY_CANDIDATES
from mtlirt.distill.split import SplitBy
from mtlirt.errors import InputError

BEST_RANDOM = "best-random"
"""The selection that judges many random ones by the responses of training models."""

SELECTIONS = (*BY_CANDIDATES, BEST_RANDOM)
"""Ways to choose items."""


@dataclass(frozen=True)
class DistillOptions:
    """How items are chosen, and how scores are told from them.

    Attributes
    ----------
    counts
        Numbers of items, over all benchmarks together, that are tried.
    selections
        Names of ways to choose them that are tried.
    rmse
        The smallest number is taken whose cross-validated error, the mean over benchmarks of the
        root mean square in points, is at most this; None: within one standard error of the best.
        At each number the selection of least error counts.
    reconstruction
        Name of the way to tell scores.
    share, split
        Of models that are kept for the test, and how, see `mtlirt.distill.split.held_back`.
    time_column, group_column
        Columns of the model table: when each came, for a split by time; and which belong together
        on one side of every split, such as copies of one model.
    folds
        Of cross-validation over training models.
    screen
        What bars an item from being chosen.
    keep_negative
        Negatively keyed items may be chosen: they tell as much, but a good benchmark has none.
    level
        Of prediction intervals.
    seed
        Of splits and of methods that draw.
    """

    counts: tuple[int, ...]
    rmse: float | None = None
    selections: tuple[str, ...] = ("greedy",)
    reconstruction: str = "spline-ridge"
    share: float = 0.1
    split: SplitBy = "score"
    time_column: str | None = None
    group_column: str | None = None
    folds: int = 5
    screen: Screen = field(default_factory=Screen)
    keep_negative: bool = False
    level: float = 0.95
    seed: int = 0

    def __post_init__(self) -> None:
        for what, name, known in (
            *(("selection", name, SELECTIONS) for name in self.selections),
            ("reconstruction", self.reconstruction, METHODS),
        ):
            if name not in known:
                raise InputError(f"{what} {name!r}: there is none; known are {', '.join(known)}")
        if not self.counts or min(self.counts) < 1 or len(set(self.counts)) < len(self.counts):
            raise InputError(f"items {self.counts}: expected different numbers from 1 up")
        if not self.selections or len(set(self.selections)) < len(self.selections):
            raise InputError(f"selection {', '.join(self.selections)}: name each once")
        if self.folds < 2:
            raise InputError(f"folds {self.folds}: expected 2 or more")
        if self.seed < 0:
            raise InputError(f"seed {self.seed}: expected 0 or more")
        if not 0.0 < self.level < 1.0:
            raise InputError(f"level {self.level}: expected a number between 0 and 1")
        if self.rmse is not None and not self.rmse > 0.0:
            raise InputError(f"rmse {self.rmse}: expected a number of points above 0")
