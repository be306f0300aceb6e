"""The domain step of the joint estimator: two candidates, own traits and the general one."""

from __future__ import annotations

import itertools
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
import numpy.typing as npt

from mtlirt.cluster.executor import Executor
from mtlirt.engine.placement import PlacedDomain, grid_of
from mtlirt.irt.blocks import ResponseBlock
from mtlirt.irt.box import BoxedItems, at_traits, boxed_items
from mtlirt.irt.curves import Items, shared_curve
from mtlirt.irt.interpolation import TraitCurves, box_grid, window_at
from mtlirt.irt.items import item_statistics
from mtlirt.irt.kernels import Float, added
from mtlirt.irt.sphere import TRAIT_BOUND, Pull, sphere_step
from mtlirt.irt.traits import Posterior, trait_score, window_curves

GRID = box_grid(TRAIT_BOUND, 1.0 / 16.0)
"""Interpolation on it changes the loss of a cell by 1e-9 at slope 1.5, by 3e-7 at slope 4."""

NEWTON_STEPS = 2


@dataclass(frozen=True)
class JointTask:
    """What a domain step is told of its domain.

    Attributes
    ----------
    rows
        The models of each model chunk.
    columns
        The items of each item chunk.
    successes, attempts
        Sums of the responses by item.
    held
        Items left out: all models pass them, or fail.
    shared
        Whether all models share one curve, see `PlacedDomain.one_curve`.
    guessed
        Whether any item may be guessed, by item chunk.
    """

    rows: list[slice]
    columns: list[slice]
    successes: Float
    attempts: Float
    held: npt.NDArray[np.bool_]
    shared: bool
    guessed: list[bool]

    @classmethod
    def of(cls, domain: PlacedDomain) -> JointTask:
        """Describe a placed domain that every model took."""
        ends = np.cumsum([0, *map(len, domain.takers)])
        return cls(
            [slice(a, b) for a, b in itertools.pairwise(ends)],
            domain.columns,
            domain.successes,
            domain.attempts,
            domain.constant,
            domain.one_curve,
            [bool(domain.guessing[part].any()) for part in domain.columns],
        )


@dataclass(frozen=True)
class Candidate:
    """Traits of a domain with the items that suit them best in the box.

    Attributes
    ----------
    traits
        On the sphere, shape (models,).
    items
        Those of the domain.
    loss
        Minus the log-likelihood of the domain's responses.
    """

    traits: Float
    items: Items
    loss: float


@dataclass(frozen=True)
class FusedUpdate:
    """The domain at the general trait, and how its loss changes as that moves.

    Attributes
    ----------
    candidate
        The general trait with the domain's items.
    score
        A_i = sum over items of y_ij a_j, shape (models,).
    curve
        C on the grid, shape (count,), where all models share it; else each model's on its window,
        shape (models, 6).
    """

    candidate: Candidate
    score: Float
    curve: Float


@dataclass(frozen=True)
class JointUpdate:
    """The outcome of a domain step: the candidates asked for."""

    own: Candidate | None
    fused: FusedUpdate | None


def joint_step(
    executor: Executor,
    blocks: Sequence[Sequence[ResponseBlock]],
    task: JointTask,
    own: Candidate | None,
    fused: Items | None,
    general: Float | None,
    strength: float,
    strides: tuple[int, int],
) -> JointUpdate:
    """Improve a domain's candidates under the present general trait.

    Parameters
    ----------
    own
        Traits of the domain's own and their items: both are updated.
    fused
        Items to be updated at the general trait.
    general
        The general trait, of norm sqrt(models); None where none pulls.
    strength
        Of the pull on traits of the domain's own, in units of its loss.
    strides
        Grid points between nodes, where each model has a curve of its own: around a domain's own
        traits, which move by at most twice that in a repeat, and around the general one.

    Notes
    -----
    Cost of either candidate: two passes over complete blocks; where cells are
    missing, cells x 12 multiplications.
    """
    found_own = found_fused = None
    if own is not None:
        found_own = own_traits(executor, blocks, task, own, general, strength, strides[0])
    if fused is not None and general is not None:
        found_fused = at_general(executor, blocks, task, fused, general, strides[1])
    return JointUpdate(found_own, found_fused)


def own_traits(
    executor: Executor,
    blocks: Sequence[Sequence[ResponseBlock]],
    task: JointTask,
    own: Candidate,
    general: Float | None,
    strength: float,
    stride: int,
) -> Candidate:
    """One update of traits, and of items at them."""
    items = [own.items.columns(part) for part in task.columns]
    scores, curves = curves_around(executor, blocks, task, items, own.traits, stride)
    theta = executor.submit(
        moved_traits, task, own.traits, scores, curves, general, strength, stride
    )
    updates = updated_items(executor, blocks, task, items, theta)
    return candidate(executor.gather([theta])[0], executor.gather(updates))


