"""Trait update of the joint estimator: Newton steps on the sphere, drawn to other traits."""

from __future__ import annotations

from typing import NamedTuple

import numpy as np
from scipy.optimize import brentq

from mtlirt.irt import kernels
from mtlirt.irt.interpolation import TraitCurves
from mtlirt.irt.kernels import Float
from mtlirt.irt.median import sines

TRAIT_BOUND = 4.0
"""No trait goes beyond +-TRAIT_BOUND (arXiv 2610.05613)."""

LEAST_SINE = 1e-8
SETTLED = 1e-10
HALVINGS = 40
GUESSES = 30


class Pull(NamedTuple):
    """What draws a trait towards others: sum_m strength_m sin angle(theta, towards_m).

    Attributes
    ----------
    towards
        Traits of norm sqrt(models), shape (models, m).
    strength
        Shape (m,).
    """

    towards: Float
    strength: Float

    def cosines(self, theta: Float) -> Float:
        """Cosines of the angles to each."""
        return np.asarray(theta @ self.towards / len(theta))

    def penalty(self, theta: Float) -> float:
        """The weighted sum of sines."""
        return float(self.strength @ sines(self.cosines(theta)))

    def tilt(self, theta: Float) -> Float:
        """Minus the gradient of the penalty on the sphere; the penalty lies below its tangent."""
        cosines = self.cosines(theta)
        slope = self.strength * cosines / np.maximum(sines(cosines), LEAST_SINE)
        return np.asarray(self.towards @ slope / len(theta))

    def straight(self, theta: Float) -> tuple[Float, float]:
        """The unit vector from theta to a single pull, and how much its tangent bends along it."""
        cosines = self.cosines(theta)
        if len(cosines) != 1 or sines(cosines)[0] < LEAST_SINE:
            return np.zeros_like(theta), 0.0
        cosine, sine = cosines[0], sines(cosines)[0]
        radial = (self.towards[:, 0] - cosine * theta) / (sine * np.sqrt(len(theta)))
        return radial, float(self.strength[0] * cosine**2 / (sine * len(theta)))


def standardised_in_box(values: Float, bound: float = TRAIT_BOUND) -> Float:
    """Shift and scale values to mean 0 and norm sqrt(models) with none beyond the bound.

    The result is clip(scale (values - shift), -bound, bound); where nothing is clipped, plain
    standardisation.

    Raises
    ------
    ValueError
        If no shift and scale will do: the values take too few different ones.
    """
    centred = values - values.mean()
    spread = np.sqrt(np.mean(centred**2))
    if spread <= 1e-12 * np.abs(values).max(initial=0.0):
        raise ValueError("all models are alike")
    theta = np.asarray(centred / spread)
    if np.abs(theta).max() <= bound:
        return theta
    clipped = clipped_at_bounds(theta, bound)
    return bisected(theta, bound) if clipped is None else clipped


def fitted_to_box(values: Float) -> Float | None:
    """`standardised_in_box`, or None if no shift and scale will do."""
    try:
        return standardised_in_box(values)
    except ValueError:
        return None


def clipped_at_bounds(theta: Float, bound: float) -> Float | None:
    """`standardised_in_box` by guessing which values are clipped, until the guess comes true.

    Given that, shift and scale have a closed form. None where guesses go round in circles.
    """
    beyond = np.where(np.abs(theta) > bound, np.sign(theta), 0.0)
    for _ in range(GUESSES):
        free = beyond == 0.0
        if not free.any():
            return None
        values = theta[free]
        mean = -bound * beyond.sum() / len(values)
        variance = (len(theta) - bound**2 * np.abs(beyond).sum()) / len(values) - mean**2
        spread = values.std()
        if variance <= 0.0 or spread == 0.0:
            return None
        tried = (theta - values.mean()) * np.sqrt(variance) / spread + mean
        found = np.where(np.abs(tried) > bound, np.sign(tried), 0.0)
        if np.array_equal(found, beyond):
            return np.asarray(np.clip(tried, -bound, bound))
        beyond = found
    return None


