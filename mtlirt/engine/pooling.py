"""What left-out items say of a domain: whether to find its items alone, and which way is up.

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
from mtlirt.engine.factors import takers_cavities
from mtlirt.engine.marginal import ridges
from mtlirt.engine.placement import PlacedDomain, grid_of
from mtlirt.engine.state import State, null_intercepts, slope_posteriors
from mtlirt.engine.steps import run_steps
from mtlirt.engine.traits import DomainTask
from mtlirt.irt.blocks import ResponseBlock, count_block
from mtlirt.irt.common_slope import LeftOut, common_slope_gains
from mtlirt.irt.curves import FITTING, Items
from mtlirt.irt.kernels import Float, column_products
from mtlirt.irt.residuals import SecondDimension, second_dimension
from mtlirt.irt.slopes import NO_PRIOR, SlopePrior, pooled_prior
from mtlirt.irt.traits import Cavity, Message, combined

MOST_MODELS, FEWEST_MODELS, ENOUGH_CELLS = 1000, 300, 50_000
"""Models a domain is judged by: as many as give enough cells, within bounds; evenly spaced in the
order of their success."""

FOLDS = 5
"""Parts of a domain's items, each left out once; dealt in the order of difficulty."""

FIRST_REPEATS, FOLD_REPEATS = 15, 4
"""Trait and item updates of the domain by itself, and again without each fold."""

SUPPORT = 7.0
"""A domain's own trait must gain so many times log(models) over no trait for its items to be found
alone."""

EDGE = 0.075
"""And so much more than the borrowing trait, as a share of its own gain: items of one domain
predict each other a little better than the trait explains, also where the others measure it best.
"""

STRUCTURE = 1.1
"""Where residuals have no larger `SecondDimension.ratio`, one trait explains a domain's responses,
and its own could not do better."""

SEVERAL, LEEWAY, FEWNESS = 0.065, 7.1, 1.25
"""Where they have a larger `SecondDimension.correlation`, the items measure several traits, and
whether a few items follow the other domains is an accident: `EDGE` is less by `LEEWAY` over the
number of items to the power `FEWNESS`, so that of ten the own trait may also gain a third less than
the borrowing one, of thirty hardly less."""

COHERENT = 0.7
"""Elsewhere the slopes along the own trait must agree in sign, their sum being more than this share
of that of their sizes: by a trait that turns many items round, models differ in something else
than what the domain is meant to measure, such as the option they prefer."""

TRUSTED = 100
"""With fewer models the correlation of residuals is too much of an accident itself."""

Index = npt.NDArray[np.intp]


class Rival(NamedTuple):
    """One way to find a domain's items and its models' traits.

    Attributes
    ----------
    items
        Where to start.
    prior
        Of the slopes.
    cavity
        The traits' prior.
    repeats
        Trait and item updates before any item is left out.
    """

    items: Items
    prior: SlopePrior
    cavity: Cavity
    repeats: int


class Verdict(NamedTuple):
    """What is found about a domain.

    Attributes
    ----------
    gains
        Of each rival on left-out items.
    coherence
        Of each rival's slopes, the size of their sum over the sum of their sizes.
    residuals
        At the first rival's traits.
    """

    gains: list[float]
    coherence: list[float]
    residuals: SecondDimension

    @classmethod
    def none(cls, rivals: Sequence[Rival], residuals: SecondDimension) -> Verdict:
        """Without gains."""
        nothing = [np.nan] * len(rivals)
        return cls(nothing, nothing, residuals)


