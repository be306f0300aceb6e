"""Fits whose traits are parameters: `joint`, its ends `local` and `global`, and `accuracy`."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import asdict, replace
from typing import Any

import numpy as np
import numpy.typing as npt
import pandas as pd

from mtlirt.cluster.executor import Executor
from mtlirt.engine.crossvalidate import Path, cross_validate
from mtlirt.engine.events import Listener, RoundEvent, RoundListener, silent
from mtlirt.engine.joint import joint_rounds
from mtlirt.engine.joint_problem import (
    JointProblem,
    JointState,
    accuracies,
    first_state,
    joint_problem,
)
from mtlirt.engine.linked import linked
from mtlirt.engine.lockstep import run_alternations
from mtlirt.engine.options import FitOptions
from mtlirt.engine.placement import PlacedDomain, taken_domains, without_models
from mtlirt.engine.point_tables import PointEstimate, point_tables
from mtlirt.errors import InputError
from mtlirt.irt.median import sine_median
from mtlirt.responses.matrix import Responses
from mtlirt.result import Fit

START_TOLERANCE = 0.1
"""Of the domains' own fits that a fit at any C starts from."""

CONVENTION = (
    "P(correct) = sigma(slope * trait + intercept), no 1.702, or with a guessing floor guessing + "
    "(1 - guessing) sigma(...); traits have mean 0 and variance 1 over the models of the fit and "
    "lie within +-4, slopes in [0, 4], intercepts in [-4, 4]"
)


def joint_fit(
    executor: Executor,
    responses: Responses,
    domains: Sequence[PlacedDomain],
    options: FitOptions,
    listener: Listener,
) -> Fit:
    """Fit by estimator `joint`, `local` or `global`, or standardise accuracies.

    Raises
    ------
    InputError
        If a model lacks a domain and `complete_models` is not asked for, or a domain's models
        cannot be told apart.
    """
    domains, left_out = complete_domains(executor, responses, domains, options)
    component = linked(executor, domains, responses.models.index)
    info: dict[str, Any] = {
        "estimator": options.estimator,
        "rank": 0,
        "models_left_out": int(left_out.sum()),
        "convention": CONVENTION,
    }
    if options.estimator == "accuracy":
        info |= {"rounds": 0, "converged": True, "settled": True, "log_likelihood": None}
        tables = point_tables(responses, domains, accuracy_estimate(domains), component)
        return Fit(**tables, history=history_table([]), info=info)
    problem = joint_problem(domains, options.lambda_scaling)
    penalty, path = chosen_penalty(executor, responses, problem, options, listener)
    events: list[RoundEvent] = []

    def hear(event: RoundEvent) -> None:
        events.append(event)
        listener(event)

    state = best_state(executor, problem, penalty, options, hear)
    info |= {
        "penalty": penalty if np.isfinite(penalty) else None,
        "penalty_chosen_by": "cross-validation" if path else "given",
        "folds": options.folds if path else None,
        "lambda_scaling": options.lambda_scaling,
        "tolerance": options.tolerance,
        "rounds": len(events),
        "converged": events[-1].converged,
        "settled": events[-1].converged,
        "objective": state.objective,
        "log_likelihood": -sum(part.loss for part in state.chosen),
    }
    tables = point_tables(responses, domains, joint_estimate(state, penalty > 0.0), component)
    return Fit(
        **tables, history=history_table(events), info=info, path=path.table if path else None
    )


def complete_domains(
    executor: Executor,
    responses: Responses,
    domains: Sequence[PlacedDomain],
    options: FitOptions,
) -> tuple[list[PlacedDomain], npt.NDArray[np.bool_]]:
    """The domains with those models only that took them all, and which models were left out."""
    taken = taken_domains(domains)
    left_out = np.asarray(~taken.all(axis=1))
    if not left_out.any():
        return list(domains), left_out
    if not options.complete_models:
        first = int(np.flatnonzero(left_out)[0])
        domain = domains[int(np.flatnonzero(~taken[first])[0])].name
        raise InputError(
            f"estimator {options.estimator!r} needs every model in every domain: "
            f"{left_out.sum():,} of {len(left_out):,} models lack one, such as "
            f"{responses.models.index[first]!r} of domain {domain!r}; choose complete models "
            "(--complete-models) to leave them out, or estimator 'marginal'"
        )
    if len(left_out) - left_out.sum() < 2:
        raise InputError(
            f"{len(left_out) - left_out.sum()} models have every domain, a fit needs 2; "
            "choose estimator 'marginal'"
        )
    return [without_models(executor, domain, left_out) for domain in domains], left_out


def chosen_penalty(
    executor: Executor,
    responses: Responses,
    problem: JointProblem,
    options: FitOptions,
    listener: Listener,
) -> tuple[float, Path | None]:
    """C, and the path on which cross-validation chose it."""
    if options.estimator == "local":
        return 0.0, None
    if options.estimator == "global":
        return np.inf, None
    if options.penalty != "cv":
        return float(options.penalty), None
    path = cross_validate(
        executor,
        responses,
        problem,
        options.penalties,
        options.folds,
        options.tolerance,
        options.max_rounds,
        listener,
    )
    return path.penalty, path


def best_state(
    executor: Executor,
    problem: JointProblem,
    penalty: float,
    options: FitOptions,
    listener: RoundListener,
) -> JointState:
    """The fit at C, from the domains' own fits; never above the fit of one trait for all.

    Only the rounds at C are heard. Where they end above the objective of `global`, which is the
    same at every C, the fit starts again from there. It starts from the same place whatever the
    tolerance: near the C at which domains fuse there are optima side by side.
    """

    def run(
        state: JointState, at: float, hear: RoundListener, tolerance: float = options.tolerance
    ) -> JointState:
        rounds = joint_rounds(problem, state, at, tolerance, options.max_rounds, hear)
        return run_alternations(executor, [rounds])[0]

    start = first_state(problem)
    if penalty == 0.0:
        return run(start, 0.0, listener)
    local = run(start, 0.0, silent, START_TOLERANCE)
    if not np.isfinite(penalty):
        return run(local, penalty, listener)
    one_for_all = run(local, np.inf, silent)
    events: list[RoundEvent] = []
    state = run(local, penalty, events.append)
    if state.objective > one_for_all.objective:
        return run(replace(one_for_all, own=local.own), penalty, listener)
    for event in events:
        listener(event)
    return state


def joint_estimate(state: JointState, tied: bool) -> PointEstimate:
    """What a state comes to."""
    traits = np.stack([part.traits for part in state.chosen], axis=1)
    return PointEstimate(
        traits, [part.items for part in state.chosen], state.general, state.fused, None, tied
    )


def accuracy_estimate(domains: Sequence[PlacedDomain]) -> PointEstimate:
    """Standardised shares of successes, 0 where all models are alike, and their sine median."""
    shares = accuracies(domains)
    centred = shares - shares.mean(axis=0)
    sd = centred.std(axis=0)
    traits = centred / np.where(sd > 0.0, sd, 1.0)
    median = sine_median(traits)
    fused = np.zeros(len(domains), bool)
    return PointEstimate(traits, None, median.general, fused, median.weights, False)


def history_table(events: Sequence[RoundEvent]) -> pd.DataFrame:
    """`Fit.history`."""
    columns = list(RoundEvent.__dataclass_fields__)
    records = [asdict(event) for event in events]
    return pd.DataFrame(records, columns=columns).set_index("number")
