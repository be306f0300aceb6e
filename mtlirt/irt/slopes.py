"""Learned normal priors of the slopes, one a domain, pooled where a domain has few items."""

from __future__ import annotations

from collections.abc import Sequence
from typing import NamedTuple

import numpy as np

from mtlirt.irt.kernels import Float

DEFAULT_WEIGHT = 10.0
"""The pool of all domains is drawn to a default, the variance by the weight of so many items."""

POOL_WEIGHT = 4.0
"""The pool's variance counts as so many items in each domain."""

MEAN_VARIANCE = 1.0
"""Prior variance of a domain's mean slope around the pool's, and of the pool's own."""

MOST_STEPS = 200
STILL = 1e-4
"""EM ends when no precision changes by more, relatively, or after `MOST_STEPS`."""


class SlopePrior(NamedTuple):
    """Normal prior of a domain's slopes; precision 0 is no prior."""

    mean: float
    precision: float


NO_PRIOR = SlopePrior(0.0, 0.0)

DEFAULT = SlopePrior(1.0, 1.0 / 1.5)
"""What the pool of all domains is drawn to."""


class SlopePosterior(NamedTuple):
    """Posterior means and variances of a domain's slopes, without the constant items."""

    mean: Float
    variance: Float


class SlopeLikelihood(NamedTuple):
    """What the responses alone tell of slopes: exp(shift a - information a^2 / 2)."""

    information: Float
    shift: Float


def learn_slope_priors(
    domains: Sequence[SlopePosterior],
    priors: Sequence[SlopePrior],
    default: SlopePrior = DEFAULT,
) -> list[SlopePrior]:
    """One EM step towards the priors of greatest evidence, domain by domain; costs items.

    Parameters
    ----------
    domains
        The slopes' posteriors under the present priors.
    priors
        The present priors.
    default
        What the pool of all domains is drawn to.

    Notes
    -----
    mean <- average of the slopes' posterior means, variance <- average of (a - mean)^2 plus the
    posterior variance. All domains together give a pool drawn to the default, to which each
    domain is drawn in turn: its mean with prior variance `MEAN_VARIANCE`, its variance by the
    weight of `POOL_WEIGHT` items.
    """
    pool = pooled_prior(domains, priors, default)
    return [
        updated(part, 1.0 / prior.precision, pool.mean, 1.0 / pool.precision, POOL_WEIGHT)
        for part, prior in zip(domains, priors, strict=True)
    ]


def settled_slope_priors(
    told: Sequence[SlopeLikelihood], priors: Sequence[SlopePrior]
) -> Sequence[SlopePrior]:
    """How slopes spread: EM to its end, the likelihoods as they are.

    Parameters
    ----------
    told
        Of the slopes of each domain.
    priors
        Where to begin, and what the pool of all domains is drawn to.

    Notes
    -----
    Costs items x steps, up to `MOST_STEPS`.
    """
    default = SlopePrior(
        sum(prior.mean for prior in priors) / len(priors), 1.0 / average_variance(priors)
    )
    for _ in range(MOST_STEPS):
        before = priors
        posteriors = [posterior(*each) for each in zip(told, before, strict=True)]
        priors = learn_slope_priors(posteriors, before, default)
        changes = [
            new.precision / old.precision - 1.0 for old, new in zip(before, priors, strict=True)
        ]
        if max(map(abs, changes)) < STILL:
            break
    return priors


def average_variance(priors: Sequence[SlopePrior]) -> float:
    """The mean of the priors' variances."""
    return sum(1.0 / prior.precision for prior in priors) / len(priors)


def widened(covariance: Float, used: SlopePrior, spread: SlopePrior) -> Float:
    """Covariance of (a, d) about the truth where slopes spread more than the prior used says.

    Parameters
    ----------
    covariance
        Under the prior used: entries aa, ad, dd, shape (items, 3).

    Notes
    -----
    With H the information with the prior used, of precision p, and slopes of variance s, the mean
    squared error of the posterior mean is H^-1 + (p^2 s - p) h h', h the first column of H^-1.
    """
    aa, ad, dd = covariance.T
    more = used.precision * max(used.precision / spread.precision - 1.0, 0.0)
    return np.stack([aa + more * aa**2, ad + more * aa * ad, dd + more * ad**2], axis=1)


def posterior(told: SlopeLikelihood, prior: SlopePrior) -> SlopePosterior:
    """Likelihood times prior."""
    precision = told.information + prior.precision
    return SlopePosterior((told.shift + prior.precision * prior.mean) / precision, 1.0 / precision)


def pooled_prior(
    domains: Sequence[SlopePosterior],
    priors: Sequence[SlopePrior],
    default: SlopePrior = DEFAULT,
) -> SlopePrior:
    """The pool of all domains, to which `learn_slope_priors` draws each."""
    everything = SlopePosterior(
        np.concatenate([part.mean for part in domains]),
        np.concatenate([part.variance for part in domains]),
    )
    return updated(
        everything, average_variance(priors), default.mean, 1.0 / default.precision, DEFAULT_WEIGHT
    )


def updated(
    slopes: SlopePosterior, variance: float, to_mean: float, to_variance: float, weight: float
) -> SlopePrior:
    """The updated prior of some slopes, drawn to another; ``variance`` is the present prior's."""
    items, pull = len(slopes.mean), variance / MEAN_VARIANCE
    mean = (slopes.mean.sum() + pull * to_mean) / (items + pull)
    squares = ((slopes.mean - mean) ** 2 + slopes.variance).sum()
    return SlopePrior(float(mean), float((items + weight) / (squares + weight * to_variance)))
