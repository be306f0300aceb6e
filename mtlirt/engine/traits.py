"""The trait step of one domain, on blocks: one curve for all or one a model, split or whole."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace
from typing import Any, NamedTuple

import numpy as np
import numpy.typing as npt

from mtlirt.cluster.executor import Executor
from mtlirt.engine.placement import PlacedDomain, grid_of
from mtlirt.irt.curves import Items, Quadrature, item_reach, shared_curve, trait_grid
from mtlirt.irt.kernels import Float
from mtlirt.irt.traits import (
    Cavity,
    Posterior,
    WindowedSearch,
    asked_curves,
    search_again,
    search_windows,
    shared_curve_posterior,
    start_windows,
    trait_score,
)


@dataclass(frozen=True)
class DomainTask:
    """What a domain step is told of its domain: small arrays only.

    Attributes
    ----------
    columns
        The items of each item chunk.
    successes, attempts
        Totals by item, models weighted.
    held
        Items that keep their parameters.
    one_curve
        See `PlacedDomain.one_curve`.
    largest_attempts
        Most attempts behind any cell.
    weights
        Of the models of each model chunk, in sums over models; None where each is 1.
    """

    columns: list[slice]
    successes: Float
    attempts: Float
    held: npt.NDArray[np.bool_]
    one_curve: bool
    largest_attempts: float
    weights: list[Float] | None = None

    @classmethod
    def of(cls, domain: PlacedDomain, held: npt.NDArray[np.bool_]) -> DomainTask:
        """Describe a placed domain."""
        weights = domain.weights
        return cls(
            domain.columns,
            *domain.weighted,
            held,
            domain.one_curve,
            domain.largest_attempts,
            None if weights is None else [weights[rows] for rows in domain.takers],
        )

    def guessed(self, items: Items) -> list[bool]:
        """Whether any item may be guessed, for each item chunk."""
        return [items.columns(part).guessed for part in self.columns]


class FrozenParts(NamedTuple):
    """What a trait step needs of the items alone.

    Attributes
    ----------
    scores
        Handles of `trait_score`, by model and item chunk.
    reach
        Handles of `item_reach`, by item chunk.
    least_variance
        See `irt.curves.trait_grid`.
    grid, known
        Of an earlier `TraitUpdate`: the grid, and `KnownCurves` of each model chunk; None if there
        is none.
    """

    scores: list[list[Any]]
    reach: list[Any]
    least_variance: float | None
    grid: Any = None
    known: list[Any] | None = None


@dataclass(frozen=True)
class TraitUpdate:
    """Handles of the posteriors of each model chunk, and of the grid they were taken on.

    ``searches`` are those that found them; none where all models share one curve.
    """

    posteriors: list[Any]
    grid: Any
    searches: list[Any]


def trait_step(
    executor: Executor,
    blocks: Sequence[Sequence[Any]],
    task: DomainTask,
    items: Sequence[Any],
    cavities: Sequence[Cavity],
    guesses: Sequence[Any],
    quadrature: Quadrature,
    frozen: FrozenParts | None = None,
) -> TraitUpdate:
    """Posteriors of the traits of all models; see `irt.traits`.

    Parameters
    ----------
    items
        Handles of the parameters of each item chunk.
    cavities
        Of each model chunk.
    guesses
        Means and variances near the posteriors', or handles of them, for each model chunk (unless
        all share one curve).
    frozen
        What is known beforehand of items that stay as they are.
    """
    if frozen is None:
        frozen = frozen_parts(executor, blocks, task, items, None)
    scores = frozen.scores
    weights: Sequence[Float | None] = task.weights or [None] * len(cavities)
    grid = frozen.grid
    if grid is None:
        reach, least = frozen.reach, frozen.least_variance
        grid = executor.submit(trait_grid, reach, list(cavities), quadrature, least)
    if task.one_curve:
        curves = executor.submit_all(shared_curve, [(part, grid) for part in items])
        calls = [
            (list(row), curves, cavity, grid, quadrature, weight)
            for row, cavity, weight in zip(scores, cavities, weights, strict=True)
        ]
        return TraitUpdate(executor.submit_all(shared_curve_posterior, calls), grid, [])
    if frozen.known is None:
        starts = [(guess, grid, quadrature) for guess in guesses]
        searches = executor.submit_all(start_windows, starts)
        unsettled = list(range(len(searches)))
    else:
        again = [
            (known, list(row), cavity, grid, quadrature)
            for known, row, cavity in zip(frozen.known, scores, cavities, strict=True)
        ]
        searches = executor.submit_all(search_again, again)
        unsettled = unsettled_searches(executor, searches)
    while unsettled:
        asked = [
            (block, part, grid, searches[i])
            for i in unsettled
            for block, part in zip(blocks[i], items, strict=True)
        ]
        curves = grid_of(executor.submit_all(asked_curves, asked), len(items))
        steps = [
            (searches[i], list(scores[i]), row, cavities[i], grid, quadrature)
            for i, row in zip(unsettled, curves, strict=True)
        ]
        for i, search in zip(unsettled, executor.submit_all(search_windows, steps), strict=True):
            searches[i] = search
        unsettled = unsettled_searches(executor, searches)
    found = executor.submit_all(found_posterior, list(zip(searches, weights, strict=True)))
    return TraitUpdate(found, grid, searches)


def unsettled_searches(executor: Executor, searches: Sequence[Any]) -> list[int]:
    """Positions of the searches that have models to settle."""
    left = executor.gather(executor.submit_all(count_unsettled, [(each,) for each in searches]))
    return [i for i, count in enumerate(left) if count]


def frozen_parts(
    executor: Executor,
    blocks: Sequence[Sequence[Any]],
    task: DomainTask,
    items: Sequence[Any],
    least_variance: float | None,
) -> FrozenParts:
    """Start what the items alone determine: one pass over the responses."""
    pairs = [pair for row in blocks for pair in zip(row, items, strict=True)]
    scores = grid_of(executor.submit_all(trait_score, pairs), len(items))
    reach = executor.submit_all(item_reach, [(part, task.largest_attempts) for part in items])
    return FrozenParts(scores, reach, least_variance)


def count_unsettled(search: WindowedSearch) -> int:
    """How many models a search has not settled."""
    return search.unsettled


def found_posterior(search: WindowedSearch, weight: Float | None) -> Posterior:
    """The posteriors of a finished search, of models with such weights."""
    return search.posterior if weight is None else replace(search.posterior, weight=weight)
