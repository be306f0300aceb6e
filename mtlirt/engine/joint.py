"""Estimator `joint` (arXiv 2610.05613): its rounds, and at either end `local` and `global`."""

from __future__ import annotations

import time
from collections.abc import Callable, Sequence
from dataclasses import replace
from typing import Any

import numpy as np

from mtlirt.engine.acceleration import Anderson
from mtlirt.engine.events import RoundEvent
from mtlirt.engine.joint_domain import (
    GRID,
    Candidate,
    FusedUpdate,
    JointUpdate,
    joint_step,
    trait_newton,
)
from mtlirt.engine.joint_problem import WIDEST, JointProblem, JointState
from mtlirt.engine.joint_progress import JointProgress
from mtlirt.engine.lockstep import Alternation, Steps
from mtlirt.irt.interpolation import TraitCurves, window_at, window_values
from mtlirt.irt.kernels import Float
from mtlirt.irt.median import sine_median, sines
from mtlirt.irt.sphere import Pull, fitted_to_box, released

STILL = 1e-6
"""The last rounds lower the objective by less than this times the tolerance, relatively."""

STILL_ROUNDS = 2
"""So many: a domain leaves the general trait slowly at first. As many again where a fused domain
is drawn away from the general trait as it stands then."""

COLLAPSED = 1e-5
"""A trait of a domain's own at a smaller sine from the general one counts as fused to it."""


def unheard(progress: JointProgress) -> None:
    """Do nothing after a round."""


def joint_rounds(
    problem: JointProblem,
    progress: JointProgress,
    penalty: float,
    tolerance: float,
    max_rounds: int,
    hear: Callable[[JointProgress], None] = unheard,
) -> Alternation[JointProgress]:
    """Alternate domain steps and general trait; the objective never rises.

    Parameters
    ----------
    progress
        Where to begin or go on.
    penalty
        C. At 0 every domain is by itself and the general trait is their sine median (`local`); at
        infinity one trait serves all (`global`).
    tolerance
        The alternation ends when `STILL_ROUNDS` lower the objective by less than `STILL` of it.
    hear
        Called after every round.

    Returns
    -------
    JointProgress
        After the last round: what it came to is the fit.
    """
    while not progress.converged and len(progress.history) < max_rounds:
        began = time.perf_counter()
        state, last, number = progress.state, progress.last, len(progress.history) + 1
        calls = domain_calls(problem, state, penalty, number == 1)
        updates: list[JointUpdate] = yield Steps(joint_step, problem.domains, calls)
        between = time.perf_counter()
        after = settled(problem, penalty, updates, state)
        gain = last.objective - after.objective if number > 1 else np.inf
        if gain < 0.0 and state is not progress.plain:
            progress = replace(progress, state=progress.plain, memory=Anderson())
            continue
        if gain < 0.0:  # by the error of interpolation: nothing is left to gain
            after = last
        still = progress.still + 1 if gain <= STILL * tolerance * after.objective else 0
        change = largest_move(last, after)
        if still == STILL_ROUNDS:
            after = at_rest(after)
        own = kept_apart(problem, penalty, updates, after)
        leaving = after.fused & np.array([part is not None for part in own])
        done = still >= STILL_ROUNDS * (2 if leaving.any() else 1)
        plain = moved = after
        memory = Anderson()
        if not done:
            plain = replace(moved_on(problem, penalty, updates, state, after), own=own)
            if np.array_equal(after.fused, last.fused):
                memory = progress.memory.copy()
            moved = accelerated(memory, state, plain)
        event = RoundEvent(
            number,
            after.objective,
            change,
            0,
            int(after.fused.sum()),
            between - began,
            time.perf_counter() - between,
            done,
        )
        progress = JointProgress(moved, plain, after, memory, still, (*progress.history, event))
        hear(progress)
    if penalty == 0.0:
        last = progress.last
        general = sine_median(own_traits(last), problem.scales).general
        return replace(progress, last=replace(last, general=general))
    return progress


def moved_on(
    problem: JointProblem,
    penalty: float,
    updates: Sequence[JointUpdate],
    state: JointState,
    after: JointState,
) -> JointState:
    """Where the next round starts: the general trait moved, windows fitted to the moves."""
    general = next_general(problem, penalty, updates, after)
    return replace(
        after,
        general=general,
        strides=next_strides(own_traits(state), own_traits(after)),
        general_stride=next_strides(state.general, general)[0],
    )


def accelerated(memory: Anderson, before: JointState, plain: JointState) -> JointState:
    """The general trait and the domains' own, moved on together by what earlier rounds tell.

    What is slow is that they move as one: given the general trait the domains follow it, and it
    follows them.
    """
    point = np.column_stack([before.general, own_traits(before)])
    image = np.column_stack([plain.general, own_traits(plain)])
    moved = memory.step(point.ravel(), image.ravel(), np.ones(image.size)).reshape(image.shape)
    if np.array_equal(moved, image):
        return plain
    general = fitted_to_box(moved[:, 0])
    if general is None:
        return plain
    own = []
    for t, part in enumerate(plain.own):
        traits = None if part is None else fitted_to_box(moved[:, 1 + t])
        own.append(part if part is None or traits is None else replace(part, traits=traits))
    return replace(plain, own=tuple(own), general=general)


