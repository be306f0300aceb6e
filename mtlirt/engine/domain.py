"""The domain step: trait and item updates of one domain under its cavities, on blocks."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
import numpy.typing as npt

from mtlirt.cluster.local import Executor, Inline
from mtlirt.engine.placement import PlacedDomain
from mtlirt.irt.blocks import ResponseBlock
from mtlirt.irt.curves import (
    SCORING,
    Items,
    Quadrature,
    covering_grid,
    item_reach,
    shared_curve,
    trait_grid,
)
from mtlirt.irt.items import ItemUpdate, item_statistics, update_items
from mtlirt.irt.kernels import Float
from mtlirt.irt.slopes import SlopePrior
from mtlirt.irt.traits import (
    Cavity,
    Posterior,
    Site,
    WindowedSearch,
    masked_uncertainty,
    mode_site,
    search_windows,
    shared_curve_posterior,
    shared_uncertainty,
    site,
    start_windows,
    trait_score,
    window_curves,
)


@dataclass(frozen=True)
class DomainTask:
    """What a domain step is told of its domain: small arrays only.

    Attributes
    ----------
    columns
        The items of each item chunk.
    successes
        Sum of the responses by item.
    held
        Items that keep their parameters.
    complete
        Whether every model answered every item once, so that all share one curve.
    largest_attempts
        Most attempts behind any cell.
    """

    columns: list[slice]
    successes: Float
    held: npt.NDArray[np.bool_]
    complete: bool
    largest_attempts: float

    @classmethod
    def of(cls, domain: PlacedDomain, held: npt.NDArray[np.bool_]) -> DomainTask:
        """Describe a placed domain."""
        return cls(
            domain.columns,
            domain.successes,
            held,
            domain.complete,
            domain.largest_attempts,
        )


@dataclass(frozen=True)
class DomainUpdate:
    """The outcome of a domain step.

    Attributes
    ----------
    items
        New parameters.
    information
        Their expected information aa, ad, dd, shape (items, 3).
    sites
        Of each model chunk, from the parameters before the last item update.
    intercept_term
        sum_j successes_j d_j at those parameters: the part of the log-likelihood that no trait
        enters.
    log_normaliser
        Sum over models of log of the integral of cavity x likelihood there, without that term.
    """

    items: Items
    information: Float
    sites: list[Site]
    intercept_term: float
    log_normaliser: float


@dataclass(frozen=True)
class TraitUpdate:
    """Handles of the posteriors of each model chunk, and of the grid they were taken on."""

    posteriors: list[Any]
    grid: Any


def trait_step(
    executor: Executor,
    blocks: Sequence[Sequence[Any]],
    task: DomainTask,
    items: Sequence[Any],
    cavities: Sequence[Cavity],
    guesses: Sequence[Cavity],
    quadrature: Quadrature,
    scores: Sequence[Sequence[Any]] | None = None,
) -> TraitUpdate:
    """Posteriors of the traits of all models; see `irt.traits`.

    Parameters
    ----------
    items
        Handles of the parameters of each item chunk.
    cavities
        Of each model chunk.
    guesses
        Means and variances near the posteriors', for each model chunk (for missing cells only).
    scores
        Handles of `trait_score` by model and item chunk, where known.
    """
    reach = [executor.submit(item_reach, part, task.largest_attempts) for part in items]
    grid = executor.submit(trait_grid, reach, list(cavities), quadrature)
    if scores is None:
        scores = trait_scores(executor, blocks, items)
    if task.complete:
        curves = [executor.submit(shared_curve, part, grid) for part in items]
        return TraitUpdate(
            [
                executor.submit(shared_curve_posterior, list(row), curves, cavity, grid, quadrature)
                for row, cavity in zip(scores, cavities, strict=True)
            ],
            grid,
        )
    searches = [
        executor.submit(start_windows, guess.mean, guess.variance, grid, quadrature)
        for guess in guesses
    ]
    unsettled = list(range(len(searches)))
    while unsettled:
        for i in unsettled:
            asked = executor.submit(asked_windows, searches[i])
            curves = [
                executor.submit(window_curves, block, part, grid, asked, quadrature)
                for block, part in zip(blocks[i], items, strict=True)
            ]
            searches[i] = executor.submit(
                search_windows, searches[i], list(scores[i]), curves, cavities[i], grid, quadrature
            )
        left = executor.gather([executor.submit(count_unsettled, searches[i]) for i in unsettled])
        unsettled = [i for i, count in zip(unsettled, left, strict=True) if count]
    return TraitUpdate([executor.submit(found_posterior, s) for s in searches], grid)


def trait_scores(
    executor: Executor, blocks: Sequence[Sequence[Any]], items: Sequence[Any]
) -> list[list[Any]]:
    """Handles of the sums of response x slope, by model and item chunk."""
    return [
        [executor.submit(trait_score, block, part) for block, part in zip(row, items, strict=True)]
        for row in blocks
    ]


def asked_windows(search: WindowedSearch) -> Any:
    """The windows a search wants evaluated."""
    return search.asked


def count_unsettled(search: WindowedSearch) -> int:
    """How many models a search has not settled."""
    return search.unsettled


def found_posterior(search: WindowedSearch) -> Posterior:
    """The posteriors of a finished search."""
    return search.posterior


def total_log_normaliser(posterior: Posterior) -> float:
    """Sum over models of the log normalisers."""
    return float(posterior.log_normaliser.sum())


def new_items(update: ItemUpdate) -> Items:
    """The parameters of an item update."""
    return update.items


def domain_step(
    executor: Executor,
    blocks: Sequence[Sequence[Any]],
    task: DomainTask,
    items: Items,
    prior: SlopePrior,
    cavities: Sequence[Cavity],
    guesses: Sequence[Cavity],
    repeats: int,
    quadrature: Quadrature,
) -> DomainUpdate:
    """Alternate trait and item updates, `repeats` times, without communication.

    Given its cavities a domain maximises log p(own responses | the other domains'), a proper
    likelihood of its items alone. Cost of a repeat: two passes over complete blocks, or cells x
    nodes twice where cells are missing.
    """
    parts: list[Any] = [items.columns(part) for part in task.columns]
    updates: list[Any] = []
    sites: list[Any] = []
    posteriors: list[Any] = []
    before: list[Any] = parts
    for _ in range(repeats):
        traits = trait_step(executor, blocks, task, parts, cavities, guesses, quadrature)
        posteriors = traits.posteriors
        sites = [
            executor.submit(site, posterior, cavity)
            for posterior, cavity in zip(posteriors, cavities, strict=True)
        ]
        updates = []
        for j, part in enumerate(task.columns):
            statistics = [
                executor.submit(item_statistics, row[j], posterior, traits.grid)
                for row, posterior in zip(blocks, posteriors, strict=True)
            ]
            updates.append(
                executor.submit(
                    update_items,
                    statistics,
                    task.successes[part],
                    parts[j],
                    task.held[part],
                    prior,
                    traits.grid,
                )
            )
        before, parts = parts, [executor.submit(new_items, update) for update in updates]
    done: list[ItemUpdate] = executor.gather(updates)
    used: list[Items] = executor.gather(before)
    intercepts = np.concatenate([part.intercept for part in used])
    return DomainUpdate(
        Items(
            np.concatenate([update.items.slope for update in done]),
            np.concatenate([update.items.intercept for update in done]),
        ),
        np.concatenate([update.information for update in done]),
        executor.gather(sites),
        float(task.successes @ intercepts),
        sum(executor.gather([executor.submit(total_log_normaliser, p) for p in posteriors])),
    )


def site_step(
    executor: Executor,
    blocks: Sequence[Sequence[Any]],
    task: DomainTask,
    items: Items,
    cavities: Sequence[Cavity],
    guesses: Sequence[Cavity],
    scores: Sequence[Sequence[Any]],
) -> list[Site]:
    """Sites of each model chunk at frozen items."""
    parts = [items.columns(part) for part in task.columns]
    traits = trait_step(executor, blocks, task, parts, cavities, guesses, SCORING, scores)
    return executor.gather(
        [
            executor.submit(site, posterior, cavity)
            for posterior, cavity in zip(traits.posteriors, cavities, strict=True)
        ]
    )


def uncertainty_step(
    executor: Executor,
    blocks: Sequence[Sequence[Any]],
    task: DomainTask,
    items: Items,
    covariance: Float,
    means: Sequence[Float],
) -> list[Float]:
    """Variance of the traits' scores from the items' uncertainty, for each model chunk."""
    parts = [items.columns(part) for part in task.columns]
    spreads = [covariance[part] for part in task.columns]
    reach = [executor.submit(item_reach, part, task.largest_attempts) for part in parts]
    grid = executor.submit(covering_grid, reach, list(means))
    if task.complete:
        pairs = list(zip(parts, spreads, strict=True))
        handles = [executor.submit(shared_uncertainty, pairs, mean, grid) for mean in means]
        return executor.gather(handles)
    chunks = [
        [
            executor.submit(masked_uncertainty, block, part, spread, mean, grid)
            for block, part, spread in zip(row, parts, spreads, strict=True)
        ]
        for row, mean in zip(blocks, means, strict=True)
    ]
    return [np.sum(executor.gather(row), axis=0) for row in chunks]


def modal_step(
    executor: Executor,
    blocks: Sequence[Sequence[Any]],
    items: Items,
    cavities: Sequence[Cavity],
    tolerance: float,
) -> list[Site]:
    """Laplace sites of each model chunk; the domain's items must be one chunk."""
    return executor.gather(
        [
            executor.submit(mode_site, block, items, cavity, tolerance)
            for (block,), cavity in zip(blocks, cavities, strict=True)
        ]
    )


def in_place(step: Callable[..., Any], blocks: list[list[ResponseBlock]], *args: Any) -> Any:
    """Run a step on blocks at hand, as one task."""
    return step(Inline(), blocks, *args)


def run_steps(
    executor: Executor,
    step: Callable[..., Any],
    domains: Sequence[PlacedDomain],
    calls: Sequence[tuple[Any, ...]],
) -> list[Any]:
    """Run a step for all domains: an unsplit domain is one task, a split one many.

    Parameters
    ----------
    step
        Called as ``step(executor, blocks, *call)``.
    calls
        Its further arguments, domain by domain.
    """
    largest_first = sorted(range(len(domains)), key=lambda t: domains[t].size, reverse=True)
    whole = [t for t in largest_first if domains[t].unsplit]
    tasks = {t: executor.submit(in_place, step, domains[t].blocks, *calls[t]) for t in whole}
    split = {
        t: step(executor, domains[t].blocks, *calls[t]) for t in largest_first if t not in tasks
    }
    results = dict(zip(tasks, executor.gather(list(tasks.values())), strict=True)) | split
    return [results[t] for t in range(len(domains))]
