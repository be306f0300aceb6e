"""The most accurate method: p-IRT, and what splines of traits and responses say of its errors."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
import numpy.typing as npt

from mtlirt.distill.answers import Answers
from mtlirt.distill.reconstruction.benchmarks import Benchmarks
from mtlirt.distill.reconstruction.features import Features
from mtlirt.distill.reconstruction.implied import PirtReconstruction
from mtlirt.distill.reconstruction.linear import KNOTS, LinearReconstruction, ridge_by_target

Float = npt.NDArray[np.float64]

MIXES = np.array([(1.0, 0.0), *((1.0, r) for r in (0.03, 0.1, 0.3, 1.0, 3.0)), (0.0, 1.0)])
"""Weights of splines and responses: splines alone, between, responses alone."""


@dataclass(frozen=True)
class SplineRidgeReconstruction(LinearReconstruction, PirtReconstruction):
    """p-IRT plus a sum of weighted features."""

    def unclipped(self, answers: Answers) -> Float:
        """Both."""
        correction = LinearReconstruction.unclipped(self, answers)
        return PirtReconstruction.unclipped(self, answers) + correction


@dataclass(frozen=True)
class SplineRidge:
    """Ridge of what p-IRT gets wrong on splines of the traits and on the responses.

    Each of the two has a penalty of its own, both by leave-one-out error. Without information, or
    where the item response model is right, it is p-IRT: known answers, expected ones for the rest.

    Attributes
    ----------
    knots
        Of each trait's splines.

    Notes
    -----
    4,500 models, six traits and 858 items take 4 s of a core for all targets that the same models
    have: an eigendecomposition for each of seven mixes.
    """

    knots: int = KNOTS

    def train(
        self, answers: Answers, scores: Float, benchmarks: Benchmarks
    ) -> SplineRidgeReconstruction:
        """Learn one correction a target."""
        benchmarks.check(answers, scores)
        start = PirtReconstruction.of(benchmarks)
        features = Features.of(answers, self.knots)
        blocks = [features.splines(answers), features.responses(answers)]
        wrong = scores - start.unclipped(answers)
        constant, coefficients = ridge_by_target(blocks, wrong, MIXES)
        return SplineRidgeReconstruction(
            **start.arrays(),
            knots=features.knots,
            means=features.means,
            constant=constant,
            coefficients=coefficients,
        )
