"""Methods that trust the item response model."""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import Self

import numpy as np
import numpy.typing as npt

from mtlirt.distill.answers import Answers
from mtlirt.distill.reconstruction.benchmarks import Benchmarks
from mtlirt.distill.reconstruction.expected import Curves
from mtlirt.distill.reconstruction.known import per_benchmark, with_grand_mean
from mtlirt.distill.reconstruction.reconstruction import Reconstruction
from mtlirt.errors import InputError
from mtlirt.irt.curves import Items

Float = npt.NDArray[np.float64]


@dataclass(frozen=True)
class ImpliedReconstruction(Reconstruction):
    """The mean over all items of P(right), over the posterior of the trait.

    Attributes
    ----------
    slope, intercept, guessing
        Of the chosen items.
    rest
        Summed curves of the other items of each benchmark, shape (points, benchmarks).
    """

    slope: Float
    intercept: Float
    guessing: Float
    rest: Float

    @classmethod
    def of(cls, benchmarks: Benchmarks, **others: Float) -> Self:
        """Tabulate the curves."""
        curves = Curves.of(benchmarks)
        domain = benchmarks.domain[benchmarks.chosen]
        named = curves.chosen._asdict()
        return cls(totals=benchmarks.totals, domain=domain, rest=curves.rest, **named, **others)

    @property
    def curves(self) -> Curves:
        """The expected answers."""
        return Curves(Items(self.slope, self.intercept, self.guessing), self.rest)

    def per_benchmark(self, values: Float) -> Float:
        """Sums over chosen items, shape (models, benchmarks)."""
        return per_benchmark(values, self.domain, len(self.totals))

    def unclipped(self, answers: Answers) -> Float:
        """Means of what is expected."""
        expected = self.curves.expect(answers)
        return with_grand_mean((self.per_benchmark(expected.chosen) + expected.rest) / self.totals)


@dataclass(frozen=True)
class PirtReconstruction(ImpliedReconstruction):
    """Answers where there are any, and what is expected of all other items."""

    def unclipped(self, answers: Answers) -> Float:
        """Means of what is known or else expected."""
        expected, responses = self.curves.expect(answers), answers.responses
        filled = np.where(np.isnan(responses), expected.chosen, responses)
        return with_grand_mean((self.per_benchmark(filled) + expected.rest) / self.totals)


@dataclass(frozen=True)
class GpirtReconstruction(PirtReconstruction):
    """Between a weighted mean of the answers and p-IRT.

    Attributes
    ----------
    anchors
        Weights of the chosen items, shape (chosen items,).
    share
        Of the weighted mean, shape (benchmarks,).
    """

    anchors: Float
    share: Float

    def unclipped(self, answers: Answers) -> Float:
        """Mix both; where nothing of weight is answered, p-IRT alone."""
        pirt = super().unclipped(answers)[:, :-1]
        return with_grand_mean(pirt + self.share * self.departure(answers, pirt))

    def departure(self, answers: Answers, pirt: Float) -> Float:
        """How far the weighted means are from p-IRT, shape (models, benchmarks)."""
        weights = np.where(np.isnan(answers.responses), 0.0, self.anchors)
        total = self.per_benchmark(weights)
        right = self.per_benchmark(weights * np.nan_to_num(answers.responses))
        return np.where(total > 0, right / np.where(total > 0, total, 1.0) - pirt, 0.0)


@dataclass(frozen=True)
class AipwReconstruction(ImpliedReconstruction):
    """The expected mean over all items and the mean residual of the chosen ones."""

    def unclipped(self, answers: Answers) -> Float:
        """Add both; where nothing is answered, the expected mean alone."""
        expected = self.curves.expect(answers)
        there = ~np.isnan(answers.responses)
        residuals = np.where(there, answers.responses - expected.chosen, 0.0)
        answered = np.maximum(self.per_benchmark(there.astype(np.float64)), 1.0)
        implied = (self.per_benchmark(expected.chosen) + expected.rest) / self.totals
        return with_grand_mean(implied + self.per_benchmark(residuals) / answered)


@dataclass(frozen=True)
class Implied:
    """The mean over all items of P(right), over the posterior of the trait."""

    def train(
        self, answers: Answers, scores: Float, benchmarks: Benchmarks
    ) -> ImpliedReconstruction:
        """Tabulate curves; the scores are not used."""
        benchmarks.check(answers, scores)
        return ImpliedReconstruction.of(benchmarks)


@dataclass(frozen=True)
class Pirt:
    """p-IRT of tinyBenchmarks (arXiv 2402.14992): known answers, expected ones for the rest."""

    def train(self, answers: Answers, scores: Float, benchmarks: Benchmarks) -> PirtReconstruction:
        """Tabulate curves; the scores are not used."""
        benchmarks.check(answers, scores)
        return PirtReconstruction.of(benchmarks)


@dataclass(frozen=True)
class Gpirt:
    """gp-IRT of tinyBenchmarks (arXiv 2402.14992): a weighted mean of the answers, and p-IRT.

    Attributes
    ----------
    anchors
        Weights of the chosen items, not negative; None is equal weights.
    """

    anchors: tuple[float, ...] | None = None

    def train(self, answers: Answers, scores: Float, benchmarks: Benchmarks) -> GpirtReconstruction:
        """Learn each benchmark's share of the weighted mean, in [0, 1], by least squares."""
        benchmarks.check(answers, scores)
        count = len(benchmarks.chosen)
        anchors = np.ones(count) if self.anchors is None else np.array(self.anchors, dtype=float)
        if anchors.shape != (count,) or not (anchors >= 0).all():
            raise InputError(f"anchors: expected {count} weights that are not negative")
        none = np.zeros(len(benchmarks.names))
        mixed = GpirtReconstruction.of(benchmarks, anchors=anchors, share=none)
        pirt = PirtReconstruction.unclipped(mixed, answers)[:, :-1]
        departure = np.where(np.isnan(scores[:, :-1]), 0.0, mixed.departure(answers, pirt))
        gain = (departure * np.nan_to_num(scores[:, :-1] - pirt)).sum(axis=0)
        size = (departure**2).sum(axis=0)
        share = np.divide(gain, size, out=np.zeros(len(size)), where=size > 0)
        return replace(mixed, share=np.clip(share, 0.0, 1.0))


@dataclass(frozen=True)
class Aipw:
    """The expected mean, made right by the mean residual of the answers.

    For items chosen at random, with any model of them; other choices bias it.
    """

    def train(self, answers: Answers, scores: Float, benchmarks: Benchmarks) -> AipwReconstruction:
        """Tabulate curves; the scores are not used."""
        benchmarks.check(answers, scores)
        return AipwReconstruction.of(benchmarks)
