"""Methods that are linear in splines of the traits or in the responses."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
import numpy.typing as npt

from mtlirt.distill.answers import Answers
from mtlirt.distill.reconstruction.benchmarks import Benchmarks
from mtlirt.distill.reconstruction.features import Features
from mtlirt.distill.reconstruction.reconstruction import Reconstruction
from mtlirt.distill.reconstruction.ridge import block_ridge

Float = npt.NDArray[np.float64]

KNOTS = 8
"""Of each trait's splines unless told otherwise."""

ALONE = np.ones((1, 1))
"""The one mix of one block."""


@dataclass(frozen=True)
class LinearReconstruction(Reconstruction):
    """A sum of weighted features.

    Attributes
    ----------
    knots, means
        Of the features.
    constant
        Shape (targets,).
    coefficients
        Of the traits' splines and then of the responses, shape (features, targets).
    """

    knots: Float
    means: Float
    constant: Float
    coefficients: Float

    def unclipped(self, answers: Answers) -> Float:
        """The sums."""
        features = Features(self.knots, self.means)
        columns = np.concatenate([features.splines(answers), features.responses(answers)], axis=1)
        return np.asarray(self.constant + columns @ self.coefficients)


@dataclass(frozen=True)
class Ridge:
    """Ridge regression on the responses, its penalty by leave-one-out error."""

    def train(
        self, answers: Answers, scores: Float, benchmarks: Benchmarks
    ) -> LinearReconstruction:
        """Learn one ridge a target."""
        benchmarks.check(answers, scores)
        features = Features.of(answers, KNOTS)
        constant, weights = ridge_by_target([features.responses(answers)], scores, ALONE)
        splines = np.zeros((features.knots.shape[1] * features.spline_count, len(constant)))
        return linear(benchmarks, features, constant, np.concatenate([splines, weights]))


@dataclass(frozen=True)
class Gam:
    """A generalised additive model on the traits, as in metabench (arXiv 2407.12844).

    Penalised cubic splines of the traits, with the penalty by leave-one-out error.

    Attributes
    ----------
    own_trait
        Whether a benchmark's score is learnt from its own trait alone. The grand mean is then
        predicted as the mean of the predictions.
    knots
        Of each trait's splines.
    """

    own_trait: bool = False
    knots: int = KNOTS

    def train(
        self, answers: Answers, scores: Float, benchmarks: Benchmarks
    ) -> LinearReconstruction:
        """Learn one model a target."""
        benchmarks.check(answers, scores)
        features = Features.of(answers, self.knots)
        splines = features.splines(answers)
        if self.own_trait:
            constant, weights = _by_own_trait(splines, scores[:, :-1], features.spline_count)
        else:
            constant, weights = ridge_by_target([splines], scores, ALONE)
        unused = np.zeros((len(features.means), len(constant)))
        return linear(benchmarks, features, constant, np.concatenate([weights, unused]))


def linear(
    benchmarks: Benchmarks, features: Features, constant: Float, coefficients: Float
) -> LinearReconstruction:
    """The reconstruction with these weights of all features."""
    domain = benchmarks.domain[benchmarks.chosen]
    return LinearReconstruction(
        benchmarks.totals, domain, features.knots, features.means, constant, coefficients
    )


def ridge_by_target(blocks: Sequence[Float], targets: Float, mixes: Float) -> tuple[Float, Float]:
    """Constants and coefficients of each target's best ridge, from the models that have it.

    Targets that the same models have are fitted at once.
    """
    known = ~np.isnan(targets)
    patterns, owner = np.unique(known, axis=1, return_inverse=True)
    constant = np.empty(targets.shape[1])
    coefficients = np.empty((sum(block.shape[1] for block in blocks), targets.shape[1]))
    for pattern, rows in enumerate(patterns.T):
        own = np.flatnonzero(owner == pattern)
        fit = block_ridge([block[rows] for block in blocks], targets[np.ix_(rows, own)], mixes)
        constant[own], coefficients[:, own] = fit.constant, fit.coefficients
    return constant, coefficients


def _by_own_trait(splines: Float, scores: Float, each: int) -> tuple[Float, Float]:
    """Constants and coefficients of splines of each benchmark's own trait, and their means."""
    benchmarks = scores.shape[1]
    constant, weights = np.empty(benchmarks), np.zeros((splines.shape[1], benchmarks))
    for t in range(benchmarks):
        own = slice(t * each, (t + 1) * each)
        found = ridge_by_target([splines[:, own]], scores[:, t, None], ALONE)
        constant[t], weights[own, t] = found[0][0], found[1][:, 0]
    mean = weights.mean(axis=1, keepdims=True)
    return np.append(constant, constant.mean()), np.concatenate([weights, mean], axis=1)
