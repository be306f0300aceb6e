"""The sine median: the direction with the least sum of sines of its angles to some traits."""

from __future__ import annotations

from typing import NamedTuple

import numpy as np

from mtlirt.irt.kernels import Float

MOST_STEPS = 5000
SETTLED = 1e-13
LEAST_SINE = 1e-9
"""Below this sine a trait counts as the median itself."""

SAME = 1e-9
"""Sums of sines that differ by less are equal."""


class SineMedian(NamedTuple):
    """A general trait and how it stands to the domains' traits.

    Attributes
    ----------
    general
        Shape (models,), centred with norm sqrt(models); 0 if every trait is.
    weights
        general = traits @ weights, shape (domains,).
    cosines
        Of the angles between it and each trait, shape (domains,).
    """

    general: Float
    weights: Float
    cosines: Float


def sines(cosines: Float) -> Float:
    """The sines of angles of given cosines."""
    return np.sqrt(np.clip(1.0 - cosines**2, 0.0, None))


def sine_median(traits: Float, strengths: Float | None = None) -> SineMedian:
    """The sine median of the domains' traits (arXiv 2610.05613).

    Parameters
    ----------
    traits
        Shape (models, domains), centred. A trait that is 0 throughout has no say and weight 0.
    strengths
        What each domain's sine counts, positive; 1 by default.

    Notes
    -----
    argmin of sum_t strength_t sin angle(general, theta_t), with sum_t general'theta_t >= 0. The
    sine is concave in the cosine, so general <- sum_t strength_t (c_t / s_t) theta_t, normalised,
    never raises the sum. It runs on the Gram matrix: models x domains^2 once, domains^2 a step.
    The minimum may lie at a trait, where the sine has a kink, so each trait is tried too.
    """
    models = len(traits)
    length = np.linalg.norm(traits, axis=0)
    there = length > 0.0
    unit = traits[:, there] / length[there]
    weights, cosines = np.zeros(traits.shape[1]), np.zeros(traits.shape[1])
    if not there.any():
        return SineMedian(np.zeros(models), weights, cosines)
    strength = np.ones(there.sum()) if strengths is None else strengths[there]
    gram = unit.T @ unit
    _, vectors = np.linalg.eigh(gram)
    kinks = np.eye(len(gram))
    first = first_least(sines(gram) @ strength)
    tried = [kinks[first], *(_descended(gram, strength, v) for v in (vectors[:, -1], kinks[first]))]
    found = tried[first_least(np.array([strength @ sines(gram @ mix) for mix in tried]))]
    if (gram @ found).sum() < 0.0:
        found = -found
    general = unit @ found
    scale = np.sqrt(models) / np.linalg.norm(general)
    weights[there] = scale * found / length[there]
    cosines[there] = gram @ found
    return SineMedian(scale * general, weights, cosines)


def first_least(costs: Float) -> int:
    """The first of the costs that are least: of two domains either trait is the median."""
    return int(np.flatnonzero(costs <= costs.min() + SAME)[0])


def _descended(gram: Float, strength: Float, mix: Float) -> Float:
    """Weights of a unit vector from which the sum of sines falls no more."""
    mix = mix / np.sqrt(mix @ gram @ mix)
    for _ in range(MOST_STEPS):
        cosines = gram @ mix
        moved = strength * cosines / np.maximum(sines(cosines), LEAST_SINE)
        moved /= np.sqrt(moved @ gram @ moved)
        change = np.abs(gram @ moved - cosines).max()
        mix = moved
        if change < SETTLED:
            break
    return np.asarray(mix)
