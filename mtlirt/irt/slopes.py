"""Learned normal priors of the slopes, one a domain, pooled where a domain has few items."""

from __future__ import annotations

from collections.abc import Sequence
from typing import NamedTuple

import numpy as np

from mtlirt.irt.kernels import Float

DEFAULT_MEAN, DEFAULT_VARIANCE, DEFAULT_WEIGHT = 1.0, 1.5, 10.0
"""What the pool of all domains is drawn to, the variance by the weight of so many items."""

POOL_WEIGHT = 4.0
"""The pool's variance counts as so many items in each domain."""

MEAN_VARIANCE = 1.0
"""Prior variance of a domain's mean slope around the pool's, and of the pool's own."""


class SlopePrior(NamedTuple):
    """Normal prior of a domain's slopes; precision 0 is no prior."""

    mean: float
    precision: float


NO_PRIOR = SlopePrior(0.0, 0.0)


class SlopePosterior(NamedTuple):
    """Posterior means and variances of a domain's slopes, without the constant items."""

    mean: Float
    variance: Float


def learn_slope_priors(
    domains: Sequence[SlopePosterior], priors: Sequence[SlopePrior]
) -> list[SlopePrior]:
    """One EM step towards the priors of greatest evidence, domain by domain; costs items.

    Parameters
    ----------
    domains
        The slopes' posteriors under the present priors.
    priors
        The present priors.

    Notes
    -----
    mean <- average of the slopes' posterior means, variance <- average of (a - mean)^2 plus the
    posterior variance. All domains together give a pool drawn to the default, to which each
    domain is drawn in turn: its mean with prior variance `MEAN_VARIANCE`, its variance by the
    weight of `POOL_WEIGHT` items.
    """
    pool = pooled_prior(domains, priors)
    return [
        updated(part, 1.0 / prior.precision, pool.mean, 1.0 / pool.precision, POOL_WEIGHT)
        for part, prior in zip(domains, priors, strict=True)
    ]


def pooled_prior(domains: Sequence[SlopePosterior], priors: Sequence[SlopePrior]) -> SlopePrior:
    """The pool of all domains, to which `learn_slope_priors` draws each."""
    everything = SlopePosterior(
        np.concatenate([part.mean for part in domains]),
        np.concatenate([part.variance for part in domains]),
    )
    spread = sum(1.0 / prior.precision for prior in priors) / len(priors)
    return updated(everything, spread, DEFAULT_MEAN, DEFAULT_VARIANCE, DEFAULT_WEIGHT)


def updated(
    slopes: SlopePosterior, variance: float, to_mean: float, to_variance: float, weight: float
) -> SlopePrior:
    """The updated prior of some slopes, drawn to another; ``variance`` is the present prior's."""
    items, pull = len(slopes.mean), variance / MEAN_VARIANCE
    mean = (slopes.mean.sum() + pull * to_mean) / (items + pull)
    squares = ((slopes.mean - mean) ** 2 + slopes.variance).sum()
    return SlopePrior(float(mean), float((items + weight) / (squares + weight * to_variance)))
