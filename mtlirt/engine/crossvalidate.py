"""Cross-validation of the joint estimator's penalty over cells."""

from __future__ import annotations

from collections.abc import Callable, Generator, Sequence
from dataclasses import dataclass, replace
from functools import partial
from typing import Any

import numpy as np
import numpy.typing as npt
import pandas as pd
from pandas.util import hash_array

from mtlirt.cluster.executor import Executor
from mtlirt.engine.events import Listener, PathEvent
from mtlirt.engine.joint import joint_rounds
from mtlirt.engine.joint_domain import GRID, Candidate, JointTask, statistics_at
from mtlirt.engine.joint_problem import JointProblem, JointState, first_state, joint_problem
from mtlirt.engine.joint_progress import (
    FoldProgress,
    JointProgress,
    standing_arrays,
    standing_from,
)
from mtlirt.engine.lockstep import Alternation, Result, Steps, run_alternations
from mtlirt.engine.placement import PlacedDomain, grid_of, item_totals
from mtlirt.engine.progress import Arrays, Keep
from mtlirt.errors import InputError
from mtlirt.irt.blocks import BlockCounts, count_block
from mtlirt.irt.box import item_losses
from mtlirt.irt.curves import Items
from mtlirt.irt.folds import fold_labels, part_of_block
from mtlirt.irt.items import ItemStatistics, added_statistics
from mtlirt.irt.kernels import Float
from mtlirt.responses.matrix import Responses

FOLD_TOLERANCE = 100.0
"""The fits of folds end at so many times the tolerance of the last one."""


@dataclass(frozen=True)
class Path:
    """Held-out losses along the penalties.

    Attributes
    ----------
    penalties
        C, ascending.
    losses, fused
        Mean over domains of the held-out mean negative log-likelihood of a cell, and number of
        domains fused to the general trait; shape (folds, penalties).
    """

    penalties: Sequence[float]
    losses: Float
    fused: npt.NDArray[np.int64]

    @property
    def penalty(self) -> float:
        """The chosen one: of least loss, the smaller of equals."""
        return float(self.penalties[int(np.argmin(self.losses.mean(axis=0)))])

    @property
    def table(self) -> pd.DataFrame:
        """`Fit.path`: means over folds, and the standard error of that of losses, by C."""
        index = pd.Index(self.penalties, name="penalty", dtype=np.float64)
        return pd.DataFrame(
            {
                "loss": self.losses.mean(axis=0),
                "loss_se": self.losses.std(axis=0, ddof=1) / np.sqrt(len(self.losses)),
                "fused": self.fused.mean(axis=0),
                "chosen": index == self.penalty,
            },
            index=index,
        )

    def arrays(self) -> dict[str, npt.NDArray[np.generic]]:
        """What the folds came to, by name."""
        return {"losses": self.losses, "fused": self.fused}


def cross_validate(
    executor: Executor,
    responses: Responses,
    problem: JointProblem,
    penalties: Sequence[float],
    folds: int,
    tolerance: float,
    max_rounds: int,
    listener: Listener,
    kept: Arrays,
    keep: Keep,
) -> Path:
    """Choose C by cross-validation over cells (arXiv 2610.05613).

    Each model's answered items are dealt into folds within each domain, by hashes of the ids. The
    paths of all folds run side by side, each from small to large C, every fit starting from the
    one before. Loss is divided by the training cells a model, and lambda is that of the full fit.
    Memory: a byte a cell beside the responses, and copies of the blocks in work.

    Parameters
    ----------
    kept
        Where to go on, if at all.
    keep
        Called once all folds have their starts, and each time that all have another C behind them.

    Raises
    ------
    InputError
        If no domain has as many items as there are folds, or a fold holds out, or leaves, nothing
        to tell models apart by.
    """
    path = sorted(penalties)
    if "losses" in kept:
        return Path(path, kept["losses"], kept["fused"])
    longest = max(len(domain.cells) for domain in problem.domains)
    if folds > longest:
        raise InputError(f"folds {folds}: no domain has as many items, the longest has {longest}")
    labels = deal(executor, responses, problem.domains, folds)
    names = [f"fold{fold}" for fold in range(folds)]
    standing = standing_from(FoldProgress, kept, names, problem.domains)

    def done() -> int:
        return min(len(standing[name].losses) if name in standing else -1 for name in names)

    def keep_fold(name: str, progress: FoldProgress) -> None:
        before = done()
        standing[name] = progress
        if done() > before:
            keep(standing_arrays(standing))

    paths = [
        fold_path(
            problem,
            labels,
            fold,
            path,
            tolerance,
            max_rounds,
            listener,
            standing.get(name),
            partial(keep_fold, name),
        )
        for fold, name in enumerate(names)
    ]
    found = run_alternations(executor, paths)
    losses = np.array([fold.losses for fold in found])
    fused = np.array([fold.fused for fold in found])
    if not np.isfinite(losses).all():
        fold = int(np.flatnonzero(~np.isfinite(losses).all(axis=1))[0])
        raise InputError(
            f"fold {fold + 1} of cross-validation holds out no items that tell models apart; ask "
            "for fewer folds, or give a penalty"
        )
    return Path(path, losses, fused)


