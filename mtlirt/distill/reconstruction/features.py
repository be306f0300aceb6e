"""What linear methods learn from: splines of the traits, and the responses themselves."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
import numpy.typing as npt
from sklearn.preprocessing import SplineTransformer

from mtlirt.distill.answers import Answers

Float = npt.NDArray[np.float64]

DEGREE = 3
"""Of the splines."""

DIGITS = 6
"""Traits closer than this are one when knots are placed."""


@dataclass(frozen=True)
class Features:
    """How answers become numbers to sum.

    Attributes
    ----------
    knots
        Of each trait's splines, rising, shape (knots, traits).
    means
        What a missing response to each item counts as, shape (chosen items,).
    """

    knots: Float
    means: Float

    @classmethod
    def of(cls, answers: Answers, knots: int) -> Features:
        """Knots at quantiles of the traits of these models, and the means of their responses."""
        traits = known_traits(answers)[0]
        placed = [quantile_knots(traits[:, t], knots) for t in range(traits.shape[1])]
        return cls(np.stack(placed, axis=1), item_means(answers.responses))

    @property
    def spline_count(self) -> int:
        """The number of splines of each trait."""
        return len(self.knots) + DEGREE - 1

    def splines(self, answers: Answers) -> Float:
        """Values of the splines, shape (models, traits x splines); straight beyond the knots."""
        return spline_values(known_traits(answers)[0], self.knots)

    def responses(self, answers: Answers) -> Float:
        """Responses without gaps, shape (models, chosen items)."""
        return np.where(np.isnan(answers.responses), self.means, answers.responses)


def spline_values(values: Float, knots: Float) -> Float:
    """Cubic B-splines of each column, shape (rows, columns x splines); straight past the knots."""
    basis = SplineTransformer(degree=DEGREE, knots=knots, extrapolation="linear").fit(knots)
    return np.asarray(basis.transform(values))


def known_traits(answers: Answers) -> tuple[Float, Float]:
    """Means and sds of traits; where there are none, those of the population: 0 and 1."""
    unknown = np.isnan(answers.traits)
    return np.where(unknown, 0.0, answers.traits), np.where(unknown, 1.0, answers.trait_sd)


def item_means(responses: Float) -> Float:
    """Of each item's responses; one half where there are none."""
    there = ~np.isnan(responses)
    count = there.sum(axis=0)
    total = np.where(there, responses, 0.0).sum(axis=0)
    return np.where(count > 0, total / np.maximum(count, 1), 0.5)


def quantile_knots(values: Float, count: int) -> Float:
    """Quantiles of the distinct values; evenly spaced where these are too few."""
    distinct = np.unique(np.round(values, DIGITS))
    if len(distinct) < count:
        return np.linspace(distinct[0] - 0.5, distinct[-1] + 0.5, count)
    return np.quantile(distinct, np.linspace(0.0, 1.0, count))
