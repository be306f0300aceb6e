"""The factor-analytic prior that ties the domains: cavities, EM update, standardisation."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import NamedTuple

import numpy as np
import numpy.typing as npt

from mtlirt.irt.factor_kernel import factor_posteriors, trait_moments
from mtlirt.irt.kernels import Float

PRIOR_MODELS = 5.0
"""The weak prior on a domain's share of unique variance is worth so many models."""

PRIOR_UNIQUENESS, PRIOR_DOMAINS = 0.1, 2.0
"""Its level is the harmonic mean of the domains' shares and of so many more with this one."""

LEVEL_STEPS = 20
"""Steps to the level and the shares that agree."""


class Representation(NamedTuple):
    """theta_i = centre + Lambda f_i + N(0, diag(Psi)), f_i ~ N(0, I_r).

    Attributes
    ----------
    centre
        Population means of the traits, shape (domains,); 0 once standardised.
    loadings
        Lambda, shape (domains, r).
    uniqueness
        Psi, shape (domains,).
    """

    centre: Float
    loadings: Float
    uniqueness: Float

    @property
    def rank(self) -> int:
        """Number of factors r."""
        return int(self.loadings.shape[1])

    @property
    def tied(self) -> npt.NDArray[np.bool_]:
        """Domains that have loadings: those that borrow from each other."""
        return np.asarray(self.loadings.any(axis=1))

    @property
    def covariance(self) -> Float:
        """Sigma = Lambda Lambda' + diag(Psi), shape (domains, domains)."""
        return np.asarray(self.loadings @ self.loadings.T + np.diag(self.uniqueness))


@dataclass(frozen=True)
class FactorPosterior:
    """What the sites of some models say of their factors and, domain by domain, of each trait.

    Attributes
    ----------
    factors, factor_covariance
        Posterior of f, shapes (models, r) and (models, r, r).
    cavity_mean, cavity_variance
        Each trait given the other domains' sites, shape (models, domains).
    log_integral
        Sum over weighted models of log int N(theta; centre, Sigma) prod_t site_t dtheta, without
        the sites' log scales.
    """

    factors: Float
    factor_covariance: Float
    cavity_mean: Float
    cavity_variance: Float
    log_integral: float


class FactorMoments(NamedTuple):
    """Sums over weighted models for the EM update of factor analysis; additive over model chunks.

    Attributes
    ----------
    ff, tf, tt
        By domain over its takers: E[z z'], E[theta z], E[theta^2] with z = (1, f).
    f, f2
        Over all models that took any domain: E[f] and E[f f'].
    models
        Sum of the weights of those.
    log_integral
        See `FactorPosterior`.
    """

    ff: Float
    tf: Float
    tt: Float
    f: Float
    f2: Float
    models: float
    log_integral: float


def largest_rank(domains: int) -> int:
    """Ledermann's bound: the largest r with (T - r)^2 >= T + r; 1 for two domains, 0 for one."""
    if domains == 2:
        return 1
    ranks = [r for r in range(domains) if (domains - r) ** 2 >= domains + r]
    return max(ranks) if domains > 1 else 0


def independent(domains: int) -> Representation:
    """Separate domains: Lambda = 0, Psi = 1."""
    return Representation(np.zeros(domains), np.zeros((domains, 0)), np.ones(domains))


def factor_posterior(
    precision: Float,
    shift: Float,
    representation: Representation,
    weights: Float | None = None,
) -> FactorPosterior:
    """Posterior of the factors and cavities of all traits given the sites.

    Parameters
    ----------
    precision, shift
        The sites, shape (models, domains); 0 where a model did not take the domain.
    weights
        Of the models, in the log integral; None is 1 for all.

    Notes
    -----
    f_i given the sites is normal with precision I + sum_t lambda_t lambda_t' tau/(1 + tau psi).
    A cavity is the rank-one downdate of that by its own domain (Sherman-Morrison).
    """
    models, domains = precision.shape
    r = representation.rank
    factors, covariance = np.empty((models, r)), np.empty((models, r, r))
    mean, variance = np.empty((models, domains)), np.empty((models, domains))
    weights = np.ones(models) if weights is None else weights
    log_integral = factor_posteriors(
        precision, shift, *representation, weights, factors, covariance, mean, variance
    )
    return FactorPosterior(factors, covariance, mean, variance, log_integral)


def factor_moments(
    precision: Float,
    shift: Float,
    taken: Float,
    representation: Representation,
) -> FactorMoments:
    """The E-step of factor analysis on Gaussian sites, for one chunk of models.

    A domain without loadings has no moments with f, so that it stays without.

    Parameters
    ----------
    precision, shift
        The sites, shape (models, domains).
    taken
        The weight of each model in the domains that it took, 0 in others, shape (models, domains).
    """
    models, domains = precision.shape
    r = representation.rank
    f, covariance, nothing = np.empty((models, r)), np.empty((models, r, r)), np.empty((0, domains))
    sites = precision, shift
    weights = taken.max(axis=1)
    log_integral = factor_posteriors(
        *sites, *representation, weights, f, covariance, nothing, nothing
    )
    traits = trait_moments(*sites, taken, *representation, f, covariance)
    some = weights[:, None] * f
    f_sum, f2 = some.sum(axis=0), np.tensordot(weights, covariance, 1) + some.T @ f
    ff = np.empty((domains, 1 + r, 1 + r))
    if (taken == weights[:, None]).all():
        ff[:, 0, 0], ff[:, 0, 1:], ff[:, 1:, 1:] = weights.sum(), f_sum, f2
    else:
        spread = (covariance + f[:, :, None] * f[:, None, :]).reshape(models, r * r)
        ff[:, 0, 0], ff[:, 0, 1:] = taken.sum(axis=0), taken.T @ f
        ff[:, 1:, 1:] = (taken.T @ spread).reshape(domains, r, r)
    ff[:, 1:, 0] = ff[:, 0, 1:]
    tf = traits[:, : 1 + r].copy()
    untied = ~representation.tied
    ff[untied, 0, 1:] = ff[untied, 1:, 0] = 0.0
    tf[untied, 1:] = 0.0
    return FactorMoments(ff, tf, traits[:, 1 + r], f_sum, f2, float(weights.sum()), log_integral)


