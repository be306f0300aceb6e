"""Run a step for all domains at once: one task where blocks are together, else many."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

from mtlirt.cluster.executor import Executor
from mtlirt.cluster.local import Inline
from mtlirt.engine.placement import PlacedDomain
from mtlirt.irt.blocks import ResponseBlock


def in_place(
    step: Callable[..., Any], blocks: list[list[ResponseBlock]], args: tuple[Any, ...]
) -> Any:
    """Run a step on blocks at hand."""
    return step(Inline(), blocks, *args)


def start_steps(
    executor: Executor,
    step: Callable[..., Any],
    domains: Sequence[PlacedDomain],
    calls: Sequence[tuple[Any, ...]],
) -> list[Any]:
    """Start a step for all domains; handles of those together, what the step returns of others.

    Parameters
    ----------
    step
        Called as ``step(executor, blocks, *call)``; by one task where the blocks are together.
    calls
        Its further arguments, domain by domain.
    """
    largest_first = sorted(range(len(domains)), key=lambda t: domains[t].size, reverse=True)
    whole = [t for t in largest_first if domains[t].together]
    handles = executor.submit_all(in_place, [(step, domains[t].blocks, calls[t]) for t in whole])
    started = dict(zip(whole, handles, strict=True))
    for t in largest_first:
        if t not in started:
            started[t] = step(executor, domains[t].blocks, *calls[t])
    return [started[t] for t in range(len(domains))]


def finish_steps(
    executor: Executor, domains: Sequence[PlacedDomain], started: Sequence[Any]
) -> list[Any]:
    """The results of started steps."""
    results = list(started)
    whole = [t for t, domain in enumerate(domains) if domain.together]
    for t, found in zip(whole, executor.gather([results[t] for t in whole]), strict=True):
        results[t] = found
    return results


def run_steps(
    executor: Executor,
    step: Callable[..., Any],
    domains: Sequence[PlacedDomain],
    calls: Sequence[tuple[Any, ...]],
) -> list[Any]:
    """The results of a step for all domains; see `start_steps`."""
    return finish_steps(executor, domains, start_steps(executor, step, domains, calls))
