"""What single answers say of a trait, item by item."""

from __future__ import annotations

from typing import NamedTuple

import numpy as np

from mtlirt.irt.curves import Items, logistic, logit_information
from mtlirt.irt.kernels import Float


def item_information(theta: Float, items: Items) -> Float:
    """Fisher information of the trait in one answer to each item, a^2 times that of the logit.

    Parameters
    ----------
    theta
        Shape (thetas,).

    Returns
    -------
    Shape (thetas, items). With c = 0 it is a^2 P (1 - P). Costs one exponential for each, two
    where any item may be guessed.
    """
    return np.asarray(items.slope**2 * logit_information(theta, items).weight)


class ResponseMoments(NamedTuple):
    """Of one answer at each trait, shape (items, thetas).

    Attributes
    ----------
    rise
        dP / d theta, of the slope's sign.
    variance
        P (1 - P).
    """

    rise: Float
    variance: Float


def response_moments(theta: Float, items: Items) -> ResponseMoments:
    """How the mean of each item's answer moves with the trait, and the answer's variance.

    rise^2 / variance is the item's information. P and 1 - P are both found without cancellation.

    Parameters
    ----------
    theta
        Shape (thetas,).
    """
    slope, intercept, guessing = (column[:, None] for column in items)
    eta = slope * theta + intercept
    knows, fails = logistic(eta), logistic(-eta)
    wrong = (1.0 - guessing) * fails
    return ResponseMoments(slope * wrong * knows, wrong * (guessing + (1.0 - guessing) * knows))
