"""Ridge regression on blocks of features, with penalties by exact leave-one-out error."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import NamedTuple

import numpy as np
import numpy.typing as npt

Float = npt.NDArray[np.float64]

PENALTIES = np.logspace(-7.0, 1.0, 33)
"""Penalties tried, as shares of the models' number (squares of features sum to about 1 a model)."""


@dataclass(frozen=True)
class RidgeFit:
    """The best ridge of every target.

    Attributes
    ----------
    constant
        Shape (targets,).
    coefficients
        Of the features of all blocks in turn, shape (features, targets).
    left_out
        Each model's prediction by a fit without it, shape (models, targets).
    scales
        What the blocks were multiplied by, shape (blocks, targets).
    penalties
        Of the sum of squares of the scaled features' coefficients, shape (targets,).
    """

    constant: Float
    coefficients: Float
    left_out: Float
    scales: Float
    penalties: Float


def block_ridge(blocks: Sequence[Float], targets: Float, mixes: Float) -> RidgeFit:
    """Fit every target by the mix of blocks and the penalty that leave the least error.

    Parameters
    ----------
    blocks
        Features, shape (models, features of the block).
    targets
        Shape (models, targets), without nan.
    mixes
        Weights of the blocks, not negative, shape (mixes, blocks): a block is scaled so that its
        squares sum to the square of its weight in the mean model. 0 leaves it out.

    Notes
    -----
    Models are left out one by one in closed form: where h is the leverage of a model in a ridge
    with free constant, its error without itself is its residual / (1 - h). A mix costs the
    eigendecomposition of the smaller of the features' and the models' cross-products and one
    product of the features with its vectors; penalties and targets cost little. RidgeCV of
    scikit-learn finds the same for one mix, in ten times the time where models outnumber features.
    """
    centred = [block - block.mean(axis=0) for block in blocks]
    sizes = np.array([np.sqrt((block**2).sum() / len(block)) for block in centred])
    unit = np.divide(1.0, sizes, out=np.zeros(len(sizes)), where=sizes > 0)
    features = np.concatenate(centred, axis=1)
    widths = [block.shape[1] for block in blocks]
    mean = targets.mean(axis=0)
    penalties = PENALTIES * len(targets)
    least = np.full(targets.shape[1], np.inf)
    fit = RidgeFit(
        np.zeros(targets.shape[1]),
        np.zeros((features.shape[1], targets.shape[1])),
        np.zeros(targets.shape),
        np.zeros((len(blocks), targets.shape[1])),
        np.zeros(targets.shape[1]),
    )
    for mix in mixes:
        scale = np.repeat(mix * unit, widths)
        used = np.flatnonzero(scale)
        spectrum = _spectrum(features[:, used] * scale[used])
        shrinkage = 1.0 / (spectrum.values[:, None] + penalties)
        kept = 1.0 - 1.0 / len(targets) - spectrum.scores**2 @ shrinkage
        for k in range(targets.shape[1]):
            weights = (spectrum.scores.T @ (targets[:, k] - mean[k]))[:, None] * shrinkage
            errors = (targets[:, k, None] - mean[k] - spectrum.scores @ weights) / kept
            squares = (errors**2).sum(axis=0)
            best = int(squares.argmin())
            if squares[best] < least[k]:
                least[k] = squares[best]
                fit.left_out[:, k] = targets[:, k] - errors[:, best]
                fit.coefficients[:, k] = 0.0
                fit.coefficients[used, k] = scale[used] * (spectrum.vectors @ weights[:, best])
                fit.scales[:, k], fit.penalties[k] = mix * unit, penalties[best]
    centre = np.concatenate([block.mean(axis=0) for block in blocks])
    fit.constant[:] = mean - centre @ fit.coefficients
    return fit


class _Spectrum(NamedTuple):
    """Features X = scores vectors', scores' scores = diag(values)."""

    values: Float
    scores: Float
    vectors: Float


def _spectrum(features: Float) -> _Spectrum:
    models, count = features.shape
    if count <= models:
        values, vectors = np.linalg.eigh(features.T @ features)
        return _Spectrum(np.maximum(values, 0.0), features @ vectors, vectors)
    values, left = np.linalg.eigh(features @ features.T)
    sound = values > values[-1] * models * np.finfo(float).eps
    values, left = values[sound], left[:, sound]
    return _Spectrum(values, left * np.sqrt(values), features.T @ left / np.sqrt(values))
