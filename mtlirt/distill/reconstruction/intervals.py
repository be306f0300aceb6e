"""How far predicted scores may be off."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any, NamedTuple, Self

import numpy as np
import numpy.typing as npt
from scipy.special import ndtri

from mtlirt.distill.answers import Answers
from mtlirt.distill.reconstruction.spread import learn_squares, mean_squares
from mtlirt.distill.reconstruction.stored import Stored
from mtlirt.distill.reconstruction.trait_range import TraitRange
from mtlirt.errors import InputError

Float = npt.NDArray[np.float64]

LEAST_MODELS = 5
"""Needed to learn how large residuals are."""


class PredictionIntervals(NamedTuple):
    """Ends of intervals, and which are beyond what training models tell; (models, targets)."""

    lower: Float
    upper: Float
    extrapolated: npt.NDArray[np.bool_]


@dataclass(frozen=True)
class Residuals(Stored):
    """Those of training models.

    Attributes
    ----------
    knots, coefficients
        Their variance as a function of the prediction, one curve a target.
    standardised
        Absolute ones in units of their spread, rising, then nan, shape (models, targets).
    size
        Root of their mean square, shape (targets,).
    least, greatest
        Predictions, shape (targets,).
    """

    knots: Float
    coefficients: Float
    standardised: Float
    size: Float
    least: Float
    greatest: Float

    @classmethod
    def of(cls, predictions: Float, scores: Float, uncertainty: Float) -> Residuals:
        """Learn their variance, given how uncertain the traits are, (models, benchmarks)."""
        residuals = np.abs(scores - predictions)
        known = [~np.isnan(column) for column in residuals.T]
        curves = [
            learn_squares(predictions[rows, k], residuals[rows, k] ** 2)
            for k, rows in enumerate(known)
        ]
        knots, coefficients = (np.stack(part, axis=1) for part in zip(*curves, strict=True))
        spread = np.sqrt(_variances(predictions, uncertainty, knots, coefficients))
        return cls(
            knots,
            coefficients,
            np.sort(residuals / spread, axis=0),
            np.sqrt(np.nanmean(residuals**2, axis=0)),
            np.array([predictions[rows, k].min() for k, rows in enumerate(known)]),
            np.array([predictions[rows, k].max() for k, rows in enumerate(known)]),
        )

    def spread(self, predictions: Float, uncertainty: Float) -> Float:
        """The standard deviations of residuals, shape (models, targets)."""
        variances = _variances(predictions, uncertainty, self.knots, self.coefficients)
        return np.asarray(np.sqrt(variances))

    def quantiles(self, level: float) -> Float:
        """The ceil((n + 1) level)-th of n standardised ones, infinite beyond the last."""
        count = (~np.isnan(self.standardised)).sum(axis=0)
        place = np.ceil((count + 1) * level).astype(np.intp)
        found = self.standardised[np.minimum(place, count) - 1, np.arange(len(count))]
        return np.where(place > count, np.inf, found)


@dataclass(frozen=True)
class Intervals:
    """Prediction intervals from honest residuals.

    Attributes
    ----------
    residuals, traits
        What training models had.
    """

    residuals: Residuals
    traits: TraitRange

    @classmethod
    def train(cls, predictions: Float, scores: Float, answers: Answers) -> Intervals:
        """Learn how far predictions are off.

        Parameters
        ----------
        predictions
            Of models that the reconstruction did not learn from: out of fold, shape (models,
            benchmarks + 1).
        scores
            Their full scores, nan where there is none.
        answers
            Theirs.

        Raises
        ------
        InputError
            If fewer than 5 models have some target.

        Notes
        -----
        The variance of residuals is a gamma regression of their squares on splines of the
        prediction. On simulated and real responses its coverage was more even along the scores
        than with c0 + c1 p (1 - p), and the residuals likelier; splines of the logarithms of
        squares did about as well.
        """
        known = ~np.isnan(predictions - scores)
        count = known.sum(axis=0)
        if count.min() < LEAST_MODELS:
            raise InputError(
                f"target {int(count.argmin())} has {count.min()} honest residuals: intervals need "
                f"at least {LEAST_MODELS}"
            )
        traits = TraitRange.of(answers, predictions[:, :-1], known[:, :-1])
        return cls(Residuals.of(predictions, scores, traits.uncertainty(answers)), traits)

    @property
    def minimum_difference(self) -> Float:
        """Differences of two models' predictions that are significant at 95 %, shape (targets,).

        1.96 sqrt(2) root mean squared residuals.
        """
        return np.asarray(float(ndtri(0.975)) * np.sqrt(2.0) * self.residuals.size)

    def around(
        self, predictions: Float, answers: Answers, level: float = 0.95
    ) -> PredictionIntervals:
        """Intervals that hold the full score with probability `level`, in [0, 1].

        Parameters
        ----------
        predictions
            By the reconstruction, shape (models, benchmarks + 1); nan has none.
        answers
            Of the same models.
        level
            Between 0 and 1. Where there are too few residuals for it, the interval is all of
            [0, 1].

        Raises
        ------
        InputError
            If the level is not between 0 and 1.

        Notes
        -----
        A conformal quantile of the residuals in units of their spread, times the spread at the
        prediction. It is wider

        * where a trait is less certain than usual at its place, as of a model that lacks answers:
          the variance of residuals grows as that of the trait;
        * where a prediction, or the trait behind it, is beyond those of training models: by how
          far, in units of the score, so that the score may have stayed where they end, or gone
          twice as far.

        The latter are flagged, and so are those whose trait is less certain, for its place, than
        that of any training model. What traits add to the interval of the grand mean is the mean of
        what they add to those of the benchmarks; it is flagged if any trait is beyond.
        """
        if not 0.0 < level < 1.0:
            raise InputError(f"level {level}: expected a number between 0 and 1")
        known = self.residuals
        inside = np.clip(predictions, known.least, known.greatest)
        distance = _and_mean(self.traits.distance(answers))
        spread = known.spread(predictions, self.traits.uncertainty(answers))
        reach = known.quantiles(level) * spread
        reach += np.maximum(distance, np.abs(predictions - inside))
        beyond = self.traits.beyond(answers)
        beyond = np.column_stack([beyond, beyond.any(axis=1)]) | ~(predictions == inside)
        lower = np.clip(predictions - reach, 0.0, 1.0)
        return PredictionIntervals(lower, np.clip(predictions + reach, 0.0, 1.0), beyond)

    def arrays(self) -> dict[str, npt.NDArray[Any]]:
        """All that is to be stored."""
        traits = {f"trait_{name}": values for name, values in self.traits.arrays().items()}
        return self.residuals.arrays() | traits

    @classmethod
    def from_arrays(cls, arrays: Mapping[str, npt.NDArray[Any]]) -> Self:
        """The intervals whose `arrays` these are."""
        traits = {
            name.removeprefix("trait_"): arrays[name]
            for name in arrays
            if name.startswith("trait_")
        }
        return cls(Residuals.from_arrays(arrays), TraitRange.from_arrays(traits))


def _variances(predictions: Float, uncertainty: Float, knots: Float, coefficients: Float) -> Float:
    """Variances of residuals, larger where traits are less certain than usual.

    What they add to the error of the grand mean is taken as shared by all benchmarks.
    """
    usual = mean_squares(predictions, knots, coefficients)
    added = usual[:, :-1] * np.maximum(uncertainty - 1.0, 0.0)
    shared = np.sqrt(added).mean(axis=1) ** 2
    return np.asarray(usual + np.column_stack([added, shared]))


def _and_mean(values: Float) -> Float:
    return np.column_stack([values, values.mean(axis=1)])
