"""What left-out items say of a domain: whether to fit it by itself, and which way is up.

A domain's items may fall into groups, of which one follows the other domains and another does
not. With few items the other domains' prior decides which of them the trait follows, at the
greatest joint likelihood, and the trait may leave what most of the domain's items measure. So
each domain's pooling is judged by items of that domain that are left out: does the trait that
borrows from the other domains predict them, or the domain's own? Where neither does, the items
do not tell either which end of the trait is up.
"""

from __future__ import annotations

import itertools
from collections.abc import Sequence
from typing import Any, NamedTuple

import numpy as np
import numpy.typing as npt

from mtlirt.cluster.executor import Executor
from mtlirt.cluster.local import Inline
from mtlirt.engine.domain import domain_step
from mtlirt.engine.placement import PlacedDomain, grid_of
from mtlirt.engine.state import State, slope_posteriors
from mtlirt.engine.steps import run_steps
from mtlirt.engine.traits import DomainTask
from mtlirt.irt.blocks import ResponseBlock, count_block
from mtlirt.irt.common_slope import LeftOut, common_slope_gains
from mtlirt.irt.curves import FITTING, Items
from mtlirt.irt.kernels import Float, column_products
from mtlirt.irt.slopes import NO_PRIOR, SlopePrior, pooled_prior
from mtlirt.irt.traits import Cavity, combined

MOST_MODELS = 1000
"""Models a domain is judged by, at most; evenly spaced in the order of their success."""

FOLDS = 5
"""Parts of a domain's items, each left out once; dealt in the order of difficulty."""

FIRST_REPEATS, FOLD_REPEATS = 15, 4
"""Trait and item updates of the domain by itself, and again without each fold."""

SUPPORT = 10.0
"""A domain's own trait must gain so many times log(models) over no trait to stand by itself."""

LEAST_SHARE = 0.01
"""An item starts as if so many models knew its answer, at least."""

Index = npt.NDArray[np.intp]


class Verdict(NamedTuple):
    """What the left-out items of a domain say.

    Attributes
    ----------
    own
        The domain's own trait predicts them better than the one that borrows.
    unsigned
        Neither predicts them by more than log(models).
    """

    own: bool
    unsigned: bool


def judged_domains(
    executor: Executor,
    domains: Sequence[PlacedDomain],
    state: State,
    everyone: Cavity,
    ridge: Float,
) -> tuple[npt.NDArray[np.bool_], npt.NDArray[np.bool_]]:
    """Leave items out of every tied domain in turn; which are `own`, and which `unsigned`.

    Costs about as much as a fit of 1,000 models.

    Parameters
    ----------
    everyone
        What the other domains say of each trait, (models, domains).
    ridge
        See `marginal.ridges`.

    Notes
    -----
    Borrowing is kept unless the domain's own trait gains more than log(models) of log-likelihood
    over it, and `SUPPORT` times that over no trait at all: where a domain's items hardly cohere,
    a few of one kind easily pass for its trait. Items are left out, not cells, because items are
    what a domain has few of. The rule was chosen among two dozen on splits of real responses
    (`openllm_v1`).
    """
    tied = state.representation.tied
    pool = NO_PRIOR
    if state.slope_priors[0].precision > 0.0:
        pool = pooled_prior(slope_posteriors(state), state.slope_priors)
    judged = [
        t
        for t, domain in enumerate(domains)
        if tied[t] and (~domain.constant & ~state.held[t]).sum() >= FOLDS
    ]
    calls = []
    for t in judged:
        sample = spaced_sample(domains[t], everyone.mean[domains[t].models, t], MOST_MODELS)
        rows = domains[t].models[sample]
        borrowed = everyone.part(rows, t).with_ridge(ridge[rows, t])
        alone = Cavity(np.zeros(len(rows)), np.ones(len(rows))).with_ridge(ridge[rows, t])
        calls.append(
            (
                chunk_rows(sample, [len(part) for part in domains[t].takers]),
                state.items[t],
                state.slope_priors[t],
                pool,
                borrowed,
                alone,
            )
        )
    own, unsigned = np.zeros((2, len(domains)), bool)
    found = run_steps(executor, pooling_step, [domains[t] for t in judged], calls)
    for t, verdict in zip(judged, found, strict=True):
        own[t], unsigned[t] = verdict
    return own, unsigned


def spaced_sample(domain: PlacedDomain, expected: Float, most: int) -> Index:
    """Positions of so many takers at most, evenly spaced in the order of their success.

    Equals are ordered by what the other domains expect of them, so that the order of the rows
    does not matter.
    """
    takers = domain.models
    share = domain.score[takers] / domain.answered[takers]
    places = np.linspace(0, len(takers) - 1, min(len(takers), most)).astype(np.intp)
    return np.sort(np.lexsort((expected, share))[places])


