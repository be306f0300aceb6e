"""Expected answers at uncertain traits, from tabulated curves."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
import numpy.typing as npt

from mtlirt.distill.answers import Answers
from mtlirt.distill.reconstruction.benchmarks import Benchmarks
from mtlirt.distill.reconstruction.features import known_traits
from mtlirt.distill.reconstruction.known import per_benchmark
from mtlirt.irt.curves import Items, probability
from mtlirt.irt.prediction import NODES, WEIGHTS

Float = npt.NDArray[np.float64]

POINTS = np.linspace(-10.0, 10.0, 801)
"""Traits at which curves are tabulated; straight between them, flat beyond. The error is at most
1e-5 of the mean squared slope."""

CHUNK = 256
"""Items whose curves are computed at once."""


@dataclass(frozen=True)
class Expectation:
    """Expected numbers of right answers of some models.

    Attributes
    ----------
    chosen
        Of each chosen item, shape (models, chosen items).
    rest
        Sums over the other items of each benchmark, shape (models, benchmarks).
    """

    chosen: Float
    rest: Float


@dataclass(frozen=True)
class Curves:
    """Curves of the items of some benchmarks, tabulated at `POINTS`.

    Attributes
    ----------
    chosen
        The parameters of the chosen items.
    rest
        Sums of P(right) over the other items of each benchmark, shape (points, benchmarks).
    """

    chosen: Items
    rest: Float

    @classmethod
    def of(cls, benchmarks: Benchmarks) -> Curves:
        """Tabulate; costs 801 exponentials an item."""
        items, chosen = benchmarks.items, benchmarks.chosen
        other = np.setdiff1d(np.arange(len(benchmarks.domain)), chosen)
        rest = np.zeros((len(POINTS), len(benchmarks.names)))
        for first in range(0, len(other), CHUNK):
            part = other[first : first + CHUNK]
            values = _curves(Items(*(column[part] for column in items)))
            rest += per_benchmark(values, benchmarks.domain[part], len(benchmarks.names))
        return cls(Items(*(column[chosen] for column in items)), rest)

    def expect(self, answers: Answers) -> Expectation:
        """Integrate over each model's posterior; 801 multiplications a model and chosen item."""
        curves = _curves(self.chosen)
        chosen = np.empty(answers.responses.shape)
        rest = np.empty(answers.traits.shape)
        means, sds = known_traits(answers)
        for t in range(means.shape[1]):
            weights = _point_weights(means[:, t], sds[:, t])
            own = answers.domain == t
            chosen[:, own] = weights @ curves[:, own]
            rest[:, t] = weights @ self.rest[:, t]
        return Expectation(chosen, rest)


def _curves(items: Items) -> Float:
    return probability(POINTS[:, None], items.slope, items.intercept, items.guessing)


def _point_weights(mean: Float, sd: Float) -> Float:
    """Weights of `POINTS` in expectations over normal traits, shape (models, points)."""
    theta = np.clip(mean[:, None] + sd[:, None] * NODES, POINTS[0], POINTS[-1])
    place = (theta - POINTS[0]) / (POINTS[1] - POINTS[0])
    left = np.minimum(place.astype(np.intp), len(POINTS) - 2)
    share = place - left
    cell = np.arange(len(mean))[:, None] * len(POINTS) + left
    weight = WEIGHTS / WEIGHTS.sum()
    size = len(mean) * len(POINTS)
    total = np.bincount(cell.ravel(), (weight * (1.0 - share)).ravel(), size)
    total += np.bincount(cell.ravel() + 1, (weight * share).ravel(), size)
    return np.asarray(total.reshape(len(mean), len(POINTS)), dtype=np.float64)
