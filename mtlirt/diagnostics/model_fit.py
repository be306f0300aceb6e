"""Fit of models: whether what a model passes and fails agrees with the items' difficulties."""

from __future__ import annotations

from typing import NamedTuple

import numpy as np
import numpy.typing as npt
from scipy.special import logit
from scipy.stats import binom

from mtlirt.diagnostics.cells import attempts, successes
from mtlirt.diagnostics.posterior import PART_CELLS, Float
from mtlirt.diagnostics.tails import lower_tail
from mtlirt.irt.blocks import ResponseBlock
from mtlirt.irt.curves import Items, logit_information, probability

NEAR_CERTAIN = 1e-12
"""Probabilities are kept so far from 0 and 1."""

NO_RELATION = 1.645
"""Answers that follow the items by no more standard errors may well be given without regard to
them."""


class ModelSums(NamedTuple):
    """Sums over a model's answers in a domain, shape (models,) each; they add up over items.

    With P the probability of a right answer, w = logit P, r = P'/(P (1 - P)) and, for n attempts,
    the moments v = n P (1 - P) and t = v (1 - 2 P):

    Attributes
    ----------
    answered, attempts, successes
        Cells, and what they hold.
    rest, yw, yr
        Sums of (y - n P), of (y - n P) w and of (y - n P) r.
    ww, wr, rr
        Sums of v w^2, v w r and v r^2.
    www, wwr, wrr, rrr
        Sums of t w^3, t w^2 r, t w r^2 and t r^3.
    w, w2, sw
        Sums of n w, n w^2 and y w.
    floor
        The sum of n c, right answers to expect from guessing.
    """

    answered: Float
    attempts: Float
    successes: Float
    rest: Float
    yw: Float
    yr: Float
    ww: Float
    wr: Float
    rr: Float
    www: Float
    wwr: Float
    wrr: Float
    rrr: Float
    w: Float
    w2: Float
    sw: Float
    floor: Float


def model_sums(block: ResponseBlock, items: Items, traits: Float) -> ModelSums:
    """The sums over some items, at given traits; one exponential a cell."""
    models, count = block.responses.shape
    total = np.zeros((len(ModelSums._fields), models))
    step = max(1, PART_CELLS // max(models, 1))
    for start in range(0, count, step):
        part = slice(start, start + step)
        some = items.columns(part)
        weight = block.weight[:, part] if block.weight.size else block.weight
        cells = ResponseBlock(block.responses[:, part], weight)
        y, n = successes(cells), attempts(cells)
        p = np.clip(probability(traits[:, None], *some), NEAR_CERTAIN, 1.0 - NEAR_CERTAIN)
        w, pq = logit(p), p * (1.0 - p)
        slope = some.slope * (
            np.sqrt(logit_information(traits, some).weight / pq) if some.guessed else 1.0
        )
        v = n * pq
        t, rest = v * (1.0 - 2.0 * p), y - n * p
        total += [
            (n > 0.0).sum(axis=1),
            *(values.sum(axis=1) for values in (n, y, rest, rest * w, rest * slope)),
            *((v * values).sum(axis=1) for values in (w**2, w * slope, slope**2 + 0.0 * w)),
            *(
                (t * values).sum(axis=1)
                for values in (w**3, w**2 * slope, w * slope**2, slope**3 + 0.0 * w)
            ),
            *(values.sum(axis=1) for values in (n * w, n * w**2, y * w)),
            n @ some.guessing,
        ]
    return ModelSums(*total)


class Weighed(NamedTuple):
    """The corrected log-likelihood statistic of some models, before it is standardised.

    Attributes
    ----------
    value, variance, third
        It and its central moments if the model holds, shape (models,).
    """

    value: Float
    variance: Float
    third: Float

    @property
    def standardised(self) -> Float:
        """lz*, shape (models,); null where the answers do not tell."""
        known = self.variance > 0.0
        return np.where(known, self.value / np.sqrt(np.where(known, self.variance, 1.0)), np.nan)

    @property
    def p(self) -> Float:
        """The probability of a smaller one."""
        return lower_tail(self.value, self.variance, self.third)


def corrected(sums: ModelSums) -> Weighed:
    """The log-likelihood of the answers, corrected for the trait's having been estimated.

    Notes
    -----
    Snijders (2001, Psychometrika 66): sum over answers of (y - n P)(w - c r), where c makes it
    uncorrelated with the score of the trait. What his r0 stands for, the score left by an
    estimate that is not the maximum of the likelihood, is computed from the answers.
    """
    known = sums.rr > 0.0
    c = np.where(known, sums.wr, 0.0) / np.where(known, sums.rr, 1.0)
    variance = sums.ww - c * sums.wr
    enough = variance > 1e-9 * np.maximum(sums.ww, 1e-9)
    third = sums.www - 3.0 * c * sums.wwr + 3.0 * c**2 * sums.wrr - c**3 * sums.rrr
    return Weighed(sums.yw - c * sums.yr, np.where(enough, variance, 0.0), third)


class Relation(NamedTuple):
    """How some models' answers follow the items, shape (models,) each; they add up over domains.

    Attributes
    ----------
    observed, expected
        Covariance of answers and logits, times answers: as seen, and as the items have it.
    variance
        Of the first for a model that answers without regard to the item, at its share of right
        answers.
    """

    observed: Float
    expected: Float
    variance: Float

    def added(self, other: Relation) -> Relation:
        """Over both domains."""
        return Relation(*(one + two for one, two in zip(self, other, strict=True)))

    @property
    def absent(self) -> npt.NDArray[np.bool_]:
        """Whose answers show no relation to the items where one is to be expected."""
        least = NO_RELATION * np.sqrt(self.variance)
        return np.asarray((self.observed < least) & (self.expected > least))


def relation(sums: ModelSums) -> Relation:
    """The relation of answers to items in one domain."""
    n = np.maximum(sums.attempts, 1.0)
    share = sums.successes / n
    observed = sums.sw - share * sums.w
    expected = observed - sums.yw + sums.rest / n * sums.w
    variance = np.maximum(share * (1.0 - share) * (sums.w2 - sums.w**2 / n), 0.0)
    known = variance > 0.0
    return Relation(np.where(known, observed, 0.0), np.where(known, expected, 0.0), variance)


def chance_tail(sums: ModelSums) -> Float:
    """The probability of no more right answers than a model's from guessing alone.

    Null where an item has no known floor: the sum of its floors is then 0. The binomial law is
    wider than that of items with different floors.
    """
    known = (sums.floor > 0.0) & (sums.attempts > 0.0)
    n = np.where(known, np.rint(sums.attempts), 1.0)
    return np.where(known, binom.cdf(np.floor(sums.successes), n, sums.floor / n), np.nan)