def deal(
    executor: Executor, responses: Responses, domains: Sequence[PlacedDomain], folds: int
) -> list[list[Any]]:
    """Handles of the folds of all cells, by domain and model chunk."""
    models = hash_array(responses.models.index.to_numpy(dtype=object))
    out = []
    for domain in domains:
        ids = responses.item_ids(domain.name).to_numpy(dtype=object)
        items = hash_array(ids) ^ hash_array(np.array([domain.name], dtype=object))
        calls = [
            (row, models[rows], items, folds)
            for row, rows in zip(domain.blocks, domain.takers, strict=True)
        ]
        out.append(executor.submit_all(fold_labels, calls))
    return out


def fold_path(
    full: JointProblem,
    labels: Sequence[list[Any]],
    fold: int,
    penalties: Sequence[float],
    tolerance: float,
    max_rounds: int,
    listener: Listener,
    progress: FoldProgress | None,
    keep: Callable[[FoldProgress], None],
) -> Alternation[FoldProgress]:
    """Held-out losses of one fold at every C, and the numbers of fused domains.

    Parameters
    ----------
    progress
        Where to go on; None begins.
    keep
        Called before the first C, and after each.
    """

    def fitted(state: JointState, penalty: float) -> Alternation[JointState]:
        begin = JointProgress.of(state)
        rounds = joint_rounds(problem, begin, penalty, FOLD_TOLERANCE * tolerance, max_rounds)
        ended = yield from trained(rounds, problem, labels, fold)
        return ended.last

    problem = yield from training_problem(full, labels, fold)
    if progress is None:
        local = yield from fitted(first_state(problem), 0.0)
        one_for_all = yield from fitted(local, np.inf)
        progress = FoldProgress(local, replace(one_for_all, own=(None,) * len(full.tasks)))
        keep(progress)
    for penalty in penalties[len(progress.losses) :]:
        state, one_for_all = progress.state, progress.one_for_all
        if penalty > 0.0 and progress.fused[-1:] != (len(full.tasks),):
            state = yield from fitted(state, penalty)
            if state.objective > one_for_all.objective:
                state = replace(one_for_all, own=state.own)
                state = yield from fitted(state, penalty)
        calls = [
            (labels[t], fold, True, heldout_step, (task, candidate, heldout(full, problem, t)))
            for t, (task, candidate) in enumerate(zip(problem.tasks, state.chosen, strict=True))
        ]
        found: list[float] = yield Steps(in_fold, full.domains, calls)
        loss = float(np.mean(found))
        progress = FoldProgress(
            state,
            one_for_all,
            (*progress.losses, loss),
            (*progress.fused, int(state.fused.sum())),
        )
        listener(PathEvent(fold + 1, penalty, loss))
        keep(progress)
    return progress


def trained(
    alternation: Alternation[Result],
    problem: JointProblem,
    labels: Sequence[list[Any]],
    fold: int,
) -> Generator[Steps, list[Any], Result]:
    """The same alternation, on the cells outside the fold."""
    steps = next(alternation)
    while True:
        calls = [(labels[t], fold, False, steps.step, call) for t, call in enumerate(steps.calls)]
        found = yield Steps(in_fold, problem.domains, calls)
        try:
            steps = alternation.send(found)
        except StopIteration as ended:
            result: Result = ended.value
            return result


