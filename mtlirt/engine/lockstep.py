"""Run several alternations side by side, the domain steps of all in one go."""

from __future__ import annotations

from collections.abc import Callable, Generator, Sequence
from dataclasses import dataclass
from typing import Any, TypeVar

from mtlirt.cluster.executor import Executor
from mtlirt.engine.placement import PlacedDomain
from mtlirt.engine.steps import finish_steps, start_steps

Result = TypeVar("Result")


@dataclass(frozen=True)
class Steps:
    """A step of some domains that an alternation wants done.

    Attributes
    ----------
    step
        Called as ``step(executor, blocks, *call)``, see `engine.steps`.
    domains
        Those of the step.
    calls
        Its further arguments, domain by domain.
    """

    step: Callable[..., Any]
    domains: Sequence[PlacedDomain]
    calls: Sequence[tuple[Any, ...]]


Alternation = Generator[Steps, list[Any], Result]
"""Yields steps, is sent their results, returns what it came to."""


def run_alternations(
    executor: Executor, alternations: Sequence[Alternation[Result]]
) -> list[Result]:
    """Run alternations to their ends; returns what they return."""
    results: dict[int, Result] = {}
    wanted: dict[int, Steps] = {}

    def send(k: int, found: Any, upcoming: dict[int, Steps]) -> None:
        try:
            upcoming[k] = alternations[k].send(found)
        except StopIteration as ended:
            results[k] = ended.value

    for k in range(len(alternations)):
        send(k, None, wanted)
    while wanted:
        started = {
            k: start_steps(executor, steps.step, steps.domains, steps.calls)
            for k, steps in wanted.items()
        }
        upcoming: dict[int, Steps] = {}
        for k, steps in wanted.items():
            send(k, finish_steps(executor, steps.domains, started[k]), upcoming)
        wanted = upcoming
    return [results[k] for k in range(len(alternations))]