def bisected(theta: Float, bound: float) -> Float:
    """`standardised_in_box` by bisection of the scale, and for each scale of the shift."""

    def shifted(scale: float) -> Float:
        reach = np.abs(theta).max() + bound / scale
        shift = brentq(
            lambda m: float(np.clip(scale * (theta - m), -bound, bound).mean()), -reach, reach
        )
        return np.asarray(np.clip(scale * (theta - shift), -bound, bound))

    def excess(scale: float) -> float:
        return float(np.mean(shifted(scale) ** 2)) - 1.0

    most = 1.0
    while excess(most) < 0.0:
        most *= 2.0
        if most > 1e6:
            raise ValueError(f"traits within +-{bound:g} cannot tell its models apart")
    return shifted(float(brentq(excess, 0.5, most, xtol=1e-14)))


def sphere_step(
    theta: Float,
    score: Float,
    curves: TraitCurves,
    pull: Pull,
    steps: int,
    reach: float = np.inf,
) -> Float:
    """Newton steps of sum_i [C_i(theta_i) - A_i theta_i] + pull, on the sphere and in the box.

    Parameters
    ----------
    theta
        Where to start, on the sphere.
    score
        A_i = sum over items of y_ij a_j, shape (models,).
    curves
        C_i.
    pull
        What draws the traits towards others.
    steps
        At most so many Newton steps.
    reach
        No trait moves further in all than this.

    Returns
    -------
    ndarray
        Mean 0, norm sqrt(models), within the box; the objective is no higher than at the start.

    Notes
    -----
    The sphere and the mean enter with multipliers, linearised at each step; the step is then
    carried back onto the constraints and halved until the objective does not rise. Cost: a few
    dozen multiplications a model, a step.
    """
    low, high = np.maximum(theta - reach, -TRAIT_BOUND), np.minimum(theta + reach, TRAIT_BOUND)
    for _ in range(steps):
        value, slope, bend = curves.at(theta)
        most = float((value - score * theta).sum()) + pull.penalty(theta)
        gradient = slope - score - pull.tilt(theta)
        step = newton_direction(theta, gradient, bend, (low, high), pull)
        if np.abs(step).max() < SETTLED:
            break
        share = 1.0
        for _ in range(HALVINGS):
            tried = fitted_to_box(np.clip(theta + share * step, low, high))
            if tried is not None:
                value, _, _ = curves.at(tried)
                if float((value - score * tried).sum()) + pull.penalty(tried) <= most:
                    theta = tried
                    break
            share *= 0.5
        else:
            break
    return theta


def newton_direction(
    theta: Float, gradient: Float, bend: Float, bounds: tuple[Float, Float], pull: Pull
) -> Float:
    """The Newton step in the tangent of the sphere and of the mean, shape (models,).

    Minimises gradient'x + x'(H + mu I - mu_w w w')x/2 with 1'x = theta'x = 0, where mu is the
    sphere's multiplier at theta. The last term is there for a single pull: towards it, along w,
    the sine is straight, and only across it does it bend, the more the nearer it is. Traits at a
    bound that would go beyond it are held, and so are models without answers, whose curve does
    not bend.
    """
    radial, weight = pull.straight(theta)
    return tangent_newton(theta, gradient, bend, *bounds, radial, weight)


