"""Run a step for all domains at once: whole domains as one task, split ones as many."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

from mtlirt.cluster.local import Executor, Inline
from mtlirt.engine.placement import PlacedDomain
from mtlirt.irt.blocks import ResponseBlock


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
