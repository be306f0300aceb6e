"""The factor-analytic prior over all models: cavities, EM on the sites, and its rank."""

from __future__ import annotations

import numpy as np
import numpy.typing as npt

from mtlirt.cluster.executor import Executor
from mtlirt.irt.kernels import Float
from mtlirt.irt.representation import (
    FactorMoments,
    FactorPosterior,
    Representation,
    add_moments,
    factor_moments,
    factor_posterior,
    independent,
    update_representation,
)
from mtlirt.irt.traits import Cavity

STRIP = 512
"""Models a task of the shared step."""

EM_STEPS = 50
"""EM updates of the representation a round, at most."""

FEWEST_DOMAINS = 3
"""Domains a factor, at least, where the rank is chosen: with fewer a factor that two domains share
can take the uniqueness of either."""

LARGE_GAIN = 10.0
"""A gain of log-likelihood after which the sites are sure to move."""


def strips(models: int) -> list[slice]:
    """The models in runs of `STRIP`, so that sums do not depend on chunks or workers."""
    return [slice(a, min(a + STRIP, models)) for a in range(0, models, STRIP)]


def cavities(
    executor: Executor,
    precision: Float,
    shift: Float,
    representation: Representation,
    weights: Float | None = None,
) -> tuple[Cavity, float]:
    """Every trait given the other domains' sites, and the log integral of prior x sites.

    Parameters
    ----------
    weights
        Of the models, in the log integral; None is 1 for each.
    """
    parts: list[FactorPosterior] = executor.gather(
        [
            executor.submit(
                factor_posterior,
                precision[rows],
                shift[rows],
                representation,
                None if weights is None else weights[rows],
            )
            for rows in strips(len(precision))
        ]
    )
    cavity = Cavity(
        np.concatenate([part.cavity_mean for part in parts]),
        np.concatenate([part.cavity_variance for part in parts]),
    )
    return cavity, sum(part.log_integral for part in parts)


def takers_cavities(
    executor: Executor,
    precision: Float,
    shift: Float,
    representation: Representation,
    alone: npt.NDArray[np.bool_],
) -> Cavity:
    """What other domains say of each trait where some neither borrow nor lend."""
    lent = np.where(alone, 0.0, precision), np.where(alone, 0.0, shift)
    return cavities(executor, *lent, representation)[0].standard(alone)


def moments(
    executor: Executor,
    precision: Float,
    shift: Float,
    taken: Float,
    representation: Representation,
) -> FactorMoments:
    """The E-step of factor analysis over all models; `taken` as for `factor_moments`."""
    return add_moments(
        executor.gather(
            [
                executor.submit(
                    factor_moments, precision[rows], shift[rows], taken[rows], representation
                )
                for rows in strips(len(precision))
            ]
        )
    )


def expectation_maximisation(
    executor: Executor,
    precision: Float,
    shift: Float,
    taken: Float,
    representation: Representation,
    priors: bool,
    tolerance: float,
) -> tuple[Representation, float]:
    """EM of factor analysis on fixed sites; also the log integral under the first prior.

    It ends when the log-likelihood moves by less than the tolerance; or, after a first step that
    gained much, by less than a thousandth of that: the sites will move before the next round.
    """
    log_integrals: list[float] = []
    for _ in range(EM_STEPS):
        found = moments(executor, precision, shift, taken, representation)
        log_integrals.append(found.log_integral)
        representation = update_representation(found, priors)
        gains = np.abs(np.diff(log_integrals))  # the weak prior may lower it a little
        enough = 1e-3 * gains[0] if len(gains) and gains[0] > LARGE_GAIN else tolerance
        if len(gains) and gains[-1] < enough:
            break
    return representation, log_integrals[0]


def with_new_factor(
    executor: Executor,
    precision: Float,
    shift: Float,
    taken: Float,
    representation: Representation,
) -> Representation:
    """Add a factor along the leading direction in which the traits stray from the prior.

    The direction is the first eigenvector of the mean outer product of the traits' deviations
    from their expectation under the factors, so the start is deterministic.
    """
    domains, rank = representation.loadings.shape
    if rank == 0:
        column = np.full(domains, np.sqrt(0.5))
    else:
        outer = np.zeros((domains, domains))
        for rows in strips(len(precision)):
            found: FactorPosterior = executor.gather(
                [executor.submit(factor_posterior, precision[rows], shift[rows], representation)]
            )[0]
            expected = representation.centre + found.factors @ representation.loadings.T
            deviation = shift[rows] - precision[rows] * expected
            deviation *= representation.uniqueness / (
                1.0 + precision[rows] * representation.uniqueness
            )
            outer += (taken[rows].max(axis=1)[:, None] * deviation).T @ deviation
        _, vectors = np.linalg.eigh(outer)
        direction = vectors[:, -1] * np.sign(vectors[np.argmax(np.abs(vectors[:, -1])), -1])
        column = 0.5 * np.sqrt(representation.uniqueness) * direction * np.sqrt(domains)
        column = np.clip(column, -0.7, 0.7) * np.sqrt(representation.uniqueness)
        column = np.where(representation.tied, column, 0.0)
    loadings = np.column_stack([representation.loadings, column])
    uniqueness = np.maximum(representation.uniqueness - column**2, 0.05)
    return Representation(representation.centre, loadings, uniqueness)


def grown(
    executor: Executor,
    precision: Float,
    shift: Float,
    taken: Float,
    representation: Representation,
    priors: bool,
    tolerance: float,
) -> Representation:
    """The representation with one factor more, after EM."""
    larger = with_new_factor(executor, precision, shift, taken, representation)
    return expectation_maximisation(executor, precision, shift, taken, larger, priors, tolerance)[0]


def chosen_rank(
    executor: Executor,
    precision: Float,
    shift: Float,
    taken: Float,
    representation: Representation,
    priors: bool,
) -> Representation:
    """Grow the representation while the Bayesian information criterion falls; or drop all ties.

    The criterion is that of factor analysis on the domains' Gaussian sites: -2 log integral +
    log(models) x free loadings, over the domains that have loadings. It costs no pass over the
    responses. EM of a candidate ends once a step gains a hundredth of what the criterion asks of
    the factor.
    """
    tied, models = int(representation.tied.sum()), float(taken.max(axis=1).sum())
    untied = independent(len(representation.loadings))
    alone, best = (
        moments(executor, precision, shift, taken, prior).log_integral
        for prior in (untied, representation)
    )
    if best - alone <= 0.5 * np.log(models) * (tied if tied > 2 else 1):
        return untied
    while representation.rank < tied // FEWEST_DOMAINS:
        price = 0.5 * np.log(models) * (tied - representation.rank)
        larger = grown(executor, precision, shift, taken, representation, priors, 0.01 * price)
        found = moments(executor, precision, shift, taken, larger).log_integral
        if found - best <= price:
            break
        representation, best = larger, found
    return representation