@kernels.compiled
def tangent_newton(
    theta: Float,
    gradient: Float,
    bend: Float,
    low: Float,
    high: Float,
    radial: Float,
    weight: float,
) -> Float:
    """The step of `newton_direction`; ``weight`` is mu_w, 0 for no straight direction."""
    models = theta.shape[0]
    unknowns = 3 if weight > 0.0 else 2
    basis, step = np.ones((3, models)), np.zeros(models)
    basis[1], basis[2] = theta, radial
    free = bend > 0.0
    for _ in range(3):
        system, right = np.zeros((3, 3)), np.zeros(3)
        for i in range(models):
            if free[i]:
                for a in range(2):
                    right[a] -= basis[a, i] * gradient[i]
                    for b in range(2):
                        system[a, b] += basis[a, i] * basis[b, i]
        first = solved(system, right, 2)
        system, right = np.zeros((3, 3)), np.zeros(3)
        for i in range(models):
            if free[i]:
                inverse = 1.0 / max(bend[i] + first[1], 0.05 * bend[i] + 1e-12)
                residual = gradient[i] + first[0] + first[1] * theta[i]
                for a in range(unknowns):
                    right[a] -= basis[a, i] * inverse * residual
                    for b in range(unknowns):
                        system[a, b] += basis[a, i] * inverse * basis[b, i]
        # unknown: corrections of the two multipliers, and -weight radial'step
        if weight > 0.0:
            system[2, 2] -= 1.0 / weight
        second = solved(system, right, unknowns)
        changed = False
        for i in range(models):
            residual = gradient[i] + first[0] + first[1] * theta[i]
            step[i] = 0.0
            if free[i]:
                inverse = 1.0 / max(bend[i] + first[1], 0.05 * bend[i] + 1e-12)
                step[i] = -inverse * residual
                for a in range(unknowns):
                    step[i] -= inverse * basis[a, i] * second[a]
            beyond = (theta[i] <= low[i] and residual > 0.0) or (
                theta[i] >= high[i] and residual < 0.0
            )
            wanted = bend[i] > 0.0 and not beyond
            changed = changed or wanted != free[i]
            free[i] = wanted
        if not changed:
            break
    return step


@kernels.inlined
def solved(matrix: Float, vector: Float, size: int) -> Float:
    """Solve the leading part of a small system in place; unknowns it does not determine are 0."""
    out, least = np.zeros(3), np.zeros(3)
    for k in range(size):
        least[k] = 1e-12 * abs(matrix[k, k])
    for k in range(size):
        pivot = k
        for i in range(k + 1, size):
            if abs(matrix[i, k]) > abs(matrix[pivot, k]):
                pivot = i
        if abs(matrix[pivot, k]) <= least[k]:
            continue
        for j in range(size):
            matrix[k, j], matrix[pivot, j] = matrix[pivot, j], matrix[k, j]
        vector[k], vector[pivot] = vector[pivot], vector[k]
        for i in range(k + 1, size):
            share = matrix[i, k] / matrix[k, k]
            vector[i] -= share * vector[k]
            for j in range(k, size):
                matrix[i, j] -= share * matrix[k, j]
    for k in range(size - 1, -1, -1):
        if abs(matrix[k, k]) > least[k]:
            total = vector[k]
            for j in range(k + 1, size):
                total -= matrix[k, j] * out[j]
            out[k] = total / matrix[k, k]
    return out


def released(theta: Float, score: Float, curves: TraitCurves, strength: float) -> Float | None:
    """Where a trait goes that leaves the one it is fused to, or None if it stays.

    Parameters
    ----------
    theta
        The trait it is fused to.
    score, curves
        Of its own domain, as in `sphere_step`.
    strength
        Of the sine, in units of the domain's loss.

    Notes
    -----
    Being fused is a local minimum if strength >= sqrt(N) |P gradient|, P projecting out 1 and
    theta. Otherwise the loss falls faster along -P gradient than the sine rises; the step is the
    minimum of the loss's quadratic model there.
    """
    _, slope, bend = curves.at(theta)
    gradient = slope - score
    gradient -= gradient.mean() + theta * (theta @ gradient) / len(theta)
    length = float(np.linalg.norm(gradient))
    excess = length - strength / np.sqrt(len(theta))
    if excess <= 0.0:
        return None
    return fitted_to_box(theta - excess * length / float(bend @ gradient**2) * gradient)
