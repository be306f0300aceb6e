"""Simulated benchmarks, with posteriors from a plain grid."""

from dataclasses import dataclass

import numpy as np
import pytest
from scipy.special import expit

from mtlirt.distill.answers import Answers
from mtlirt.distill.reconstruction.benchmarks import Benchmarks
from mtlirt.irt.curves import Items, probability

GRID = np.linspace(-6.0, 6.0, 121)


@dataclass(frozen=True)
class Board:
    """Models that answered everything, and what is known of them from the chosen items."""

    answers: Answers
    scores: np.ndarray
    benchmarks: Benchmarks


class World:
    """Items of three benchmarks, some of them chosen; boards of models are drawn from it."""

    def __init__(self, seed, totals=(60, 150, 300), chosen=15, bend=0.0):
        self.rng = np.random.default_rng(seed)
        self.totals, self.bend = totals, bend
        count = sum(totals)
        sign = np.where(self.rng.random(count) < 0.03, -1.0, 1.0)
        slope = sign * 1.3 * np.exp(self.rng.normal(0.0, 0.3, count))
        items = Items(slope, self.rng.normal(0.3, 1.5, count), np.zeros(count))
        starts = np.cumsum([0, *totals[:-1]])
        picked = [
            first + np.sort(self.rng.choice(total, chosen, replace=False))
            for first, total in zip(starts, totals, strict=True)
        ]
        domain = np.repeat(np.arange(len(totals)), totals)
        names = tuple(f"b{t}" for t in range(len(totals)))
        self.benchmarks = Benchmarks(names, items, domain, np.concatenate(picked))

    def board(self, models, shift=0.0, missing=0.0):
        """Draw models; `bend` puts their answers off the item response model."""
        rng, known = self.rng, self.benchmarks
        factor = rng.normal(shift, np.sqrt(0.8), (models, 1))
        traits = factor + rng.normal(0.0, np.sqrt(0.2), (models, len(self.totals)))
        side = self.bend * rng.normal(size=(models, 1)) * np.sin(np.arange(len(known.domain)))
        eta = known.items.slope * traits[:, known.domain] + known.items.intercept + side
        cells = (rng.random(eta.shape) < expit(eta)).astype(float)
        scores = np.stack([cells[:, known.domain == t].mean(axis=1) for t in (0, 1, 2)], axis=1)
        responses = cells[:, known.chosen]
        responses[rng.random(responses.shape) < missing] = np.nan
        scores = np.column_stack([scores, scores.mean(axis=1)])
        return Board(self.answers(responses), scores, known)

    def answers(self, responses):
        """With posteriors of each trait by its own answers and a standard normal prior."""
        domain = self.benchmarks.domain[self.benchmarks.chosen]
        items = Items(*(part[self.benchmarks.chosen] for part in self.benchmarks.items))
        p = probability(GRID[:, None], *items)
        mean = np.empty((len(responses), len(self.totals)))
        sd = np.empty(mean.shape)
        for t in range(len(self.totals)):
            own = domain == t
            y = responses[:, own]
            log = np.nan_to_num(y) @ np.log(p[:, own]).T
            log += np.nan_to_num(1.0 - y) @ np.log1p(-p[:, own]).T
            log -= 0.5 * GRID**2
            weight = np.exp(log - log.max(axis=1, keepdims=True))
            weight /= weight.sum(axis=1, keepdims=True)
            mean[:, t] = weight @ GRID
            sd[:, t] = np.sqrt(weight @ GRID**2 - mean[:, t] ** 2)
        return Answers(responses, domain, mean, sd)


@pytest.fixture(scope="session")
def world():
    """Make a world of benchmarks."""
    return World


@pytest.fixture(scope="module")
def trained():
    """A world and 600 models of it whose full scores are known."""
    made = World(1)
    return made, made.board(600)