def in_fold(
    executor: Executor,
    blocks: Sequence[Sequence[Any]],
    labels: Sequence[Any],
    fold: int,
    held_out: bool,
    step: Callable[..., Any],
    call: tuple[Any, ...],
) -> Any:
    """Run a step on the cells outside a fold, or on those held out; its first argument is a task.

    The parts of the blocks live as long as the step.
    """
    task: JointTask = call[0]
    calls = [
        (block, of_row, columns, fold, held_out)
        for row, of_row in zip(blocks, labels, strict=True)
        for block, columns in zip(row, task.columns, strict=True)
    ]
    parts = grid_of(executor.submit_all(part_of_block, calls), len(task.columns))
    return step(executor, parts, *call)


def training_problem(
    full: JointProblem, labels: Sequence[list[Any]], fold: int
) -> Alternation[JointProblem]:
    """The problem of the cells outside a fold, with the full problem's lambda."""
    calls = [(labels[t], fold, False, count_step, (task,)) for t, task in enumerate(full.tasks)]
    counts: list[list[list[BlockCounts]]] = yield Steps(in_fold, full.domains, calls)
    domains = [
        replace(
            domain,
            **item_totals(grid),
            answered=by_model(domain, grid, "model_cells"),
            score=by_model(domain, grid, "model_successes"),
            tries=by_model(domain, grid, "model_attempts"),
        )
        for domain, grid in zip(full.domains, counts, strict=True)
    ]
    try:
        problem = joint_problem(domains, "common")
    except InputError as error:
        raise InputError(
            f"cross-validation, without the answers of fold {fold + 1}: {error}, ask for more "
            "folds, or give a penalty"
        ) from None
    return replace(problem, scales=full.scales)


def by_model(domain: PlacedDomain, grid: Sequence[Sequence[BlockCounts]], total: str) -> Any:
    """A total by model of counted blocks, 0 for models without the domain."""
    found = np.concatenate([sum(getattr(counts, total) for counts in row) for row in grid])
    out = np.zeros(len(domain.answered), found.dtype)
    out[domain.models] = found
    return out


def count_step(
    executor: Executor, blocks: Sequence[Sequence[Any]], task: JointTask
) -> list[list[BlockCounts]]:
    """Count every block of a domain."""
    calls = [(block,) for row in blocks for block in row]
    counted = executor.gather(executor.submit_all(count_block, calls))
    return grid_of(counted, len(task.columns))


@dataclass(frozen=True)
class Heldout:
    """Totals by item of the cells that a fold holds out."""

    successes: Float
    attempts: Float


def heldout(full: JointProblem, training: JointProblem, t: int) -> Heldout:
    """The totals of a domain's cells that training is without."""
    whole, part = full.domains[t], training.domains[t]
    return Heldout(whole.successes - part.successes, whole.attempts - part.attempts)


def heldout_step(
    executor: Executor,
    blocks: Sequence[Sequence[Any]],
    task: JointTask,
    candidate: Candidate,
    totals: Heldout,
) -> float:
    """Mean negative log-likelihood of held-out cells, items left out of training left out."""
    statistics = statistics_at(executor, blocks, task, candidate.traits, shared=False)
    calls = [
        (of_chunk, totals.successes[part], totals.attempts[part], candidate.items.columns(part))
        for *of_chunk, part in zip(*statistics, task.columns, strict=True)
    ]
    losses = np.concatenate(executor.gather(executor.submit_all(chunk_losses, calls)))
    kept = ~task.held
    cells = totals.attempts[kept].sum()
    return float(losses[kept].sum() / cells) if cells > 0.0 else np.nan


def chunk_losses(
    statistics: Sequence[ItemStatistics], successes: Float, attempts: Float, items: Items
) -> Float:
    """`item_losses` of one item chunk."""
    return item_losses(added_statistics(statistics), successes, attempts, items, GRID)
