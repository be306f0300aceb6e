"""What a caller chooses of a fit."""

from __future__ import annotations

import math
from dataclasses import dataclass, fields
from typing import Literal, get_args

from mtlirt.errors import InputError

Estimator = Literal["marginal", "separate", "joint", "local", "global", "accuracy"]
LambdaScaling = Literal["common", "per_domain"]

PENALTIES = (
    *(0.001, 0.005, 0.01, 0.02, 0.05, 0.075, 0.1, 0.125, 0.15, 0.2, 0.25),
    *(0.3, 0.35, 0.4, 0.45, 0.5, 0.6, 0.75, 1.0, 1.5),
)
"""Values of C that cross-validation tries."""

HIERARCHICAL = ("marginal", "separate")
"""Estimators whose traits have a prior."""

USED_BY: dict[str, tuple[str, ...]] = {
    "rank": ("marginal",),
    "priors": HIERARCHICAL,
    "adapt": ("marginal",),
    "penalty": ("joint",),
    "penalties": ("joint",),
    "folds": ("joint",),
    "lambda_scaling": ("joint",),
    "complete_models": ("joint", "local", "global", "accuracy"),
}
"""Options that only some estimators use."""


@dataclass(frozen=True)
class FitOptions:
    """Options of `mtlirt.fit`.

    Attributes
    ----------
    estimator
        "marginal": domains tied by a factor-analytic prior; "separate": every domain alone.
        "joint": traits are parameters, drawn to a general trait by the sine of their angle
        (arXiv 2610.05613); "local": the same at C = 0; "global": one trait for all domains;
        "accuracy": standardised shares of successes, no items.
    rank
        Number of factors, or "auto": chosen by the Bayesian information criterion.
    priors
        Learned normal priors of the slopes and a weak prior on the uniquenesses; False gives
        plain (marginal) maximum likelihood.
    adapt
        Whether the items of domains whose own traits predict them better than borrowing ones are
        found without the other domains; see `mtlirt.engine.pooling`.
    penalty
        Estimator `joint`: C, from 0 up, or "cv": chosen by cross-validation over cells.
    penalties, folds
        What cross-validation tries, and into how many folds it deals each model's items.
    lambda_scaling
        lambda_t = C N / sqrt(min(N, J_t)): the largest of them for all domains ("common", the
        paper's) or each its own ("per_domain").
    complete_models
        Estimators that need every model in every domain: leave the others out.
    tolerance
        Estimators `marginal` and `separate`: converged when in a round no slope or intercept x
        moves by more than this times 1 + abs(x), no uniqueness by more than this, and the
        log-likelihood by at most a thousandth of it, relatively.
        Others: when a round lowers the objective by less than 1e-6 times this, relatively.
    max_rounds
        Stop after so many rounds, converged or not.
    repeats
        Trait and item updates of a domain in each round.
    threads
        Threads of this process; None is one a core.
    memory_limit
        Bytes of memory of this process, or of each worker; None is what it has. Responses that
        need more than half of it are not kept, but read again in every round.
    """

    estimator: Estimator = "marginal"
    rank: int | Literal["auto"] = "auto"
    priors: bool = True
    adapt: bool = True
    penalty: float | Literal["cv"] = "cv"
    penalties: tuple[float, ...] = PENALTIES
    folds: int = 5
    lambda_scaling: LambdaScaling = "common"
    complete_models: bool = False
    tolerance: float = 1e-3
    max_rounds: int = 200
    repeats: int = 2
    threads: int | None = None
    memory_limit: int | None = None

    def __post_init__(self) -> None:
        if self.estimator not in get_args(Estimator):
            names = ", ".join(get_args(Estimator))
            raise InputError(f"estimator {self.estimator!r} is not one of {names}")
        if self.rank != "auto" and (type(self.rank) is not int or self.rank < 1):
            raise InputError(f"rank {self.rank!r} is neither 'auto' nor a whole number from 1 up")
        for name in ("priors", "adapt", "complete_models"):
            if not isinstance(getattr(self, name), bool):
                raise InputError(f"{name} {getattr(self, name)!r} is neither True nor False")
        self._check_penalties()
        self._check_used()
        if not isinstance(self.tolerance, float) or not 0.0 < self.tolerance < 1.0:
            raise InputError(f"tolerance {self.tolerance!r} is not a number between 0 and 1")
        for name in ("max_rounds", "repeats", "threads", "memory_limit"):
            whole_number(name, getattr(self, name))

    def _check_penalties(self) -> None:
        if self.penalty != "cv":
            _penalty("penalty", self.penalty)
            for name in ("penalties", "folds"):
                if getattr(self, name) != DEFAULTS[name]:
                    raise InputError(
                        f"{name} {getattr(self, name)!r}: penalty {self.penalty!r} leaves nothing "
                        "to cross-validate; leave one of them out"
                    )
        if not self.penalties:
            raise InputError("penalties: name at least one")
        for value in self.penalties:
            _penalty("penalties", value)
        if len(set(self.penalties)) < len(self.penalties):
            raise InputError(f"penalties {self.penalties}: a value occurs twice")
        if type(self.folds) is not int or self.folds < 2:
            raise InputError(f"folds {self.folds!r} is not a whole number from 2 up")
        if self.lambda_scaling not in get_args(LambdaScaling):
            names = ", ".join(get_args(LambdaScaling))
            raise InputError(f"lambda_scaling {self.lambda_scaling!r} is not one of {names}")

    def _check_used(self) -> None:
        """Refuse what the estimator would pass over in silence."""
        for name, estimators in USED_BY.items():
            value = getattr(self, name)
            if value != DEFAULTS[name] and self.estimator not in estimators:
                raise InputError(
                    f"{name} {value!r}: estimator {self.estimator!r} does not use it; leave it "
                    f"out, or take {' or '.join(estimators)}"
                )


LARGEST_PENALTY = 1e12
"""Beyond this the products of a fit overflow."""

DEFAULTS = {field.name: field.default for field in fields(FitOptions)}


def _penalty(name: str, value: object) -> None:
    """Refuse a value of C that is not a number from 0 to `LARGEST_PENALTY`."""
    if isinstance(value, bool) or not isinstance(value, int | float) or not 0 <= value < math.inf:
        raise InputError(f"{name} {value!r} is not a number from 0 up")
    if value > LARGEST_PENALTY:
        raise InputError(
            f"{name} {value!r} is beyond {LARGEST_PENALTY:g}: much less makes all domains one, as "
            "estimator 'global' does"
        )


def whole_number(name: str, value: object) -> None:
    """Refuse a value that is neither None nor a whole number from 1 up."""
    if value is not None and (type(value) is not int or value < 1):
        raise InputError(f"{name} {value!r} is not a whole number from 1 up")