def domain_calls(
    problem: JointProblem, state: JointState, penalty: float, first: bool
) -> list[tuple[Any, ...]]:
    """The arguments of every domain's `joint_step`.

    The first round, which is never the last, tries the general trait only on domains fused to it.
    """
    calls = []
    for t, (task, own, fused) in enumerate(
        zip(problem.tasks, state.own, state.at_general, strict=True)
    ):
        apart = np.isfinite(penalty) and own is not None and not state.fused[t]
        call = (
            task,
            own if np.isfinite(penalty) else None,
            fused.items if penalty > 0.0 and not (first and apart) else None,
            state.general if penalty > 0.0 else None,
            penalty * float(problem.scales[t] * problem.divisors[t]),
            (state.strides[t], state.general_stride),
        )
        calls.append(call)
    return calls


def own_traits(state: JointState) -> Float:
    """The domains' own traits, shape (models, domains); the general one where there are none."""
    return np.stack([state.general if part is None else part.traits for part in state.own], axis=1)


def settled(
    problem: JointProblem, penalty: float, updates: Sequence[JointUpdate], state: JointState
) -> JointState:
    """The state at the present general trait: each domain takes its better candidate."""
    own = tuple(update.own for update in updates)
    if penalty == 0.0:
        losses = np.array([np.inf if part is None else part.loss for part in own])
        objective = float((losses / problem.divisors).sum())
        return replace(state, own=own, fused=np.zeros(len(own), bool), objective=objective)
    at_general = tuple(
        before if update.fused is None else update.fused.candidate
        for update, before in zip(updates, state.at_general, strict=True)
    )
    apart, together = np.full((2, len(own)), np.inf)
    collapsed = np.ones(len(own), bool)
    for t, (part, update) in enumerate(zip(own, updates, strict=True)):
        if update.fused is not None:
            together[t] = update.fused.candidate.loss / problem.divisors[t]
        if part is not None:
            sine = float(sines(state.general @ part.traits / problem.models))
            apart[t] = part.loss / problem.divisors[t] + penalty * problem.scales[t] * sine
            collapsed[t] = sine < COLLAPSED and update.fused is not None
    fused = (together <= apart) | collapsed
    objective = float(np.where(fused, together, apart).sum())
    own = tuple(None if gone else part for gone, part in zip(collapsed, own, strict=True))
    return replace(state, own=own, at_general=at_general, fused=fused, objective=objective)


def at_rest(state: JointState) -> JointState:
    """The state without the traits of fused domains' own."""
    own = zip(state.own, state.fused, strict=True)
    return replace(state, own=tuple(None if fused else part for part, fused in own))


def kept_apart(
    problem: JointProblem, penalty: float, updates: Sequence[JointUpdate], state: JointState
) -> tuple[Candidate | None, ...]:
    """The domains' own candidates, with a new one where a fused domain is drawn away."""
    if penalty == 0.0 or not np.isfinite(penalty):
        return state.own
    out = []
    for t, (part, update) in enumerate(zip(state.own, updates, strict=True)):
        if part is None and update.fused is not None:
            strength = penalty * float(problem.scales[t] * problem.divisors[t])
            curves = curves_at_general(state, update.fused)
            moved = released(state.general, update.fused.score, curves, strength)
            if moved is not None:
                part = replace(state.at_general[t], traits=moved)
        out.append(part)
    return tuple(out)


def curves_at_general(state: JointState, fused: FusedUpdate) -> TraitCurves:
    """A domain's curves around the general trait."""
    if fused.curve.ndim == 1:
        return TraitCurves.shared(fused.curve, GRID)
    window = window_at(state.general, GRID, state.general_stride)
    return TraitCurves.on_windows(fused.curve, window, GRID)


def largest_move(before: JointState, after: JointState) -> float:
    """Largest change of a slope, intercept or trait x over 1 + abs(x)."""
    moves = [0.0]
    for old, new in zip(before.chosen, after.chosen, strict=True):
        pairs = [
            (old.items.slope, new.items.slope),
            (old.items.intercept, new.items.intercept),
            (old.traits, new.traits),
        ]
        moves += [float((np.abs(b - a) / (1.0 + np.abs(a))).max()) for a, b in pairs]
    return max(moves)


def next_strides(before: Float, after: Float) -> tuple[int, ...]:
    """Nodes so close that the next moves, if no larger than the last, stay among them."""
    moved = np.abs(after - before).reshape(len(after), -1).max(axis=0)
    wanted = np.clip(np.ceil(moved / (1.5 * GRID.step)), 1, WIDEST)
    return tuple(int(stride) for stride in wanted)


def next_general(
    problem: JointProblem, penalty: float, updates: Sequence[JointUpdate], state: JointState
) -> Float:
    """The general trait, moved with the domains fused to it, or the others' sine median."""
    if penalty == 0.0:
        return state.general
    traits, apart = own_traits(state), ~state.fused
    if apart.all():
        found = fitted_to_box(sine_median(traits, problem.scales).general)
        pull = Pull(traits, problem.scales)
        return (
            found
            if found is not None and pull.penalty(found) <= pull.penalty(state.general)
            else state.general
        )
    parts = [
        (update.fused, divisor)
        for update, divisor, fused in zip(updates, problem.divisors, state.fused, strict=True)
        if fused and update.fused is not None
    ]
    score = np.sum([part.score / divisor for part, divisor in parts], axis=0)
    pull = Pull(traits[:, apart], penalty * problem.scales[apart])
    if all(part.curve.ndim == 1 for part, _ in parts):
        curve = np.sum([part.curve / divisor for part, divisor in parts], axis=0)
    else:
        window = window_at(state.general, GRID, state.general_stride)
        curve = np.sum(
            [
                (window_values(part.curve, window) if part.curve.ndim == 1 else part.curve)
                / divisor
                for part, divisor in parts
            ],
            axis=0,
        )
    return trait_newton(state.general, score, curve, pull, state.general_stride)
