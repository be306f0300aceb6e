"""Scores of an item's departures from its curve, and what they vary by, summed over models."""

from __future__ import annotations

from collections.abc import Iterator
from typing import NamedTuple

import numpy as np

from mtlirt.diagnostics.cells import attempts, successes
from mtlirt.diagnostics.posterior import PART_CELLS, Float, TraitPosterior
from mtlirt.irt.blocks import ResponseBlock
from mtlirt.irt.curves import Items, logit_information, probability

LEAST_ODDS = 1e-12
"""Odds against a response are no less: where the model is certain of it."""


class ItemScores(NamedTuple):
    """Sums over models, for some functions f_k of the trait; they add up over runs of models.

    Attributes
    ----------
    score
        Of adding f_k to the item's logit, shape (items, functions).
    information
        Its covariance if the model holds, shape (items, functions, functions).
    mass
        Sum over attempts of E f_k, shape (items, functions): their number, for the indicator of
        an interval of traits.
    """

    score: Float
    information: Float
    mass: Float

    def added(self, other: ItemScores) -> ItemScores:
        """The sums over both runs of models."""
        return ItemScores(*(one + two for one, two in zip(self, other, strict=True)))


def item_scores(
    block: ResponseBlock, items: Items, trait: TraitPosterior, functions: Float
) -> ItemScores:
    """Scores of some items, from the responses of some models.

    Parameters
    ----------
    block
        Models x items.
    trait
        The models' traits, given these responses among others.
    functions
        f_k at the points of the traits' grid, shape (functions, points).

    Notes
    -----
    A model's score is E[f_k(theta) (y - n P(theta)) P'/(P (1 - P))] over its posterior, the
    derivative of its marginal log-likelihood, so its mean is 0 (Louis, 1982; Haberman, Sinharay
    and Chon, 2013, for intervals of traits). Given the model's other responses one attempt has
    two values: c/p for a right answer and -c/(1 - p) for a wrong one, p the probability of a
    right one given those others. Its variance is hence c c'/(p (1 - p)), that is the square of
    the score times the odds p : 1 - p of the answer given; 1/p = E[1/P] over the posterior.
    Cells of several attempts or of fractions have the square of the score. Costs cells x points
    x 4 multiplications, x 7 with guessing.
    """
    parts = list(_parts(block, items, trait, functions))
    return ItemScores(*(np.concatenate(column) for column in zip(*parts, strict=True)))


def _parts(
    block: ResponseBlock, items: Items, trait: TraitPosterior, functions: Float
) -> Iterator[ItemScores]:
    models, count = block.responses.shape
    points, weights = trait.points[:, None], trait.weights
    spans = [_span(values) for values in functions]
    weighed = [
        weights[:, span] * values[span] for span, values in zip(spans, functions, strict=True)
    ]
    step = max(1, PART_CELLS // max(models, len(points)))
    for start in range(0, count, step):
        part = slice(start, start + step)
        some = items.columns(part)
        weight = block.weight[:, part] if block.weight.size else block.weight
        cells = ResponseBlock(block.responses[:, part], weight)
        right, tried = successes(cells), attempts(cells)
        p = probability(points, *some)
        if some.guessed:
            variance = np.maximum(p * (1.0 - p), LEAST_ODDS)
            gain = np.sqrt(logit_information(points[:, 0], some).weight / variance)
        else:
            gain = np.ones((1, 1))
        scores = np.empty((len(functions), *right.shape))
        for k, (span, weighted) in enumerate(zip(spans, weighed, strict=True)):
            expected = tried * (weighted @ (gain * p)[span])
            if some.guessed:
                scores[k] = right * (weighted @ gain[span]) - expected
            else:
                scores[k] = right * weighted.sum(axis=1)[:, None] - expected
        odds = answer_odds(cells, right, tried, p, weights)
        by_item = np.ascontiguousarray(scores.transpose(2, 0, 1))
        mass = tried.T @ np.stack([weighted.sum(axis=1) for weighted in weighed], axis=1)
        information = (by_item * odds.T[:, None, :]) @ by_item.transpose(0, 2, 1)
        yield ItemScores(by_item.sum(axis=2), information, mass)


def answer_odds(
    block: ResponseBlock, right: Float, tried: Float, p: Float, weights: Float
) -> Float:
    """The odds of each answer given the model's other ones; 1 where it is no single answer."""
    passed = weights @ (1.0 / np.maximum(p, LEAST_ODDS))
    failed = weights @ (1.0 / np.maximum(1.0 - p, LEAST_ODDS))
    odds = 1.0 / np.maximum(np.where(right > 0.0, passed, failed) - 1.0, LEAST_ODDS)
    if not block.weight.size:
        return np.asarray(odds)
    single = (tried == 1.0) & ((right == 0.0) | (right == 1.0))
    return np.where(single, odds, 1.0)


def _span(values: Float) -> slice:
    """Where a function of the trait is not 0."""
    some = np.flatnonzero(values)
    return slice(some[0], some[-1] + 1) if len(some) else slice(0, 0)
