"""Learned normal priors of the slopes, one a domain, pooled where a domain has few items."""

from __future__ import annotations

from collections.abc import Sequence
from typing import NamedTuple

import numpy as np
import numpy.typing as npt

from mtlirt.irt.kernels import Float

DEFAULT_MEAN, DEFAULT_VARIANCE = 1.0, 0.1
DEFAULT_WEIGHT = 1.0
"""The pool's own prior: a mean slope of N(1, 1), and a variance of .1 worth one item."""

POOL_WEIGHT = 4.0
"""The pool's variance counts as so many items in each domain."""

MEAN_SPREAD = 1.0
"""Prior standard deviation of a domain's mean slope around the pool's."""

LOWEST, HIGHEST = np.log(1e-4), np.log(1e3)


class SlopePrior(NamedTuple):
    """Normal prior of a domain's slopes; precision 0 is no prior."""

    mean: float
    precision: float


NO_PRIOR = SlopePrior(0.0, 0.0)


class SlopeEvidence(NamedTuple):
    """What the responses alone say of each slope: normal estimate and its precision."""

    estimate: Float
    precision: Float


def slope_evidence(
    slope: Float, information: Float, held: npt.NDArray[np.bool_], prior: SlopePrior
) -> SlopeEvidence:
    """Take the prior out of the estimated slopes of a domain; held items say nothing.

    The precision is the profile information aa - ad^2/dd; at the posterior mode the likelihood's
    own estimate is a + (a - mean) prior / precision.
    """
    aa, ad, dd = information.T
    precision = np.where(held | (dd <= 0.0), 0.0, aa - ad**2 / np.where(dd > 0.0, dd, 1.0))
    known = precision > 1e-8
    ratio = prior.precision / np.where(known, precision, 1.0)
    estimate = np.where(known, slope + ratio * (slope - prior.mean), 0.0)
    return SlopeEvidence(estimate, np.where(known, precision, 0.0))


def learn_slope_priors(domains: Sequence[SlopeEvidence]) -> list[SlopePrior]:
    """Maximise the marginal likelihood of mean and variance of the slopes, domain by domain.

    The estimates are taken as N(mean, variance + 1/precision). All domains together give the
    pool; each domain's own mean is N(pool mean, `MEAN_SPREAD`^2) and its variance has a scaled
    inverse chi-square prior at the pool's variance. Cost: 45 x items.
    """
    lengths = np.array([len(domain.estimate) for domain in domains])
    estimate = np.concatenate([domain.estimate for domain in domains])
    precision = np.concatenate([domain.precision for domain in domains])
    everything = np.array([len(estimate)])
    pool_mean, pool_variance = marginal_mode(
        estimate, precision, everything, DEFAULT_MEAN, DEFAULT_VARIANCE, DEFAULT_WEIGHT
    )
    mean, variance = marginal_mode(
        estimate, precision, lengths, pool_mean[0], pool_variance[0], POOL_WEIGHT
    )
    return [SlopePrior(float(m), float(1.0 / v)) for m, v in zip(mean, variance, strict=True)]


def marginal_mode(
    estimate: Float,
    precision: Float,
    lengths: npt.NDArray[np.int64],
    prior_mean: float,
    prior_variance: float,
    prior_weight: float,
) -> tuple[Float, Float]:
    """Mean and variance of each run of items, by bisection in log variance."""
    starts = np.concatenate([[0], np.cumsum(lengths)[:-1]])
    known = precision > 0.0
    noise = np.where(known, 1.0 / np.where(known, precision, 1.0), 0.0)

    def profile(log_variance: Float) -> tuple[Float, Float]:
        variance = np.exp(log_variance)
        weight = known / (np.repeat(variance, lengths) + noise)
        total = np.add.reduceat(weight, starts) + MEAN_SPREAD**-2
        mean = (np.add.reduceat(weight * estimate, starts) + prior_mean * MEAN_SPREAD**-2) / total
        residual = estimate - np.repeat(mean, lengths)
        slope = np.add.reduceat(weight * (weight * residual**2 - 1.0), starts)
        slope += prior_weight * (prior_variance / variance - 1.0) / variance
        return mean, slope

    low, high = np.full(len(lengths), LOWEST), np.full(len(lengths), HIGHEST)
    for _ in range(45):
        middle = 0.5 * (low + high)
        _, slope = profile(middle)
        low, high = np.where(slope > 0.0, middle, low), np.where(slope > 0.0, high, middle)
    middle = 0.5 * (low + high)
    return profile(middle)[0], np.exp(middle)
