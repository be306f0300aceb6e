"""What is known of the benchmarks whose scores are reconstructed."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
import numpy.typing as npt

from mtlirt.distill.answers import Answers
from mtlirt.errors import InputError
from mtlirt.irt.curves import Items

Float = npt.NDArray[np.float64]

GRAND_MEAN = "grand_mean"
"""The last target: the mean of the benchmarks' scores."""


@dataclass(frozen=True)
class Benchmarks:
    """All items of some benchmarks, and which of them were chosen.

    Attributes
    ----------
    names
        Of the benchmarks, in the order of the traits.
    items
        Parameters of all items, on the scale of the traits.
    domain
        The number of each item's benchmark, shape (items,).
    chosen
        Positions among all items of the chosen ones, in the order of the responses, shape
        (chosen items,).
    """

    names: tuple[str, ...]
    items: Items
    domain: npt.NDArray[np.intp]
    chosen: npt.NDArray[np.intp]

    @property
    def targets(self) -> tuple[str, ...]:
        """What is predicted: the benchmarks' scores and then their mean."""
        return (*self.names, GRAND_MEAN)

    @property
    def totals(self) -> Float:
        """The number of items of each benchmark, shape (benchmarks,)."""
        return np.bincount(self.domain, minlength=len(self.names)).astype(np.float64)

    def check(self, answers: Answers, scores: Float) -> None:
        """Raise InputError unless these answers and full scores are about these benchmarks."""
        shape = len(answers.responses), len(self.targets)
        if scores.shape != shape:
            raise InputError(f"scores have the shape {scores.shape}: expected {shape}")
        if not np.array_equal(self.domain[self.chosen], answers.domain):
            raise InputError("the answers are not to the chosen items of these benchmarks")
        for name, column in zip(self.targets, scores.T, strict=True):
            if np.count_nonzero(~np.isnan(column)) < 2:
                raise InputError(f"target {name!r}: fewer than 2 models have a full score")
