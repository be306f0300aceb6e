"""What every method of reconstruction can do."""

from __future__ import annotations

from abc import ABC, abstractmethod
from dataclasses import dataclass
from typing import Protocol

import numpy as np
import numpy.typing as npt

from mtlirt.distill.answers import Answers
from mtlirt.distill.reconstruction.benchmarks import Benchmarks
from mtlirt.distill.reconstruction.known import clipped
from mtlirt.distill.reconstruction.stored import Stored
from mtlirt.errors import InputError

Float = npt.NDArray[np.float64]


@dataclass(frozen=True)
class Reconstruction(Stored, ABC):
    """Predicts full scores.

    Attributes
    ----------
    totals
        The number of items of each benchmark, shape (benchmarks,).
    domain
        The number of each chosen item's benchmark, shape (chosen items,).
    """

    totals: Float
    domain: npt.NDArray[np.intp]

    def predict(self, answers: Answers) -> Float:
        """Scores in [0, 1] of the benchmarks and their mean, shape (models, benchmarks + 1).

        They are possible given the answers: with k right of m answered of J items, between k/J
        and (k + J - m)/J.

        Raises
        ------
        InputError
            If the answers are not to the items that this was trained with.
        """
        if not np.array_equal(answers.domain, self.domain):
            raise InputError(
                f"answers to {len(answers.domain)} items: expected the {len(self.domain)} that the "
                "reconstruction was trained with, in their order"
            )
        return clipped(self.unclipped(answers), answers, self.totals)

    @abstractmethod
    def unclipped(self, answers: Answers) -> Float:
        """Predictions that may be impossible, shape (models, benchmarks + 1)."""


class Method(Protocol):
    """The options of a way to reconstruct scores."""

    def train(self, answers: Answers, scores: Float, benchmarks: Benchmarks) -> Reconstruction:
        """Learn from models whose full scores are known.

        Parameters
        ----------
        answers
            Of the training models to the chosen items.
        scores
            Full scores in [0, 1] of the benchmarks and their mean, shape (models, benchmarks + 1);
            nan where a model lacks a full form. Each target is learnt from the models that have it.
        benchmarks
            All items, and which were chosen.

        Raises
        ------
        InputError
            If the three do not belong together, or fewer than 2 models have some target.
        """
        ...
