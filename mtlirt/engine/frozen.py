"""Steps of one domain at frozen items: sites, modal sites, and what the items' uncertainty adds."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np

from mtlirt.cluster.executor import Executor
from mtlirt.engine.domain import message
from mtlirt.engine.placement import grid_of
from mtlirt.engine.traits import DomainTask, FrozenParts, trait_step
from mtlirt.irt.blocks import ResponseBlock
from mtlirt.irt.curves import Items, Quadrature, covering_grid, item_reach
from mtlirt.irt.kernels import Float
from mtlirt.irt.traits import (
    Cavity,
    KnownCurves,
    Message,
    masked_uncertainty,
    mode_site,
    shared_uncertainty,
)


def site_step(
    executor: Executor,
    blocks: Sequence[Sequence[Any]],
    task: DomainTask,
    items: Items,
    cavities: Sequence[Cavity],
    guesses: Sequence[Cavity],
    known: FrozenParts,
    quadrature: Quadrature,
) -> list[Message]:
    """Sites of each model chunk at frozen items."""
    parts = [items.columns(part) for part in task.columns]
    traits = trait_step(executor, blocks, task, parts, cavities, guesses, quadrature, known)
    pairs = list(zip(traits.posteriors, cavities, strict=True))
    return executor.gather(executor.submit_all(message, pairs))


def curves_step(
    executor: Executor,
    blocks: Sequence[Sequence[Any]],
    task: DomainTask,
    items: Items,
    cavities: Sequence[Cavity],
    guesses: Sequence[Cavity],
    known: FrozenParts,
    quadrature: Quadrature,
    keep: bool,
) -> FrozenParts:
    """What is known of frozen items, with the windows of models that have a curve each.

    Where the curves are kept too, steps under cavities that are not much different go over no
    responses.
    """
    parts = [items.columns(part) for part in task.columns]
    traits = trait_step(executor, blocks, task, parts, cavities, guesses, quadrature, known)
    calls = [(search, keep) for search in traits.searches]
    return known._replace(grid=traits.grid, known=executor.submit_all(KnownCurves.of, calls))


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
    reach = executor.submit_all(item_reach, [(part, task.largest_attempts) for part in parts])
    grid = executor.submit(covering_grid, reach, list(means))
    if task.one_curve:
        pairs = list(zip(parts, spreads, strict=True))
        return executor.gather(
            executor.submit_all(shared_uncertainty, [(pairs, mean, grid) for mean in means])
        )
    calls = [
        (block, part, spread, mean, grid)
        for row, mean in zip(blocks, means, strict=True)
        for block, part, spread in zip(row, parts, spreads, strict=True)
    ]
    found = executor.gather(executor.submit_all(masked_uncertainty, calls))
    return [np.sum(row, axis=0) for row in grid_of(found, len(parts))]


def modal_step(
    executor: Executor,
    blocks: Sequence[Sequence[Any]],
    items: Items,
    cavities: Sequence[Cavity],
    tolerance: float,
) -> list[Message]:
    """Laplace sites of each model chunk; the domain's items must be one chunk."""
    calls = [
        (block, items, cavity, tolerance) for (block,), cavity in zip(blocks, cavities, strict=True)
    ]
    return executor.gather(executor.submit_all(mode_message, calls))


def mode_message(block: ResponseBlock, items: Items, cavity: Cavity, tolerance: float) -> Message:
    """Laplace's sites of some models; see `irt.traits.mode_site`."""
    return mode_site(block, items, cavity, tolerance).message()
