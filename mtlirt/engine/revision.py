"""What a marginal fit chooses between rounds: each domain's pooling, and the rank."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from typing import TypeVar

import numpy as np
import numpy.typing as npt

from mtlirt.cluster.executor import Executor
from mtlirt.engine.factors import chosen_rank
from mtlirt.engine.options import FitOptions
from mtlirt.engine.placement import PlacedDomain, weights_taken
from mtlirt.engine.pooling import judged_pooling
from mtlirt.engine.state import State, start
from mtlirt.irt.representation import Representation, standardised

T = TypeVar("T")


def revised_pooling(
    executor: Executor,
    domains: list[PlacedDomain],
    state: State,
    options: FitOptions,
) -> State:
    """Find the items of some domains anew, by themselves; the state itself where none asks for it.

    Their ties to the other domains are then found from their own traits.
    """
    if not options.adapt:
        return state
    alone, unsigned = judged_pooling(executor, domains, state)
    if unsigned.any():
        state = replace(state, unsigned=unsigned)
    return found_alone(domains, state, alone, options)


def confirmed_pooling(
    executor: Executor,
    domains: list[PlacedDomain],
    state: State,
    options: FitOptions,
) -> State:
    """Judge a converged fit's pooling again where any was found; the state itself if it holds.

    Without the domains that left, and with more factors, another trait may have become that of a
    domain which stayed.
    """
    if not (state.alone.any() or state.unsigned.any()):
        return state
    alone, _ = judged_pooling(executor, domains, state)
    return found_alone(domains, state, alone, options)


def found_alone(
    domains: list[PlacedDomain],
    state: State,
    which: npt.NDArray[np.bool_],
    options: FitOptions,
) -> State:
    """The state where some more domains start anew by themselves; itself if there are none."""
    if not which.any():
        return state
    state = replace(state, alone=state.alone | which)
    return restarted(domains, state, state.representation, which, options)


def revised_rank(
    executor: Executor, domains: list[PlacedDomain], state: State, options: FitOptions
) -> State:
    """Choose the number of factors, or drop all ties; the state itself where nothing changes."""
    before = state.representation
    if options.rank != "auto" or not before.tied.any():
        return state
    representation = chosen_rank(
        executor.here, state.precision, state.shift, weights_taken(domains), before, options.priors
    )
    if representation.rank == before.rank:
        return state
    if representation.rank > 0:
        return replace(state, representation=standardised(representation))
    untied = Representation(before.centre, 0.0 * before.loadings, np.ones(len(domains)))
    return restarted(domains, state, untied, before.tied & ~state.alone, options)


def restarted(
    domains: list[PlacedDomain],
    state: State,
    representation: Representation,
    which: npt.NDArray[np.bool_],
    options: FitOptions,
) -> State:
    """The state under another representation; some domains' items and sites as at the start."""
    fresh = start(domains, options)

    def chosen(now: Sequence[T], anew: Sequence[T]) -> tuple[T, ...]:
        return tuple(b if w else a for a, b, w in zip(now, anew, which, strict=True))

    return replace(
        state,
        items=chosen(state.items, fresh.items),
        information=chosen(state.information, fresh.information),
        slope_priors=chosen(state.slope_priors, fresh.slope_priors),
        precision=np.where(which, 0.0, state.precision),
        shift=np.where(which, 0.0, state.shift),
        representation=standardised(representation),
    )
