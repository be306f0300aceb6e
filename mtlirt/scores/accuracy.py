"""Scores on the accuracy scale: the share of a domain's items that a model is expected to pass."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass

import numpy as np
import numpy.typing as npt
import pandas as pd
from scipy.special import ndtri

from mtlirt.errors import InputError
from mtlirt.irt.curves import Items, probability
from mtlirt.irt.representation import factor_posterior
from mtlirt.result import Fit, check_level

Float = npt.NDArray[np.float64]

NODES = np.linspace(-6.0, 6.0, 49)
"""Where a standard normal is integrated by the trapezoid rule; errors below 1e-8."""

INSIDE = np.linspace(-1.0, 1.0, 33)
"""Where the ends of an interval are looked for: a curve need not rise everywhere."""

STEP = 0.01
"""Distance of the traits at which a domain's curve is tabulated."""


def domain_accuracies(fit: Fit, *, level: float = 0.95) -> pd.DataFrame:
    """The share of each domain's items that each model is expected to pass.

    It is about all items of the domain, answered or not, and is not the raw share of right
    answers: that of a model which answered easy items only is higher.

    Parameters
    ----------
    fit
        By `marginal` or `separate`.
    level
        Of the intervals.

    Returns
    -------
    pandas.DataFrame
        Index (model_id, domain). ``accuracy``: mean over the domain's items of P(correct), over
        the trait's posterior; ``accuracy_sd``; ``lower``, ``upper``: the least and greatest value
        over the trait's own interval. Null for a model without data. The items' parameters are
        taken as known. Costs 100 numbers a model and domain, and a curve of each item.

    Raises
    ------
    InputError
        If scores are given instead of a fit, its estimator gives no posterior, or the level is
        not between 0 and 1.
    """
    check_level(level)
    if not isinstance(fit, Fit):
        raise InputError("accuracies need a fit: scores alone do not hold the items")
    fit.check_posterior("accuracies")
    found = accuracy_moments(fit, level)
    columns = {
        "accuracy": found.mean,
        "accuracy_sd": np.sqrt(found.variance),
        "lower": found.lower,
        "upper": found.upper,
    }
    frame = pd.DataFrame({name: values.ravel() for name, values in columns.items()})
    return frame.set_axis(fit.traits.index)


@dataclass(frozen=True)
class AccuracyMoments:
    """Of every model's expected accuracy in every domain, shape (models, domains) throughout.

    Attributes
    ----------
    mean, variance, lower, upper
        Of the accuracy.
    gain
        E dT/dtheta, T the accuracy at a trait: what the accuracy has in common with the trait.
    """

    mean: Float
    variance: Float
    lower: Float
    upper: Float
    gain: Float


def accuracy_moments(fit: Fit, level: float) -> AccuracyMoments:
    """Moments and intervals of every model's expected accuracy in every domain."""
    shape = len(fit.models), len(fit.domains)
    mean, sd = (fit.traits[name].to_numpy().reshape(shape) for name in ("mean", "sd"))
    out = np.full((5, *shape), np.nan)
    weight = np.exp(-0.5 * NODES**2)
    weight /= weight.sum()
    reach = float(ndtri(0.5 + 0.5 * level))
    for t, name in enumerate(fit.domains.index):
        known = ~np.isnan(mean[:, t])
        centre, spread = mean[known, t, None], sd[known, t, None]
        if not known.any():
            continue
        at, curve = accuracy_curve(fit, name, centre, spread)
        values = np.interp(centre + spread * NODES, at, curve)
        inside = np.interp(centre + spread * reach * INSIDE, at, curve)
        expected = values @ weight
        out[0, known, t] = expected
        out[1, known, t] = np.maximum(values**2 @ weight - expected**2, 0.0)
        out[2, known, t], out[3, known, t] = inside.min(axis=1), inside.max(axis=1)
        out[4, known, t] = (values * NODES) @ weight / spread[:, 0]
    return AccuracyMoments(*out)


def accuracy_curve(fit: Fit, domain: str, mean: Float, sd: Float) -> tuple[Float, Float]:
    """Traits that hold all posteriors, and the mean over the domain's items of P(correct) there."""
    table = fit.items.loc[domain]
    items = Items(*(table[name].to_numpy(dtype=np.float64) for name in Items._fields))
    low, high = (mean + NODES[0] * sd).min(), (mean + NODES[-1] * sd).max()
    at = np.linspace(low, high, int(np.ceil((high - low) / STEP)) + 2)
    total = np.zeros(len(at))
    for slope, intercept, guessing in zip(*items, strict=True):
        total += probability(at, slope, intercept, guessing)
    return at, total / len(table)


def composite_accuracy(fit: Fit, weights: Mapping[str, float]) -> tuple[Float, Float]:
    """Mean and variance over each model's joint posterior of its weighted mean accuracy.

    Notes
    -----
    The accuracies are those of the traits as published: where a domain's traits are found by its
    own responses alone, so is its accuracy.
    Two domains' accuracies have the covariance E T_t' E T_s' Cov(theta_t, theta_s), the first term
    of its expansion in Hermite polynomials; Stein's identity gives E T' = Cov(T, theta)/Var(theta).
    """
    found = accuracy_moments(fit, 0.95)
    share = np.array([weights[name] for name in fit.domains.index])
    precision, shift = fit.sites
    representation = fit.prior
    posterior = factor_posterior(precision, shift, representation)
    shrink = 1.0 / (1.0 + precision * representation.uniqueness)
    pull = (share * found.gain * shrink)[:, :, None] * representation.loadings
    total = pull.sum(axis=1)

    def spread(vectors: Float) -> Float:
        covariance = posterior.factor_covariance
        return np.asarray(np.einsum("...a,...ab,...b->...", vectors, covariance, vectors))

    each = np.stack([spread(pull[:, t]) for t in range(len(share))], axis=1).sum(axis=1)
    variance = found.variance @ share**2 + spread(total) - each
    return found.mean @ share, np.asarray(variance)
