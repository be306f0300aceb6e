"""The alternation: domain steps, shared step, standardise; until nothing moves."""

from __future__ import annotations

import time
from dataclasses import replace
from typing import Any

import numpy as np
import numpy.typing as npt

from mtlirt.cluster.executor import Executor
from mtlirt.engine import marginal
from mtlirt.engine.acceleration import Anderson
from mtlirt.engine.domain import DomainUpdate, domain_step
from mtlirt.engine.events import RoundEvent, RoundListener
from mtlirt.engine.factors import takers_cavities
from mtlirt.engine.options import FitOptions
from mtlirt.engine.placement import PlacedDomain
from mtlirt.engine.progress import Keep, Progress
from mtlirt.engine.revision import confirmed_pooling, revised_pooling, revised_rank
from mtlirt.engine.state import State
from mtlirt.engine.steps import run_steps
from mtlirt.engine.traits import DomainTask
from mtlirt.irt.curves import FITTING
from mtlirt.irt.kernels import Float
from mtlirt.irt.slopes import SlopePrior
from mtlirt.irt.traits import Cavity, combined

LINEAR = 0.1
"""Acceleration begins when the largest change of a round falls below this."""

STILL_NATS = 10.0
"""A log-likelihood that moves by less than this times the tolerance stands still."""

FLATNESS_ROUNDS = 25
"""The evidence for a trait behind each domain is weighed on convergence, and every so many rounds
after a revision: items that have just been started anew have none yet."""

REVISION_ROUND = 15
"""Pooling, and then the rank, are chosen on convergence, or after so many rounds without:
domains torn between two traits converge slowly."""

REVISIONS = (revised_pooling, revised_rank)
"""What estimator `marginal` chooses, each once, in this order."""


def run_rounds(
    executor: Executor,
    domains: list[PlacedDomain],
    options: FitOptions,
    progress: Progress,
    listener: RoundListener,
    keep: Keep,
) -> Progress:
    """Alternate until converged or out of rounds.

    A round costs two passes over every domain's responses for each of `options.repeats`, and a
    shared step of models x domains x rank^2.

    Parameters
    ----------
    progress
        Where to begin or go on.
    listener, keep
        Called after every round.
    """
    while not progress.converged and len(progress.history) < options.max_rounds:
        progress = next_round(executor, domains, options, progress)
        listener(progress.history[-1])
        keep(progress.arrays())
    return progress


def next_round(
    executor: Executor, domains: list[PlacedDomain], options: FitOptions, progress: Progress
) -> Progress:
    """One round more."""
    began = time.perf_counter()
    state, number = progress.state, len(progress.history) + 1
    priors = takers_cavities(
        executor.here, state.precision, state.shift, state.representation, state.alone
    )
    ridge = marginal.ridges(domains, state)
    calls = domain_calls(domains, state, priors, ridge, options.repeats)
    updates = run_steps(executor, domain_step, domains, calls)
    between = time.perf_counter()
    since = number - progress.revised_in
    shared = marginal.shared_step(executor.here, domains, state, updates, ridge, since, options)
    change = largest_change(state, shared.state)
    settled = change <= options.tolerance and still(progress, shared.objective, options.tolerance)
    flat = np.zeros(len(domains), bool)
    if options.priors and (settled or since % FLATNESS_ROUNDS == 0):
        flat = newly_flat(domains, state, updates, priors, ridge)
    revised, revisions = shared.state, progress.revisions
    if (settled or since >= REVISION_ROUND) and not flat.any():
        revised, revisions = revision(executor, domains, shared.state, revisions, options)
        if settled and revised is shared.state:
            revised = confirmed_pooling(executor, domains, shared.state, options)
    changed = revised is not shared.state
    event = RoundEvent(
        number,
        shared.objective,
        change,
        shared.state.representation.rank,
        0,
        between - began,
        time.perf_counter() - between,
        settled and not flat.any() and not changed,
    )
    memory = Anderson()
    if changed:
        after = revised
    elif flat.any():
        after = marginal.flatten(domains, shared.state, flat)
    elif event.converged or change > LINEAR:
        after = shared.state
    else:
        memory = progress.memory.copy()
        after = accelerated(memory, state, shared.state)
    return Progress(
        after,
        shared.state,
        memory,
        revisions,
        number if changed else progress.revised_in,
        (*progress.history, event),
    )