def judged_pooling(
    executor: Executor, domains: Sequence[PlacedDomain], state: State
) -> tuple[npt.NDArray[np.bool_], npt.NDArray[np.bool_]]:
    """Leave items of every domain that borrows out, to judge how its items are best found.

    Costs about as much as a fit of `MOST_MODELS`, of fewer where domains are long; hardly anything
    for domains whose residuals have no structure (`STRUCTURE`), which are not judged if their
    responses weigh more than the prior and most slopes have one sign.

    Returns
    -------
    alone
        Domains whose items are better found without the other domains.
    unsigned
        Domains whose left-out items no trait predicts by more than log(models).

    Notes
    -----
    Items are found together unless the domain's own trait gains more than log(models) of
    log-likelihood over it, and more than `EDGE` of its gain, or, where the items measure several
    traits, not much less (`SEVERAL`); and `SUPPORT` times log(models) over no trait at all: where
    a domain's items hardly cohere, a few of one kind easily pass for its trait. Where one trait
    explains the responses, the own one's slopes must agree in sign (`COHERENT`). Items are left
    out, not cells, because items are what a domain has few of; what either trait loses by that is
    made up for (`growth`). The rule was chosen among dozens on splits of real responses
    (`openllm_v1`).
    """
    pool = NO_PRIOR
    if state.slope_priors[0].precision > 0.0:
        pool = pooled_prior(slope_posteriors(state), state.slope_priors)
    everyone = takers_cavities(
        executor.here, state.precision, state.shift, state.representation, state.alone
    )
    ridge, borrows = ridges(domains, state), state.representation.tied & ~state.alone
    items = np.array(
        [(~domain.constant & ~held).sum() for domain, held in zip(domains, state.held, strict=True)]
    )
    judged, calls = [], []
    together, own, correlation, coherence, unit = np.full((5, len(domains)), np.nan)
    for t, domain in enumerate(domains):
        if not borrows[t] or items[t] < FOLDS:
            continue
        most = min(max(ENOUGH_CELLS // items[t], FEWEST_MODELS), MOST_MODELS)
        sample = spaced_sample(domain, everyone.mean[domain.models, t], most)
        rows = domain.models[sample]
        borrowed = everyone.part(rows, t).with_ridge(ridge[rows, t])
        nothing = Cavity(np.zeros(len(rows)), np.ones(len(rows))).with_ridge(ridge[rows, t])
        anew = Items(np.ones(len(domain.cells)), null_intercepts(domain), domain.guessing)
        rivals = [
            Rival(state.items[t], state.slope_priors[t], borrowed, 0),
            Rival(anew, pool, nothing, FIRST_REPEATS),
        ]
        weight, slopes = state.precision[rows, t], state.items[t].slope
        traits = combined(borrowed, weight, state.shift[rows, t])[0]
        firm = weight.mean() > 1.0 and agreement_in_sign(slopes) > 0.5
        of_chunks = chunk_rows(sample, [len(part) for part in domain.takers])
        judged.append(t)
        calls.append((of_chunks, rivals, traits, firm))
        unit[t] = np.log(len(rows))
    found = run_steps(executor, gains_step, [domains[t] for t in judged], calls)
    for t, verdict in zip(judged, found, strict=True):
        together[t], own[t] = verdict.gains
        coherence[t] = verdict.coherence[1]
        correlation[t] = verdict.residuals.correlation
    alone = better_alone(together, own, unit, correlation, coherence, items)
    return alone, ~alone & (together < unit)


def better_alone(
    together: Float, own: Float, unit: Float, correlation: Float, coherence: Float, items: Index
) -> npt.NDArray[np.bool_]:
    """Whether items are better found alone, by domain; never where the gains are nan.

    Parameters
    ----------
    together, own
        What the borrowing trait gains on left-out items, and the domain's own.
    unit
        Logarithm of the number of models.
    correlation
        Of the residuals, see `SecondDimension`.
    coherence
        Of the own trait's slopes, see `Verdict`.
    items
        How many the domain has that tell models apart.
    """
    torn = (correlation > SEVERAL) & (unit >= np.log(TRUSTED))
    leaning = (EDGE - LEEWAY / np.maximum(items, 1) ** FEWNESS) * own
    margin = np.where(torn, leaning, np.maximum(unit, EDGE * own))
    meant = torn | (coherence > COHERENT)
    return np.asarray((own - together > margin) & (own > SUPPORT * unit) & meant)


def spaced_sample(domain: PlacedDomain, expected: Float, most: int) -> Index:
    """Positions of so many takers at most, evenly spaced in the order of their success.

    Equals are ordered by what the other domains expect of them, so that the order of the rows
    does not matter. Models are taken in proportion to their weights, a heavy one once.
    """
    takers = domain.models
    share = domain.score[takers] / domain.answered[takers]
    order = np.lexsort((expected, share))
    filled = np.cumsum(domain.taker_weights[order])
    total = max(round(filled[-1]), 1)
    places = np.linspace(0, total - 1, min(total, most)).astype(np.intp)
    found = np.searchsorted(filled, places + 0.5)
    return np.unique(order[np.minimum(found, len(order) - 1)])


def chunk_rows(sample: Index, lengths: Sequence[int]) -> list[Index]:
    """The rows that a sample takes of each model chunk."""
    edges = np.cumsum([0, *lengths])
    return [sample[(sample >= a) & (sample < b)] - a for a, b in itertools.pairwise(edges)]


def gains_step(
    executor: Executor,
    blocks: Sequence[Sequence[Any]],
    rows: Sequence[Index],
    rivals: Sequence[Rival],
    traits: Float,
    firm: bool,
) -> Verdict:
    """`rivals_gains` of a domain's sample, which is brought together for that.

    Parameters
    ----------
    rows
        Of each model chunk, the rows in the sample.
    traits
        Of the sample's models, by the first rival.
    firm
        Whether they are beyond question where they explain the responses.
    """
    calls = [(block, part) for row, part in zip(blocks, rows, strict=True) for block in row]
    parts = grid_of(executor.submit_all(ResponseBlock.take, calls), len(blocks[0]))
    verdict: Verdict = executor.gather(
        [executor.submit(rivals_gains, parts, rivals, traits, firm)]
    )[0]
    return verdict


def rivals_gains(
    parts: Sequence[Sequence[ResponseBlock]], rivals: Sequence[Rival], traits: Float, firm: bool
) -> Verdict:
    """Fit a domain without each fold of its items, in the way of each rival.

    Gains are nan where too few of its items tell the sample's models apart, or firm traits explain
    their responses.
    """
    whole = ResponseBlock.joined(parts)
    counts = count_block(whole)
    informative = (counts.item_successes > 0) & (counts.item_successes < counts.item_attempts)
    if informative.sum() < FOLDS:
        return Verdict.none(rivals, SecondDimension(np.nan, np.nan))
    whole = whole.columns(informative)
    residuals = second_dimension(whole, some_items(rivals[0].items, informative), traits)
    if firm and residuals.ratio <= STRUCTURE:
        return Verdict.none(rivals, residuals)
    share = (counts.item_successes / np.maximum(counts.item_attempts, 1))[informative]
    follows = column_products(whole.responses, rivals[0].cavity.mean)
    fold = np.empty(len(share), np.intp)
    fold[np.lexsort((follows, share))] = np.arange(len(share)) % FOLDS
    gains, coherence = [], []
    for rival in rivals:
        items = some_items(rival.items, informative)
        if rival.repeats:
            items = refitted(whole, items, rival, rival.repeats)[0]
        coherence.append(agreement_in_sign(items.slope))
        folds, grown = zip(
            *(left_out(whole, fold == k, items, rival) for k in range(FOLDS)), strict=True
        )
        gains.append(float(common_slope_gains(folds).sum() * np.mean(grown)))
    return Verdict(gains, coherence, residuals)


def agreement_in_sign(slope: Float) -> float:
    """The size of the slopes' sum over the sum of their sizes; 0 where all are 0."""
    sizes = np.abs(slope).sum()
    return float(np.abs(slope.sum()) / sizes) if sizes > 0.0 else 0.0


def left_out(
    whole: ResponseBlock, out: npt.NDArray[np.bool_], items: Items, rival: Rival
) -> tuple[LeftOut, float]:
    """The items of a fold, placed at the traits that the other items give; and `growth`."""
    kept = some_items(items, ~out)
    kept, traits, site = refitted(whole.columns(~out), kept, rival, FOLD_REPEATS)
    if kept.slope.sum() < 0.0:
        traits = -traits
    block = whole.columns(out)
    counts = count_block(block)
    grown = growth(1.0 / rival.cavity.variance, site.precision, len(out) / (~out).sum())
    return LeftOut.of(block, counts, traits), grown


def growth(prior: Float, precision: Float, times: float) -> float:
    """By what factor more of the traits' variance is known with so many times the items.

    A trait of variance 1 is known to the share 1 - 1/(prior + precision). Traits that borrow lose
    less by the items that are left out than those that do not.
    """
    known, all_known = (
        1.0 - (1.0 / (prior + part)).mean() for part in (precision, times * precision)
    )
    return float(all_known / known) if known > 0.0 else 1.0


def some_items(items: Items, keep: npt.NDArray[np.bool_]) -> Items:
    """The parameters of the items kept."""
    return Items(*(values[keep] for values in items))


def refitted(
    block: ResponseBlock, items: Items, rival: Rival, repeats: int
) -> tuple[Items, Float, Message]:
    """Items of a block after trait and item updates in a rival's way; traits' means, and sites."""
    counts = count_block(block)
    task = DomainTask(
        [slice(0, len(items.slope))],
        counts.item_successes,
        counts.item_attempts,
        np.zeros(len(items.slope), bool),
        counts.complete and not items.guessed,
        counts.largest_attempts,
    )
    cavity = [rival.cavity]
    update = domain_step(
        Inline(), [[block]], task, items, rival.prior, cavity, cavity, repeats, FITTING
    )
    site = update.sites[0]
    return update.items, combined(rival.cavity, site.precision, site.shift)[0], site
