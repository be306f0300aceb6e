"""What a fit tells of its progress."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass


@dataclass(frozen=True)
class RoundEvent:
    """What a round did.

    Attributes
    ----------
    number
        Of the round, from 1.
    objective
        Estimators `marginal` and `separate`: marginal log-likelihood at the parameters before the
        round's item updates; with learned slope priors less the price of the slopes' uncertainty,
        see `marginal.ridges`; it rises. Others: what they minimise after the round's updates, see
        `joint_problem.JointProblem`.
    change
        Largest change of a slope or intercept x in the round, over 1 + abs(x), or of a
        uniqueness; where traits are parameters, of those too.
    rank
        Number of factors after the round.
    fused
        Number of domains whose trait is the general one.
    domain_seconds, shared_seconds
        Time of the domain steps and of the shared step.
    converged
        Whether this round ended the fit by convergence.
    """

    number: int
    objective: float
    change: float
    rank: int
    fused: int
    domain_seconds: float
    shared_seconds: float
    converged: bool


@dataclass(frozen=True)
class PathEvent:
    """A fit of cross-validation that is done.

    Attributes
    ----------
    fold
        The fold held out, from 1.
    penalty
        C.
    loss
        Mean over domains of the held-out mean negative log-likelihood of a cell.
    """

    fold: int
    penalty: float
    loss: float


@dataclass(frozen=True)
class ResumeEvent:
    """A fit goes on where an earlier run was broken off.

    Attributes
    ----------
    rounds
        That were done; None where there was nothing to go on with.
    """

    rounds: int | None


RoundListener = Callable[[RoundEvent], None]
Event = RoundEvent | PathEvent | ResumeEvent
Listener = Callable[[Event], None]


def silent(event: Event) -> None:
    """Hear of progress and do nothing."""
