"""How far predicted scores may be off."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, replace
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
        found, beyond = _quantiles(self.standardised, level)
        return np.where(beyond, np.inf, found)


@dataclass(frozen=True)
class Stronger(Stored):
    """Residuals of the strongest training models, told by what was learnt from the others alone.

    Attributes
    ----------
    cut
        The predicted grand mean beyond which a model counts as stronger, shape (1,).
    standardised
        Absolute ones in units of the spread of the others', rising, then nan, shape (models,
        targets).
    """

    cut: Float
    standardised: Float

    @classmethod
    def none(cls, targets: int) -> Stronger:
        """No model counts as stronger."""
        return cls(np.full(1, np.inf), np.empty((0, targets)))

    def quantiles(self, predictions: Float, usual: Float, level: float) -> Float:
        """The usual quantiles, or larger ones of stronger models, shape (models, targets)."""
        if not len(self.standardised):
            return np.broadcast_to(usual, predictions.shape)
        found, _ = _quantiles(self.standardised, level)
        larger = np.fmax(usual, found)
        return np.where(self.among(predictions)[:, None], larger, usual)

    def among(self, predictions: Float) -> npt.NDArray[np.bool_]:
        """Which models count as stronger, shape (models,)."""
        return np.asarray(predictions[:, -1] > self.cut)


@dataclass(frozen=True)
class Intervals:
    """Prediction intervals from honest residuals.

    Attributes
    ----------
    residuals, traits
        What training models had.
    stronger
        What those beyond most of them will have.
    """

    residuals: Residuals
    traits: TraitRange
    stronger: Stronger

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
        residuals = Residuals.of(predictions, scores, traits.uncertainty(answers))
        return cls(residuals, traits, Stronger.none(scores.shape[1]))

    def for_stronger(
        self, cut: float, predictions: Float, scores: Float, answers: Answers
    ) -> Intervals:
        """Intervals that are as wide for stronger models as errors on such have been.

        Parameters
        ----------
        cut
            The predicted grand mean beyond which a model counts as stronger.
        predictions, scores, answers
            Of the strongest training models, by what was learnt from the others alone, which is
            what will happen to models that are stronger than all of them.
        """
        spread = self.residuals.spread(predictions, self.traits.uncertainty(answers))
        standardised = np.sort(np.abs(scores - predictions) / spread, axis=0)
        return replace(self, stronger=Stronger(np.array([cut]), standardised))

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
          twice as far;
        * for a model that counts as stronger, if errors on the strongest training models were
          larger, told by the others.

        The latter two are flagged, and so are those whose trait is less certain, for its place,
        than that of any training model. What traits add to the interval of the grand mean is the
        mean of what they add to those of the benchmarks; it is flagged if any trait is beyond.
        """
        if not 0.0 < level < 1.0:
            raise InputError(f"level {level}: expected a number between 0 and 1")
        known = self.residuals
        inside = np.clip(predictions, known.least, known.greatest)
        distance = _and_mean(self.traits.distance(answers))
        spread = known.spread(predictions, self.traits.uncertainty(answers))
        reach = self.stronger.quantiles(predictions, known.quantiles(level), level) * spread
        reach += np.maximum(distance, np.abs(predictions - inside))
        beyond = self.traits.beyond(answers)
        beyond = np.column_stack([beyond, beyond.any(axis=1)]) | ~(predictions == inside)
        beyond |= self.stronger.among(predictions)[:, None]
        lower = np.clip(predictions - reach, 0.0, 1.0)
        return PredictionIntervals(lower, np.clip(predictions + reach, 0.0, 1.0), beyond)

    def arrays(self) -> dict[str, npt.NDArray[Any]]:
        """All that is to be stored."""
        parts: dict[str, Stored] = {"trait": self.traits, "stronger": self.stronger}
        named = {
            f"{prefix}_{name}": values
            for prefix, part in parts.items()
            for name, values in part.arrays().items()
        }
        return self.residuals.arrays() | named

    @classmethod
    def from_arrays(cls, arrays: Mapping[str, npt.NDArray[Any]]) -> Self:
        """The intervals whose `arrays` these are."""
        return cls(
            Residuals.from_arrays(arrays),
            TraitRange.from_arrays(_named(arrays, "trait_")),
            Stronger.from_arrays(_named(arrays, "stronger_")),
        )


def _named(arrays: Mapping[str, npt.NDArray[Any]], prefix: str) -> dict[str, npt.NDArray[Any]]:
    """Those whose names begin so, without that."""
    return {
        name.removeprefix(prefix): values
        for name, values in arrays.items()
        if name.startswith(prefix)
    }


def _quantiles(standardised: Float, level: float) -> tuple[Float, npt.NDArray[np.bool_]]:
    """The ceil((n + 1) level)-th of n rising values in each column, nan of none; the last at most.

    Also whether that is beyond the last.
    """
    count = (~np.isnan(standardised)).sum(axis=0)
    place = np.ceil((count + 1) * level).astype(np.intp)
    last = np.maximum(np.minimum(place, count), 1) - 1
    return standardised[last, np.arange(len(count))], place > count


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
