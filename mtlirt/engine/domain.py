"""The domain step: trait and item updates of one domain under its cavities, on blocks."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np

from mtlirt.cluster.executor import Executor
from mtlirt.engine.placement import grid_of
from mtlirt.engine.traits import DomainTask, trait_step
from mtlirt.irt.curves import Items, Quadrature
from mtlirt.irt.items import ItemUpdate, item_statistics, update_items
from mtlirt.irt.kernels import Float
from mtlirt.irt.slopes import SlopePrior
from mtlirt.irt.traits import Cavity, Message, Posterior, site


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
        The part of the log-likelihood at those parameters that no trait enters.
    log_normaliser
        Sum over weighted models of log of the integral of cavity x likelihood there, without that
        term.
    """

    items: Items
    information: Float
    sites: list[Message]
    intercept_term: float
    log_normaliser: float


def total_log_normaliser(posterior: Posterior) -> float:
    """Sum over weighted models of the log normalisers."""
    return float(posterior.weighed(posterior.log_normaliser).sum())


def intercept_term(successes: Float, attempts: Float, items: Items) -> float:
    """The part of the log-likelihood that no trait enters, of some items.

    With s successes of n attempts, sum_j s_j d_j + (n_j - s_j) log(1 - c_j).
    """
    wrong = attempts - successes
    return float(successes @ items.intercept + wrong @ np.log1p(-items.guessing))


def message(posterior: Posterior, cavity: Cavity) -> Message:
    """The sites of some models; see `irt.traits.site`."""
    return site(posterior, cavity).message(posterior.weight)


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
    posteriors: list[Any] = []
    near: Sequence[Any] = guesses
    before: list[Any] = parts
    for _ in range(repeats):
        traits = trait_step(executor, blocks, task, parts, cavities, near, quadrature)
        near = posteriors = traits.posteriors
        calls = [
            (block, posterior, traits.grid, guessed)
            for row, posterior in zip(blocks, posteriors, strict=True)
            for block, guessed in zip(row, task.guessed(items), strict=True)
        ]
        statistics = grid_of(executor.submit_all(item_statistics, calls), len(parts))
        updates = executor.submit_all(
            update_items,
            [
                (of_chunk, task.successes[part], items_before, task.held[part], prior, traits.grid)
                for *of_chunk, part, items_before in zip(
                    *statistics, task.columns, parts, strict=True
                )
            ],
        )
        before, parts = parts, executor.submit_all(new_items, [(update,) for update in updates])
    sites = executor.submit_all(message, list(zip(posteriors, cavities, strict=True)))
    done: list[ItemUpdate] = executor.gather(updates)
    intercept_terms = executor.submit_all(
        intercept_term,
        [
            (task.successes[part], task.attempts[part], used)
            for part, used in zip(task.columns, before, strict=True)
        ],
    )
    return DomainUpdate(
        Items(
            np.concatenate([update.items.slope for update in done]),
            np.concatenate([update.items.intercept for update in done]),
            items.guessing,
        ),
        np.concatenate([update.information for update in done]),
        executor.gather(sites),
        sum(executor.gather(intercept_terms)),
        sum(executor.gather(executor.submit_all(total_log_normaliser, [(p,) for p in posteriors]))),
    )
