"""The sine median of true traits, by a route of its own so that a fit can be judged by it."""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

Array = NDArray[np.float64]


def sine_median(traits: Array) -> Array:
    """The direction with the least sum of sines of its angles to the columns.

    Iteratively reweighted least squares with weights 1/sine on the Gram matrix of the unit
    columns, then compared with each column, since the minimum may lie at one.

    Parameters
    ----------
    traits
        Models x domains, no column all zero.

    Returns
    -------
    ndarray
        A value for each model, with norm sqrt(models) and a sum of cosines that is not negative.
    """
    unit = traits / np.linalg.norm(traits, axis=0)
    gram = unit.T @ unit
    candidates = np.column_stack([_reweighted(gram), np.eye(len(gram))])
    best = candidates[:, np.argmin(_sines(gram @ candidates).sum(axis=0))]
    sign = -1 if (gram @ best).sum() < 0 else 1
    direction = unit @ best
    median: Array = direction * (sign * np.sqrt(len(traits)) / np.linalg.norm(direction))
    return median


def _reweighted(gram: Array, rounds: int = 1000, tolerance: float = 1e-13) -> Array:
    """Coefficients on the unit columns of a direction of unit length."""
    coefficients: Array
    root_weight = np.ones(len(gram))
    cosines = np.zeros(len(gram))
    for _ in range(rounds):
        values, vectors = np.linalg.eigh(root_weight[:, None] * gram * root_weight)
        coefficients = root_weight * vectors[:, -1] / np.sqrt(values[-1])
        before, cosines = cosines, np.abs(gram @ coefficients)
        if np.abs(cosines - before).max() < tolerance:
            break
        root_weight = 1 / np.sqrt(_sines(cosines) + 1e-9)
    return coefficients


def _sines(cosines: Array) -> Array:
    return np.sqrt(np.clip(1 - cosines**2, 0, None))