def chunk_rows(sample: Index, lengths: Sequence[int]) -> list[Index]:
    """The rows that a sample takes of each model chunk."""
    edges = np.cumsum([0, *lengths])
    return [sample[(sample >= a) & (sample < b)] - a for a, b in itertools.pairwise(edges)]


def pooling_step(
    executor: Executor,
    blocks: Sequence[Sequence[Any]],
    rows: Sequence[Index],
    items: Items,
    prior: SlopePrior,
    pool: SlopePrior,
    borrowed: Cavity,
    alone: Cavity,
) -> Verdict:
    """The verdict on a domain, whose sample is brought together for that.

    Parameters
    ----------
    rows
        Of each model chunk, the rows in the sample.
    items, prior
        Of the domain, from the fit.
    pool
        The slopes' prior where the domain is by itself.
    borrowed, alone
        The traits' prior with and without the other domains, of the models in the sample.
    """
    calls = [(block, part) for row, part in zip(blocks, rows, strict=True) for block in row]
    parts = grid_of(executor.submit_all(ResponseBlock.take, calls), len(blocks[0]))
    judged = executor.submit(verdict_of, parts, items, prior, pool, borrowed, alone)
    verdict: Verdict = executor.gather([judged])[0]
    return verdict


def verdict_of(
    parts: Sequence[Sequence[ResponseBlock]],
    items: Items,
    prior: SlopePrior,
    pool: SlopePrior,
    borrowed: Cavity,
    alone: Cavity,
) -> Verdict:
    """Fit a domain without each fold of its items, with and without the other domains."""
    whole = ResponseBlock.joined(parts)
    counts = count_block(whole)
    informative = (counts.item_successes > 0) & (counts.item_successes < counts.item_attempts)
    if informative.sum() < FOLDS:
        return Verdict(own=False, unsigned=False)
    whole = whole.columns(informative)
    share = (counts.item_successes / np.maximum(counts.item_attempts, 1))[informative]
    borrowing = some_items(items, informative)
    known = np.maximum((share - borrowing.guessing) / (1.0 - borrowing.guessing), LEAST_SHARE)
    start = Items(np.ones(len(share)), np.log(known / (1.0 - known)), borrowing.guessing)
    own = refitted(whole, start, pool, alone, FIRST_REPEATS)[0]
    fold = np.empty(len(share), np.intp)
    follows = column_products(whole.responses, borrowed.mean)  # so that columns' order is nothing
    fold[np.lexsort((follows, share))] = np.arange(len(share)) % FOLDS
    folds = [fold == k for k in range(FOLDS)]
    gains = [
        common_slope_gains([left_out(whole, out, *rival) for out in folds]).sum()
        for rival in ((borrowing, prior, borrowed), (own, pool, alone))
    ]
    unit = np.log(len(whole.responses))
    own_better = bool(gains[1] - gains[0] > unit and gains[1] > SUPPORT * unit)
    return Verdict(own_better, not own_better and bool(gains[0] < unit))


def left_out(
    whole: ResponseBlock,
    out: npt.NDArray[np.bool_],
    items: Items,
    prior: SlopePrior,
    cavity: Cavity,
) -> LeftOut:
    """The items of a fold, placed at the traits that the other items give."""
    kept = some_items(items, ~out)
    kept, traits = refitted(whole.columns(~out), kept, prior, cavity, FOLD_REPEATS)
    if kept.slope.sum() < 0.0:
        traits = -traits
    block = whole.columns(out)
    counts = count_block(block)
    return LeftOut.of(block, counts, traits)


def some_items(items: Items, keep: npt.NDArray[np.bool_]) -> Items:
    """The parameters of the items kept."""
    return Items(*(values[keep] for values in items))


def refitted(
    block: ResponseBlock, items: Items, prior: SlopePrior, cavity: Cavity, repeats: int
) -> tuple[Items, Float]:
    """Items of a block after trait and item updates under a cavity, and the traits' means."""
    counts = count_block(block)
    task = DomainTask(
        [slice(0, len(items.slope))],
        counts.item_successes,
        counts.item_attempts,
        np.zeros(len(items.slope), bool),
        counts.complete and not items.guessed,
        counts.largest_attempts,
    )
    update = domain_step(
        Inline(), [[block]], task, items, prior, [cavity], [cavity], repeats, FITTING
    )
    site = update.sites[0]
    return update.items, combined(cavity, site.precision, site.shift)[0]
