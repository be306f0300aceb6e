"""Fits whose traits are parameters: `joint`, its ends `local` and `global`, and `accuracy`."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import asdict, dataclass, replace
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
from mtlirt.engine.joint_progress import JointProgress, standing_arrays, standing_from
from mtlirt.engine.linked import linked
from mtlirt.engine.lockstep import run_alternations
from mtlirt.engine.options import FitOptions
from mtlirt.engine.placement import PlacedDomain, taken_domains, without_models
from mtlirt.engine.point_tables import PointEstimate, point_tables
from mtlirt.engine.progress import Arrays, Keep, history_array
from mtlirt.errors import InputError
from mtlirt.irt.median import sine_median
from mtlirt.responses.matrix import Responses
from mtlirt.result import Fit

START_TOLERANCE = 0.1
"""Of the domains' own fits that a fit at any C starts from."""

STAGES = ("local", "global", "fit", "again")
"""Two starts, the fit at C, and that from the other start where it ended above it."""

KEPT_ROUNDS = 5
"""Rounds from one time that they are kept to the next: one may be as short as that takes."""

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
    kept: Arrays | None,
    keep: Keep,
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
    kept = kept or {}
    penalty, path = chosen_penalty(executor, responses, problem, options, listener, kept, keep)
    found = path.arrays() if path else {}
    stages = Stages(
        executor,
        problem,
        options,
        standing_from(JointProgress, kept, STAGES, problem.domains),
        lambda arrays: keep({**found, **arrays}),
    )
    best = best_rounds(stages, penalty, listener)
    state, history = best.last, best.history
    info |= {
        "penalty": penalty if np.isfinite(penalty) else None,
        "penalty_chosen_by": "cross-validation" if path else "given",
        "folds": options.folds if path else None,
        "lambda_scaling": options.lambda_scaling,
        "tolerance": options.tolerance,
        "rounds": len(history),
        "converged": best.converged,
        "settled": best.converged,
        "objective": state.objective,
        "log_likelihood": -sum(part.loss for part in state.chosen),
    }
    tables = point_tables(responses, domains, joint_estimate(state, penalty > 0.0), component)
    return Fit(
        **tables, history=history_table(history), info=info, path=path.table if path else None
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
    kept: Arrays,
    keep: Keep,
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
        kept,
        keep,
    )
    return path.penalty, path


@dataclass(frozen=True)
class Stages:
    """Rounds from one start after another, kept so that another process can go on with them.

    Attributes
    ----------
    executor, problem, options
        What is fitted, and how.
    standing
        Where the rounds of each stage stand that has begun, by name.
    keep
        Called after every `KEPT_ROUNDS` rounds of a stage, and after its last.
    """

    executor: Executor
    problem: JointProblem
    options: FitOptions
    standing: dict[str, JointProgress]
    keep: Keep

    def run(
        self,
        name: str,
        start: JointState,
        penalty: float,
        listener: RoundListener,
        tolerance: float,
    ) -> JointProgress:
        """The rounds of a stage to their end, from its start unless it has begun."""

        def hear(progress: JointProgress) -> None:
            listener(progress.history[-1])
            self.standing[name] = progress
            if progress.converged or len(progress.history) % KEPT_ROUNDS == 0:
                self.keep(self.arrays())

        begin = self.standing.get(name, JointProgress.of(start))
        max_rounds = self.options.max_rounds
        rounds = joint_rounds(self.problem, begin, penalty, tolerance, max_rounds, hear)
        return run_alternations(self.executor, [rounds])[0]

    def arrays(self) -> dict[str, npt.NDArray[Any]]:
        """Where all stages stand, as arrays; ``history`` is that of the fit at C."""
        told = self.standing.get("again", self.standing.get("fit"))
        history = history_array(told.history if told else ())
        return {**standing_arrays(self.standing), "history": history}


def best_rounds(stages: Stages, penalty: float, listener: RoundListener) -> JointProgress:
    """The fit at C, from the domains' own fits; never above the fit of one trait for all.

    Only the rounds at C are heard. Where they end above the objective of `global`, which is the
    same at every C, the fit starts again from there. It starts from the same place whatever the
    tolerance: near the C at which domains fuse there are optima side by side.
    """
    tolerance = stages.options.tolerance
    start = first_state(stages.problem)
    if penalty == 0.0:
        return stages.run("fit", start, 0.0, listener, tolerance)
    local = stages.run("local", start, 0.0, silent, START_TOLERANCE).last
    if not np.isfinite(penalty):
        return stages.run("fit", local, penalty, listener, tolerance)
    one_for_all = stages.run("global", local, np.inf, silent, tolerance).last
    events: list[RoundEvent] = []
    found = stages.run("fit", local, penalty, events.append, tolerance)
    if found.last.objective > one_for_all.objective:
        again = replace(one_for_all, own=local.own)
        return stages.run("again", again, penalty, listener, tolerance)
    for event in events:
        listener(event)
    return found


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
