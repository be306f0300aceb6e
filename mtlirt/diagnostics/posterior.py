"""The posterior of a domain's traits on a grid, and its priors by the other domains."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
import numpy.typing as npt
from scipy.special import log_expit

from mtlirt.diagnostics.cells import attempts, successes
from mtlirt.irt.blocks import ResponseBlock
from mtlirt.irt.curves import Items, information_curve, probability
from mtlirt.irt.representation import factor_posterior
from mtlirt.result import Fit

Float = npt.NDArray[np.float64]

SPACING = 0.7
"""Largest distance of grid points in standard deviations of the narrowest posterior."""

REACH = 6.0
"""The grid goes so many standard deviations beyond the traits."""

GROUP_STEPS = 50
"""Steps of the EM algorithm to the traits' means and spreads in groups of models."""

GROUP_TOLERANCE = 1e-4
"""Its last step moves no mean by more, in standard deviations of the traits."""

PART_CELLS = 2**20
"""Cells of a block that are worked on together in double precision."""


@dataclass(frozen=True)
class Priors:
    """Normal priors of the traits of some models, shape (models,) each."""

    mean: Float
    variance: Float

    def part(self, models: slice) -> Priors:
        """Those of a run of models."""
        return Priors(self.mean[models], self.variance[models])


@dataclass(frozen=True)
class TraitPosterior:
    """What is known of the traits of some models.

    Attributes
    ----------
    points
        The grid, shape (points,).
    weights
        Probabilities of its points, shape (models, points).
    """

    points: Float
    weights: Float

    @property
    def mean(self) -> Float:
        """Of each model, shape (models,)."""
        return np.asarray(self.weights @ self.points)

    @property
    def variance(self) -> Float:
        """Of each model, shape (models,)."""
        return np.asarray(self.weights @ self.points**2 - self.mean**2)


def trait_priors(fit: Fit) -> list[Priors]:
    """What the other domains say of each trait, by domain of the fit.

    In a domain that is found by its own responses alone it is the standard normal, and such a
    domain says nothing of the others.
    """
    precision, shift = fit.sites
    alone = (fit.domains["pooling"] == "own").to_numpy()
    precision, shift = (np.where(alone, 0.0, part) for part in (precision, shift))
    found = factor_posterior(precision, shift, fit.prior)
    mean = np.where(alone, 0.0, found.cavity_mean)
    variance = np.where(alone, 1.0, found.cavity_variance)
    return [Priors(mean[:, t], variance[:, t]) for t in range(len(alone))]


def trait_points(items: Items, mean: Float, sd: Float, priors: Priors) -> Float:
    """A grid that holds the posteriors of traits with about these means and sds.

    It is fine enough for the narrowest of them.
    """
    low, high = (mean - REACH * sd).min(), (mean + REACH * sd).max()
    rough = np.linspace(low, high, 201)
    most = information_curve(rough, items).max() + 1.0 / priors.variance.min()
    count = int(np.ceil((high - low) * np.sqrt(most) / SPACING)) + 1
    return np.linspace(low, high, max(count, 41))


def log_likelihood(block: ResponseBlock, items: Items, points: Float) -> Float:
    """Of each model at each point of the grid, shape (models, points)."""
    models, count = block.responses.shape
    total = np.zeros((models, len(points)))
    step = max(1, PART_CELLS // max(models, len(points)))
    for start in range(0, count, step):
        part = slice(start, start + step)
        some = items.columns(part)
        weight = block.weight[:, part] if block.weight.size else block.weight
        cells = ResponseBlock(block.responses[:, part], weight)
        right, tried = successes(cells), attempts(cells)
        eta = points[:, None] * some.slope + some.intercept
        wrong = np.log1p(-some.guessing) + log_expit(-eta)
        if some.guessed:
            total += right @ np.log(probability(points[:, None], *some)).T
        else:
            total += right @ log_expit(eta).T
        total += (tried - right) @ wrong.T
    return total


def posterior(likelihood: Float, points: Float, priors: Priors) -> TraitPosterior:
    """Posteriors from log-likelihoods on the grid."""
    log = likelihood - 0.5 * (points - priors.mean[:, None]) ** 2 / priors.variance[:, None]
    log -= log.max(axis=1, keepdims=True)
    weights = np.exp(log)
    weights /= weights.sum(axis=1, keepdims=True)
    return TraitPosterior(points, weights)


def group_priors(
    likelihood: Float, points: Float, priors: Priors, groups: npt.NDArray[np.intp]
) -> Priors:
    """Priors whose mean and spread are those of each group of models, by maximum likelihood.

    Parameters
    ----------
    groups
        Of each model: 0, 1, ...; -1 is none, whose priors are kept.

    Notes
    -----
    A group's priors N(m_i + delta, v_i tau) have a common shift and a common factor, found by EM.
    Without them a difference between groups would be taken for one of the items.
    """
    mean, variance = priors.mean.copy(), priors.variance.copy()
    for group in range(groups.max(initial=-1) + 1):
        some = np.flatnonzero(groups == group)
        shift, factor = 0.0, 1.0
        own = Priors(priors.mean[some], priors.variance[some])
        for _ in range(GROUP_STEPS):
            now = Priors(own.mean + shift, own.variance * factor)
            found = posterior(likelihood[some], points, now)
            before, apart = shift, found.mean - own.mean
            shift = float((apart / own.variance).sum() / (1.0 / own.variance).sum())
            factor = float((((apart - shift) ** 2 + found.variance) / own.variance).mean())
            if abs(shift - before) < GROUP_TOLERANCE:
                break
        mean[some] += shift
        variance[some] *= factor
    return Priors(mean, variance)
