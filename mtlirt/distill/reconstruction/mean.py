"""The method to beat: the mean of the answers."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
import numpy.typing as npt

from mtlirt.distill.answers import Answers
from mtlirt.distill.reconstruction.benchmarks import Benchmarks
from mtlirt.distill.reconstruction.known import per_benchmark, with_grand_mean
from mtlirt.distill.reconstruction.reconstruction import Reconstruction

Float = npt.NDArray[np.float64]


@dataclass(frozen=True)
class MeanReconstruction(Reconstruction):
    """The mean of a model's answers; nan where it answered none, and then for the grand mean."""

    def unclipped(self, answers: Answers) -> Float:
        """The means."""
        there = ~np.isnan(answers.responses)
        right = per_benchmark(
            np.where(there, answers.responses, 0.0), self.domain, len(self.totals)
        )
        answered = per_benchmark(there.astype(np.float64), self.domain, len(self.totals))
        return with_grand_mean(right / np.where(answered > 0, answered, np.nan))


@dataclass(frozen=True)
class Mean:
    """The mean of a model's answers; there is nothing to learn."""

    def train(self, answers: Answers, scores: Float, benchmarks: Benchmarks) -> MeanReconstruction:
        """Keep which items are whose."""
        benchmarks.check(answers, scores)
        return MeanReconstruction(benchmarks.totals, answers.domain)
