"""What traits training models had, and how far others are beyond."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
import numpy.typing as npt

from mtlirt.distill.answers import Answers
from mtlirt.distill.reconstruction.features import known_traits
from mtlirt.distill.reconstruction.spread import learn_squares, mean_squares
from mtlirt.distill.reconstruction.stored import Stored

Float = npt.NDArray[np.float64]
Flags = npt.NDArray[np.bool_]


@dataclass(frozen=True)
class TraitRange(Stored):
    """Traits that training models had, and how certain they were.

    Attributes
    ----------
    least, greatest
        Posterior means, shape (benchmarks,).
    knots, coefficients
        The usual posterior variance as a function of the mean, one curve a benchmark.
    doubt
        The greatest ratio of a posterior variance to the usual one, shape (benchmarks,).
    slope
        What a unit of its trait adds to a benchmark's predicted score, shape (benchmarks,).
    """

    least: Float
    greatest: Float
    knots: Float
    coefficients: Float
    doubt: Float
    slope: Float

    @classmethod
    def of(cls, answers: Answers, predictions: Float, known: Flags) -> TraitRange:
        """Of the models that have a score in each benchmark, shape (models, benchmarks)."""
        mean, sd = known_traits(answers)
        columns = [np.flatnonzero(rows) for rows in known.T]
        curves = [learn_squares(mean[rows, t], sd[rows, t] ** 2) for t, rows in enumerate(columns)]
        knots, coefficients = (np.stack(part, axis=1) for part in zip(*curves, strict=True))
        ratio = sd**2 / mean_squares(mean, knots, coefficients)
        return cls(
            np.array([mean[rows, t].min() for t, rows in enumerate(columns)]),
            np.array([mean[rows, t].max() for t, rows in enumerate(columns)]),
            knots,
            coefficients,
            np.array([ratio[rows, t].max() for t, rows in enumerate(columns)]),
            np.array([_slope(mean[r, t], predictions[r, t]) for t, r in enumerate(columns)]),
        )

    def distance(self, answers: Answers) -> Float:
        """How far traits are beyond, in units of the score, shape (models, benchmarks)."""
        mean, _ = known_traits(answers)
        beyond = np.maximum(np.maximum(self.least - mean, mean - self.greatest), 0.0)
        return np.asarray(beyond * np.abs(self.slope))

    def uncertainty(self, answers: Answers) -> Float:
        """Ratios of posterior variances to the usual ones, shape (models, benchmarks)."""
        mean, sd = known_traits(answers)
        return np.asarray(sd**2 / mean_squares(mean, self.knots, self.coefficients))

    def beyond(self, answers: Answers) -> Flags:
        """Which traits are, or are less certain than any was, shape (models, benchmarks)."""
        mean, _ = known_traits(answers)
        doubtful = self.uncertainty(answers) > self.doubt
        return np.asarray((mean < self.least) | (mean > self.greatest) | doubtful)


def _slope(traits: Float, predictions: Float) -> float:
    """Of the least squares line."""
    centred = traits - traits.mean()
    size = float(centred @ centred)
    return float(centred @ predictions) / size if size > 0 else 0.0
