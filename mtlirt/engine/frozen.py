"""Steps of one domain at frozen items: sites, modal sites, and what the items' uncertainty adds."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np

from mtlirt.cluster.executor import Executor
from mtlirt.engine.traits import DomainTask, FrozenParts, trait_step
from mtlirt.irt.curves import Items, Quadrature, covering_grid, item_reach
from mtlirt.irt.kernels import Float
from mtlirt.irt.traits import (
    Cavity,
    Site,
    masked_uncertainty,
    mode_site,
    shared_uncertainty,
    site,
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
) -> list[Site]:
    """Sites of each model chunk at frozen items."""
    parts = [items.columns(part) for part in task.columns]
    traits = trait_step(executor, blocks, task, parts, cavities, guesses, quadrature, known)
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
