"""What a caller chooses of a fit."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Literal, get_args

from mtlirt.errors import InputError

Estimator = Literal["marginal", "separate"]


@dataclass(frozen=True)
class FitOptions:
    """Options of `mtlirt.fit`.

    Attributes
    ----------
    estimator
        "marginal": domains tied by a factor-analytic prior; "separate": every domain alone.
    rank
        Number of factors, or "auto": chosen by the Bayesian information criterion.
    priors
        Learned normal priors of the slopes and a weak prior on the uniquenesses; False gives
        plain (marginal) maximum likelihood.
    tolerance
        Converged when in a round no slope or intercept x moves by more than this times 1 +
        abs(x), no uniqueness by more than this, and the log-likelihood by at most a thousandth
        of it, relatively.
    max_rounds
        Stop after so many rounds, converged or not.
    repeats
        Trait and item updates of a domain in each round.
    threads
        Threads of this process; None is one a core.
    """

    estimator: Estimator = "marginal"
    rank: int | Literal["auto"] = "auto"
    priors: bool = True
    tolerance: float = 1e-3
    max_rounds: int = 200
    repeats: int = 2
    threads: int | None = None

    def __post_init__(self) -> None:
        if self.estimator not in get_args(Estimator):
            names = ", ".join(get_args(Estimator))
            raise InputError(f"estimator {self.estimator!r} is not one of {names}")
        if self.rank != "auto" and (type(self.rank) is not int or self.rank < 1):
            raise InputError(f"rank {self.rank!r} is neither 'auto' nor a whole number from 1 up")
        if self.estimator == "separate" and self.rank != "auto":
            raise InputError(f"rank {self.rank}: estimator 'separate' has no factors; leave it out")
        if not isinstance(self.tolerance, float) or not 0.0 < self.tolerance < 1.0:
            raise InputError(f"tolerance {self.tolerance!r} is not a number between 0 and 1")
        for name in ("max_rounds", "repeats", "threads"):
            whole_number(name, getattr(self, name))


def whole_number(name: str, value: object) -> None:
    """Refuse a value that is neither None nor a whole number from 1 up."""
    if value is not None and (type(value) is not int or value < 1):
        raise InputError(f"{name} {value!r} is not a whole number from 1 up")