def still(progress: Progress, objective: float, tolerance: float) -> bool:
    """Whether the objective stands still."""
    gain = objective - (progress.history[-1].objective if progress.history else -np.inf)
    return bool(abs(gain) <= tolerance * max(1e-3 * abs(objective), STILL_NATS))


def revision(
    executor: Executor,
    domains: list[PlacedDomain],
    state: State,
    done: int,
    options: FitOptions,
) -> tuple[State, int]:
    """The state after the next revision that changes it, or itself, and how many are done."""
    revised = state
    while options.estimator == "marginal" and done < len(REVISIONS) and revised is state:
        revised = REVISIONS[done](executor, domains, state, options)
        done += 1
    return revised, done


def largest_change(before: State, after: State) -> float:
    """Largest change of an item parameter x over 1 + abs(x), or of a uniqueness."""
    items = max(
        float((np.abs(new - old) / (1.0 + np.abs(old))).max())
        for parts in zip(before.items, after.items, strict=True)
        for old, new in zip(*(part[:2] for part in parts), strict=True)
    )
    moved = np.abs(after.representation.uniqueness - before.representation.uniqueness)
    return max(items, float(moved.max()))


def accelerated(memory: Anderson, before: State, after: State) -> State:
    """Where to go on from: the items and slope priors of all domains, moved on together.

    Residuals are measured in standard errors, so that steep slopes do not hide the others.
    """
    domains = range(len(after.items))
    weight = []
    for information in after.information:
        aa, _, dd = np.sqrt(np.maximum(information, 0.0)).T
        weight.append(np.concatenate([aa, dd, [1.0, 1.0]]))
    moved = memory.step(
        np.concatenate([iterate(before, t) for t in domains]),
        np.concatenate([iterate(after, t) for t in domains]),
        np.concatenate(weight),
    )
    ends = np.cumsum([len(part) for part in weight])
    items, priors = [], []
    for t, part in enumerate(np.split(moved, ends[:-1])):
        slope, intercept = np.split(part[:-2], 2)
        items.append(after.items[t]._replace(slope=slope, intercept=intercept))
        prior = after.slope_priors[t]
        if prior.precision > 0.0:
            prior = SlopePrior(float(part[-2]), float(np.exp(part[-1])))
        priors.append(prior)
    return replace(after, items=tuple(items), slope_priors=tuple(priors))


def iterate(state: State, t: int) -> Float:
    """A domain's parameters as one vector: slopes, intercepts, prior mean, log precision."""
    prior, items = state.slope_priors[t], state.items[t]
    log_precision = np.log(prior.precision) if prior.precision > 0.0 else 0.0
    return np.concatenate([items.slope, items.intercept, [prior.mean, log_precision]])


def domain_calls(
    domains: list[PlacedDomain], state: State, priors: Cavity, ridge: Float, repeats: int
) -> list[tuple[Any, ...]]:
    """The arguments of every domain's `domain_step` in a round."""
    ridged = priors.with_ridge(ridge)
    near = Cavity(*combined(ridged, state.precision - ridge, state.shift))
    return [
        (
            DomainTask.of(domain, state.held[t]),
            state.items[t],
            state.slope_priors[t],
            domain.parts(ridged, t),
            [] if domain.one_curve else domain.parts(near, t),
            repeats,
            FITTING,
        )
        for t, domain in enumerate(domains)
    ]


def newly_flat(
    domains: list[PlacedDomain],
    state: State,
    updates: list[DomainUpdate],
    priors: Cavity,
    ridge: Float,
) -> npt.NDArray[np.bool_]:
    """Domains whose responses speak against any trait, by more than log(models), weighted."""
    found = marginal.evidence(domains, state, updates, priors, ridge)
    limits = -np.log([domain.taker_weights.sum() for domain in domains])
    already = np.array([held.all() for held in state.held])
    return np.asarray((found < limits) & ~already)
