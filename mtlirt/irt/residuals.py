"""What a domain's trait leaves unexplained: a second dimension in the residuals."""

from __future__ import annotations

from typing import NamedTuple

import numpy as np
from scipy.sparse.linalg import svds

from mtlirt.irt.blocks import ResponseBlock
from mtlirt.irt.curves import Items, probability
from mtlirt.irt.kernels import Float


class SecondDimension(NamedTuple):
    """How far residuals depart from noise along their first direction.

    Attributes
    ----------
    ratio
        Largest eigenvalue of the correlations between items' residuals, over that of pure noise.
    correlation
        What it exceeds that by, for each other item: the mean correlation of residuals that would
        make such an eigenvalue.
    """

    ratio: float
    correlation: float


def second_dimension(block: ResponseBlock, items: Items, traits: Float) -> SecondDimension:
    """What the items' residuals have in common.

    Parameters
    ----------
    block
        Responses of some models to at least 2 items.
    items
        Parameters of the items.
    traits
        Of the models.

    Notes
    -----
    A residual is successes minus expected successes, 0 where missing. Independent residuals of N
    models and J items have eigenvalues up to (1 + sqrt(J/N))^2 (Marchenko and Pastur, 1967), so
    the ratio is about 1 or less where one trait explains the responses. Cost: cells, some 20 times;
    the residuals are held in double precision. The eigenvalue is right to 1e-6 or better.
    """
    attempts = block.weight if block.weight.size else np.greater_equal(block.responses, 0)
    expected = attempts * probability(traits[:, None], *items)
    residuals = np.asarray(np.maximum(block.responses, 0) - expected)
    length = np.sqrt((residuals**2).sum(axis=0))
    residuals /= np.where(length > 0.0, length, 1.0)
    models, count = residuals.shape
    start = np.ones(min(models, count))
    largest = svds(residuals, k=1, v0=start, tol=0.01, return_singular_vectors=False)[0]
    noise = (1.0 + np.sqrt(count / models)) ** 2
    return SecondDimension(float(largest**2 / noise), float((largest**2 - noise) / (count - 1.0)))