def add_moments(parts: Sequence[FactorMoments]) -> FactorMoments:
    """Sum the moments of model chunks in their order."""
    return FactorMoments(*(sum(column[1:], column[0]) for column in zip(*parts, strict=True)))


def update_representation(moments: FactorMoments, weak_prior: bool) -> Representation:
    """The M-step: regress each domain's trait on (1, f) over its takers.

    The factors' own mean and covariance over *all* models are free in this step and are then
    carried into the centres and loadings (parameter expansion), so a domain's centre is its
    implied mean over all models, never its takers' own. With `weak_prior`, a domain's share of
    unique variance is averaged with a level learned from all domains, worth `PRIOR_MODELS`
    models, which keeps Psi from 0 (a Heywood case) and leaves the traits' variances alone.
    """
    width = moments.tf.shape[1]
    mean = moments.f / moments.models
    spread = moments.f2 / moments.models - np.outer(mean, mean)
    carry = np.linalg.cholesky(spread) if width > 1 else spread
    takers = moments.ff[:, 0, 0]
    weights = np.linalg.solve(moments.ff, moments.tf[:, :, None])[:, :, 0]
    residual = moments.tt - (weights * moments.tf).sum(axis=1)
    uniqueness = np.maximum(residual / takers, 1e-8)
    centre = weights[:, 0] + weights[:, 1:] @ mean
    loadings = weights[:, 1:] @ carry
    if weak_prior:
        common = (loadings**2).sum(axis=1)
        total = common + uniqueness
        tied = common > 0.0
        share = averaged_shares(uniqueness / total, takers, tied)
        uniqueness = np.where(tied, share * total, uniqueness)
        keep = np.sqrt((1.0 - share) * total / np.where(tied, common, 1.0))
        loadings = loadings * np.where(tied, keep, 1.0)[:, None]
    return Representation(centre, loadings, uniqueness)


def averaged_shares(shares: Float, takers: Float, tied: npt.NDArray[np.bool_]) -> Float:
    """Shares of unique variance under their inverse gamma prior, whose scale is learned.

    Where all domains are nearly the same trait the level goes towards 0 with them; it never
    follows a single domain there.
    """
    averaged = shares
    domains = tied.sum() + PRIOR_DOMAINS
    level = PRIOR_UNIQUENESS
    for _ in range(LEVEL_STEPS):
        averaged = (takers * shares + PRIOR_MODELS * level) / (takers + PRIOR_MODELS)
        level = domains / ((1.0 / averaged[tied]).sum() + PRIOR_DOMAINS / PRIOR_UNIQUENESS)
    return averaged


def standardisation(representation: Representation) -> tuple[Float, Float]:
    """Mean and standard deviation of every trait under the representation."""
    return representation.centre, np.sqrt(np.diag(representation.covariance))


def standardised(representation: Representation) -> Representation:
    """The same representation for traits of mean 0 and variance 1."""
    _, sd = standardisation(representation)
    loadings = representation.loadings / sd[:, None]
    if loadings.shape == (2, 1):
        loadings = equal_loadings(loadings)
    uniqueness = 1.0 - (loadings**2).sum(axis=1)
    return Representation(np.zeros(len(sd)), loadings, uniqueness)


def equal_loadings(loadings: Float) -> Float:
    """Two domains identify one correlation only: loadings of one size that give it."""
    correlation = float(loadings[0, 0] * loadings[1, 0])
    size = np.sqrt(abs(correlation))
    return np.array([[size], [np.copysign(size, correlation)]])


def canonical(representation: Representation) -> Representation:
    """Rotate the factors so that Lambda' Psi^-1 Lambda is diagonal, falling, column sums >= 0.

    Factors on which no domain has a loading are left out.
    """
    loadings = representation.loadings
    if not representation.tied.any():
        return representation._replace(loadings=loadings[:, :0])
    scaled = loadings / np.sqrt(representation.uniqueness)[:, None]
    _, _, rotation = np.linalg.svd(scaled, full_matrices=False)
    rotated = loadings @ rotation.T
    signs = np.where(rotated.sum(axis=0) < 0, -1.0, 1.0)
    return representation._replace(loadings=rotated * signs)


def composite_moments(
    precision: Float, shift: Float, representation: Representation, weights: Float
) -> tuple[Float, Float]:
    """Mean and variance of weights'theta of each model under the joint posterior.

    Parameters
    ----------
    precision, shift
        The sites, shape (models, domains).
    weights
        Shape (domains,).
    """
    posterior = factor_posterior(precision, shift, representation)
    centre, loadings, uniqueness = representation
    shrink = 1.0 / (1.0 + precision * uniqueness)
    own = shrink * (centre + uniqueness * shift)
    gain = (weights * shrink) @ loadings
    mean = own @ weights + (gain * posterior.factors).sum(axis=1)
    variance = (shrink * uniqueness) @ weights**2
    spread = (gain[:, :, None] * posterior.factor_covariance * gain[:, None, :]).sum(axis=(1, 2))
    return mean, variance + spread
