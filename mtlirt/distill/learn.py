"""From the responses of training models to items, a refit on them, and a reconstruction."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING

import numpy as np
import pandas as pd

from mtlirt.distill.answers import Answers
from mtlirt.distill.candidates import Candidates, candidates_of
from mtlirt.distill.judge import SumJudge
from mtlirt.distill.options import BEST_RANDOM, DistillOptions
from mtlirt.distill.read import domain_numbers, read_answers
from mtlirt.distill.reconstruction.benchmarks import Benchmarks
from mtlirt.distill.reconstruction.methods import METHODS
from mtlirt.distill.reconstruction.reconstruction import Reconstruction
from mtlirt.distill.screen import NEGATIVE, screened
from mtlirt.distill.selection.chance import best_of
from mtlirt.distill.selection.select import NESTED, select
from mtlirt.engine.fit import fit
from mtlirt.irt.curves import Items
from mtlirt.responses.matrix import Responses
from mtlirt.responses.subset import some_items
from mtlirt.result import Fit

if TYPE_CHECKING:
    from mtlirt.cluster.executor import Client


TRIES = 1000
"""Random choices that are judged."""


@dataclass(frozen=True)
class Work:
    """How, and where, all is done.

    Attributes
    ----------
    options
        Of the distillation.
    client, threads
        As for `mtlirt.fit`.
    """

    options: DistillOptions
    client: Client | None = None
    threads: int | None = None

    def fit(self, responses: Responses) -> Fit:
        """Fit responses."""
        return fit(responses, client=self.client, threads=self.threads)

    def read_answers(self, refit: Fit, responses: Responses) -> Answers:
        """See `mtlirt.distill.read.read_answers`."""
        return read_answers(refit, responses, self.client, self.threads)


@dataclass(frozen=True)
class Ground:
    """What is known before a number of items is settled on.

    Attributes
    ----------
    responses, scores
        Of training models: all their responses, and `full_scores`.
    fitted
        To all items.
    barred
        `screened` items, with those that may be chosen all the same.
    candidates
        For selection.
    """

    responses: Responses
    scores: pd.DataFrame
    fitted: Fit
    barred: pd.DataFrame
    candidates: Candidates


@dataclass(frozen=True)
class Learned:
    """A distilled benchmark of one size.

    Attributes
    ----------
    chosen
        Index (``domain``, ``item_id``) in order of choice.
    refit
        The fit to the chosen items; its item table is in the order of the benchmarks.
    reconstruction
        Scores from answers.
    """

    chosen: pd.DataFrame
    refit: Fit
    reconstruction: Reconstruction


def ground_of(responses: Responses, scores: pd.DataFrame, work: Work) -> Ground:
    """Fit all items to training models, and find those that may be chosen."""
    fitted = work.fit(responses)
    barred = screened(responses, work.options.screen)
    if work.options.keep_negative:
        barred = barred[barred["reason"] != NEGATIVE]
    candidates = candidates_of(fitted, barred.index, fitted.models.index)
    return Ground(responses, scores, fitted, barred, candidates)


def chosen_sets(
    ground: Ground, name: str, counts: Sequence[int], seed: int
) -> Iterator[pd.DataFrame]:
    """The items that a selection chooses for each of some numbers of items, ascending.

    A method that chooses one item after the other chooses once.
    """
    ascending, candidates = sorted(counts), ground.candidates
    if name in NESTED:
        most = select(name, candidates, ascending[-1], seed)
        yield from (most.iloc[:count] for count in ascending)
    elif name == BEST_RANDOM:
        judge = SumJudge(ground.responses, ground.scores)
        for count in ascending:
            yield best_of(candidates, count, judge, TRIES, seed)
    else:
        yield from (select(name, candidates, count, seed) for count in ascending)


def learned_from(ground: Ground, chosen: pd.DataFrame, work: Work) -> Learned:
    """Refit on chosen items, and learn to tell the scores."""
    subset = some_items(ground.responses, chosen.index)
    refit = work.fit(subset)
    answers = work.read_answers(refit, subset)
    method = METHODS[work.options.reconstruction]()
    benchmarks = benchmarks_of(ground.fitted, refit.items.index)
    return Learned(chosen, refit, method.train(answers, ground.scores.to_numpy(), benchmarks))


def benchmarks_of(fitted: Fit, chosen: pd.Index) -> Benchmarks:
    """All items of a fit, and the places of the chosen ones."""
    columns = fitted.items[["slope", "intercept", "guessing"]].to_numpy(dtype=np.float64)
    return Benchmarks(
        tuple(fitted.domains.index),
        Items(*np.ascontiguousarray(columns.T)),
        domain_numbers(fitted),
        fitted.items.index.get_indexer(chosen),
    )
