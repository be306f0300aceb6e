"""What the answers alone say of full scores, whatever the method."""

from __future__ import annotations

import numpy as np
import numpy.typing as npt

from mtlirt.distill.answers import Answers

Float = npt.NDArray[np.float64]


def per_benchmark(values: Float, domain: npt.NDArray[np.intp], benchmarks: int) -> Float:
    """Sums over the chosen items of each benchmark, shape (models, benchmarks)."""
    return np.asarray(values @ (domain[:, None] == np.arange(benchmarks)))


def with_grand_mean(scores: Float) -> Float:
    """Scores of the benchmarks, and beside them their mean, shape (models, targets)."""
    return np.column_stack([scores, scores.mean(axis=1)])


def possible_scores(answers: Answers, totals: Float) -> tuple[Float, Float]:
    """The least and greatest full scores that agree with the answers, shape (models, targets).

    With k right of m answered of J items a score lies between k/J and (k + J - m)/J.
    """
    there = ~np.isnan(answers.responses)
    right = per_benchmark(np.where(there, answers.responses, 0.0), answers.domain, len(totals))
    answered = per_benchmark(there.astype(np.float64), answers.domain, len(totals))
    least, greatest = right / totals, (right + totals - answered) / totals
    return with_grand_mean(least), with_grand_mean(greatest)


def clipped(predictions: Float, answers: Answers, totals: Float) -> Float:
    """Predictions, shape (models, targets), moved to the nearest possible score."""
    return np.clip(predictions, *possible_scores(answers, totals))
