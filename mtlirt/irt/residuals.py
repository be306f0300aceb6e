"""What a domain's trait leaves unexplained: a second dimension in the residuals."""

from __future__ import annotations

from typing import NamedTuple

import numpy as np
from scipy.linalg import eigh

from mtlirt.irt.blocks import ResponseBlock
from mtlirt.irt.cells import standard_residuals
from mtlirt.irt.curves import Items
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
    the ratio is about 1 or less where one trait explains the responses. Cost: cells times the
    smaller of models and items, and its cube; the residuals are held in double precision.
    """
    residuals = standard_residuals(block.responses, block.weight, *items, traits)
    models, count = residuals.shape
    products = residuals.T @ residuals if count < models else residuals @ residuals.T
    top = len(products) - 1
    largest = eigh(products, eigvals_only=True, subset_by_index=[top, top])[0]
    noise = (1.0 + np.sqrt(count / models)) ** 2
    return SecondDimension(float(largest / noise), float((largest - noise) / (count - 1.0)))
