"""The alternation: domain steps, shared step, standardise; until nothing moves."""

from __future__ import annotations

import time
from collections.abc import Callable
from dataclasses import dataclass, replace

import numpy as np

from mtlirt.cluster.local import Executor
from mtlirt.engine import marginal
from mtlirt.engine.acceleration import Anderson
from mtlirt.engine.domain import DomainTask, domain_step, run_steps
from mtlirt.engine.marginal import State
from mtlirt.engine.options import FitOptions
from mtlirt.engine.placement import PlacedDomain
from mtlirt.irt.curves import FITTING, Items
from mtlirt.irt.traits import Cavity, combined

NEWTON_STEPS = 1
NEWTON_STEPS_FIRST_ROUND = 3


@dataclass(frozen=True)
class RoundEvent:
    """What a round did.

    Attributes
    ----------
    number
        Of the round, from 1.
    log_likelihood
        Marginal log-likelihood at the parameters before the round's item updates.
    change
        Largest change of a slope or intercept x in the round, over 1 + abs(x).
    rank
        Number of factors after the round.
    domain_seconds, shared_seconds
        Time of the domain steps and of the shared step.
    converged
        Whether this round ended the fit by convergence.
    """

    number: int
    log_likelihood: float
    change: float
    rank: int
    domain_seconds: float
    shared_seconds: float
    converged: bool


def largest_change(before: tuple[Items, ...], after: tuple[Items, ...]) -> float:
    """Largest change of a parameter x over 1 + abs(x)."""
    return max(
        float((np.abs(new - old) / (1.0 + np.abs(old))).max())
        for parts in zip(before, after, strict=True)
        for old, new in zip(*parts, strict=True)
    )


def accelerated(
    memories: list[Anderson], before: tuple[Items, ...], after: tuple[Items, ...]
) -> tuple[Items, ...]:
    """Where to go on from, domain by domain."""
    out = []
    for memory, old, new in zip(memories, before, after, strict=True):
        moved = memory.step(np.concatenate(old), np.concatenate(new))
        out.append(Items(*np.split(moved, 2)))
    return tuple(out)


def run_rounds(
    executor: Executor,
    domains: list[PlacedDomain],
    options: FitOptions,
    listener: Callable[[RoundEvent], None],
) -> tuple[State, list[RoundEvent]]:
    """Alternate until converged or out of rounds; the state and the history.

    A round costs two passes over every domain's responses for each of `options.repeats`, and a
    shared step of models x domains x rank^2.
    """
    tasks = [DomainTask.of(domain) for domain in domains]
    state = marginal.start(domains, options)
    memories = [Anderson() for _ in domains]
    plain, history = state.items, list[RoundEvent]()
    for number in range(1, options.max_rounds + 1):
        began = time.perf_counter()
        everyone, _ = marginal.cavities(
            executor, state.precision, state.shift, state.representation
        )
        calls = []
        for t, (domain, task) in enumerate(zip(domains, tasks, strict=True)):
            cavities = [
                Cavity(everyone.mean[rows, t], everyone.variance[rows, t]) for rows in domain.takers
            ]
            guesses = [
                Cavity(*combined(cavity, state.precision[rows, t], state.shift[rows, t]))
                for cavity, rows in zip(cavities, domain.takers, strict=True)
            ]
            calls.append(
                (
                    task,
                    state.items[t],
                    state.slope_priors[t],
                    cavities,
                    guesses,
                    options.repeats,
                    NEWTON_STEPS_FIRST_ROUND if number == 1 else NEWTON_STEPS,
                    FITTING,
                )
            )
        updates = run_steps(executor, domain_step, domains, calls)
        between = time.perf_counter()
        shared = marginal.shared_step(executor, domains, state, updates, number, options)
        change = largest_change(state.items, shared.state.items)
        gain = shared.log_likelihood - (history[-1].log_likelihood if history else -np.inf)
        still = abs(gain) <= 1e-3 * options.tolerance * abs(shared.log_likelihood)
        event = RoundEvent(
            number,
            shared.log_likelihood,
            change,
            shared.state.representation.rank,
            between - began,
            time.perf_counter() - between,
            still and change <= options.tolerance and number > marginal.RANK_ROUND,
        )
        history.append(event)
        listener(event)
        if event.converged:
            return shared.state, history
        if gain < -1e-9 * abs(shared.log_likelihood):
            for memory in memories:
                memory.forget()
            state = replace(shared.state, items=plain)
            plain = state.items
            continue
        plain = shared.state.items
        state = replace(shared.state, items=accelerated(memories, state.items, plain))
    return state, history
