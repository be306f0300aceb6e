"""What a fit tells of its rounds."""

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


Listener = Callable[[RoundEvent], None]


def silent(event: RoundEvent) -> None:
    """Hear of a round and do nothing."""