def at_general(
    executor: Executor,
    blocks: Sequence[Sequence[ResponseBlock]],
    task: JointTask,
    items: Items,
    general: Float,
    stride: int,
) -> FusedUpdate:
    """The domain's items at the general trait, and its curves around there."""
    parts: list[Any] = [items.columns(part) for part in task.columns]
    updates = updated_items(executor, blocks, task, parts, general)
    parts = executor.submit_all(items_of, [(update,) for update in updates])
    scores, curves = curves_around(executor, blocks, task, parts, general, stride)
    score, curve = executor.gather(
        [
            executor.submit(whole, scores),
            executor.submit(whole, [curves] if task.shared else curves),
        ]
    )
    return FusedUpdate(candidate(general, executor.gather(updates)), score, curve)


def candidate(theta: Float, updates: Sequence[BoxedItems]) -> Candidate:
    """Traits with their items put together from item chunks."""
    items = Items(*map(np.concatenate, zip(*(update.items for update in updates), strict=True)))
    return Candidate(theta, items, float(sum(update.losses.sum() for update in updates)))


def curves_around(
    executor: Executor,
    blocks: Sequence[Sequence[ResponseBlock]],
    task: JointTask,
    items: Sequence[Any],
    theta: Any,
    stride: int,
) -> tuple[list[list[Any]], list[Any]]:
    """Scores by model and item chunk; curves by item chunk if shared, else by model and item."""
    pairs = [pair for row in blocks for pair in zip(row, items, strict=True)]
    scores = grid_of(executor.submit_all(trait_score, pairs), len(items))
    if task.shared:
        return scores, executor.submit_all(shared_curve, [(part, GRID) for part in items])
    calls = [
        (block, part, theta, rows, stride)
        for row, rows in zip(blocks, task.rows, strict=True)
        for block, part in zip(row, items, strict=True)
    ]
    return scores, grid_of(executor.submit_all(curves_of_rows, calls), len(items))


def updated_items(
    executor: Executor,
    blocks: Sequence[Sequence[ResponseBlock]],
    task: JointTask,
    items: Sequence[Any],
    theta: Any,
) -> list[Any]:
    """Handles of `BoxedItems` at the traits, by item chunk."""
    statistics = statistics_at(executor, blocks, task, theta, task.shared)
    return executor.submit_all(
        boxed_items,
        [
            (of_chunk, task.successes[part], task.attempts[part], before, task.held[part], GRID)
            for *of_chunk, part, before in zip(*statistics, task.columns, items, strict=True)
        ],
    )


def statistics_at(
    executor: Executor,
    blocks: Sequence[Sequence[ResponseBlock]],
    task: JointTask,
    theta: Any,
    shared: bool,
) -> list[list[Any]]:
    """Handles of `ItemStatistics` at known traits, by model and item chunk."""
    points = executor.submit_all(point_posterior, [(theta, rows, shared) for rows in task.rows])
    pairs = [
        (block, point, GRID, guessed)
        for row, point in zip(blocks, points, strict=True)
        for block, guessed in zip(row, task.guessed, strict=True)
    ]
    return grid_of(executor.submit_all(item_statistics, pairs), len(task.columns))


def point_posterior(theta: Float, rows: slice, shared: bool) -> Posterior:
    """The traits of a model chunk as points."""
    return at_traits(theta[rows], GRID, shared)


def curves_of_rows(
    block: ResponseBlock, items: Items, theta: Float, rows: slice, stride: int
) -> Float:
    """The curves of a block's models over its cells, around their traits."""
    return window_curves(block, items, GRID, window_at(theta[rows], GRID, stride))


def items_of(update: BoxedItems) -> Items:
    """The parameters of an item update."""
    return update.items


def whole(parts: Sequence[Sequence[Float]]) -> Float:
    """Model chunks one below the other, item chunks added."""
    return np.concatenate([added(row) for row in parts])


def moved_traits(
    task: JointTask,
    theta: Float,
    scores: Sequence[Sequence[Float]],
    curves: Sequence[Any],
    general: Float | None,
    strength: float,
    stride: int,
) -> Float:
    """Newton steps of a domain's own traits under the pull of the general one."""
    towards = np.zeros((len(theta), 0)) if general is None else general[:, None]
    pull = Pull(towards, np.full(towards.shape[1], strength))
    curve = added(list(curves)) if task.shared else whole(curves)
    return trait_newton(theta, whole(scores), curve, pull, stride)


def trait_newton(theta: Float, score: Float, curve: Float, pull: Pull, stride: int) -> Float:
    """`sphere_step` on a shared curve, shape (count,), or on curves at the traits' windows."""
    if curve.ndim == 1:
        return sphere_step(theta, score, TraitCurves.shared(curve, GRID), pull, NEWTON_STEPS)
    around = TraitCurves.on_windows(curve, window_at(theta, GRID, stride), GRID)
    reach = 2.0 * stride * GRID.step
    return sphere_step(theta, score, around, pull, NEWTON_STEPS, reach)
