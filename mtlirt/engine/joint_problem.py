"""The problem of the joint estimator (arXiv 2610.05613), and where an alternation on it stands."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
import numpy.typing as npt

from mtlirt.engine.joint_domain import Candidate, JointTask
from mtlirt.engine.options import LambdaScaling
from mtlirt.engine.placement import PlacedDomain
from mtlirt.engine.state import null_intercepts
from mtlirt.errors import InputError
from mtlirt.irt.box import INTERCEPTS
from mtlirt.irt.curves import Items
from mtlirt.irt.kernels import Float
from mtlirt.irt.median import sine_median
from mtlirt.irt.sphere import fitted_to_box

WIDEST = 8
"""Grid points between the nodes of a model's own curve in the first rounds, see `joint_step`."""


@dataclass(frozen=True)
class JointProblem:
    """What is minimised: sum_t loss_t / divisor_t + C sum_t scale_t sin angle(general, theta_t).

    Attributes
    ----------
    domains, tasks
        The responses.
    divisors
        Answered cells a model, items that all pass or fail left out: J_t where complete.
    scales
        lambda_t / C = N / sqrt(min(N, J_t)), the largest of them for all if common.
    """

    domains: Sequence[PlacedDomain]
    tasks: Sequence[JointTask]
    divisors: Float
    scales: Float

    @property
    def models(self) -> int:
        """Number of models."""
        return len(self.domains[0].models)


@dataclass(frozen=True)
class JointState:
    """Where an alternation stands.

    Attributes
    ----------
    own
        By domain: traits of its own, with their items; None where they collapsed into the general
        one, and nothing draws them away.
    at_general
        By domain: the items that suit the general trait.
    general
        The general trait, norm sqrt(models).
    fused
        Domains whose trait is the general one.
    objective
        Of this state.
    strides, general_stride
        Of the windows of each domain's own traits and of the general one, see `joint_step`.
    """

    own: tuple[Candidate | None, ...]
    at_general: tuple[Candidate, ...]
    general: Float
    fused: npt.NDArray[np.bool_]
    objective: float
    strides: tuple[int, ...]
    general_stride: int

    @property
    def chosen(self) -> list[Candidate]:
        """The domains' traits and items."""
        return [
            general if fused or own is None else own
            for own, general, fused in zip(self.own, self.at_general, self.fused, strict=True)
        ]


def joint_problem(domains: Sequence[PlacedDomain], scaling: LambdaScaling) -> JointProblem:
    """The problem of some domains that all models took.

    Raises
    ------
    InputError
        If every item of a domain is passed by all models, or failed.
    """
    models = len(domains[0].models)
    kept = [~domain.constant for domain in domains]
    for domain, keep in zip(domains, kept, strict=True):
        if not keep.any():
            raise InputError(
                f"domain {domain.name!r}: all models pass, or all fail, each of its items; "
                "leave the domain out"
            )
    items = np.array([keep.sum() for keep in kept], dtype=np.float64)
    divisors = np.array(
        [domain.attempts[keep].sum() / models for domain, keep in zip(domains, kept, strict=True)]
    )
    scales = models / np.sqrt(np.minimum(models, items))
    if scaling == "common":
        scales = np.full(len(domains), scales.max())
    return JointProblem(domains, [JointTask.of(domain) for domain in domains], divisors, scales)


def accuracies(domains: Sequence[PlacedDomain]) -> Float:
    """Shares of successes, shape (models, domains); a domain's mean for models without answers."""
    columns = []
    for domain in domains:
        answered, score = domain.answered[domain.models], domain.score[domain.models]
        there = answered > 0
        share = score / np.maximum(answered, 1)
        columns.append(np.where(there, share, share[there].mean()))
    return np.stack(columns, axis=1)


def first_state(problem: JointProblem) -> JointState:
    """Every domain's standardised accuracy, slopes 1, intercepts the items' logits.

    Where that tells no models apart, or only a few from all others, so that it does not fit the
    box, the mean over domains stands in.

    Raises
    ------
    InputError
        If that mean does not either.
    """
    shares = accuracies(problem.domains)
    varied = np.ptp(shares, axis=0) > 0.0
    if not varied.any():
        raise InputError("all models have the same accuracy in every domain: nothing to estimate")
    centred = shares - shares.mean(axis=0)
    scaled = centred / np.where(varied, centred.std(axis=0), 1.0)
    mean = fitted_to_box(scaled[:, varied].mean(axis=1))
    if mean is None:
        raise InputError(
            "the mean accuracy over domains tells too few models apart: nothing to start from"
        )
    own = []
    for t, domain in enumerate(problem.domains):
        theta = fitted_to_box(scaled[:, t])
        items = Items(
            np.where(domain.constant, 0.0, 1.0),
            np.clip(null_intercepts(domain), *INTERCEPTS),
            domain.guessing,
        )
        own.append(Candidate(mean if theta is None else theta, items, np.inf))
    general = sine_median(np.stack([part.traits for part in own], axis=1), problem.scales).general
    return JointState(
        tuple(own),
        tuple(own),
        general,
        np.zeros(len(own), bool),
        np.inf,
        (WIDEST,) * len(own),
        WIDEST,
    )
