"""Smooth curves through positive numbers: how large squares are on average."""

from __future__ import annotations

import numpy as np
import numpy.typing as npt
from sklearn.linear_model import GammaRegressor

from mtlirt.distill.reconstruction.features import quantile_knots, spline_values

Float = npt.NDArray[np.float64]

KNOTS = 4
"""Of the splines."""

PENALTY = 5.0
"""Of the sum of squares of their coefficients, for squares in units of their mean."""

LEAST = 1e-18
"""Squares below this count as this."""


def learn_squares(places: Float, squares: Float) -> tuple[Float, Float]:
    """Learn the mean of squares as a function of the place, shape (rows,) both.

    Returns
    -------
    tuple
        The least, inner and greatest knots, shape (knots,), and the coefficients of the logarithm:
        a constant, then one a spline. A gamma regression with logarithmic link.
    """
    knots = quantile_knots(places, KNOTS)
    unit = max(squares.mean(), LEAST)
    model = GammaRegressor(alpha=PENALTY / len(squares), solver="newton-cholesky", max_iter=1000)
    model.fit(spline_values(places[:, None], knots[:, None]), np.maximum(squares, LEAST) / unit)
    return knots, np.append(model.intercept_ + np.log(unit), model.coef_)


def mean_squares(places: Float, knots: Float, coefficients: Float) -> Float:
    """The mean of squares at places, shape (rows, columns): one learnt curve a column.

    Flat beyond the knots. Where a place is nan the value has no meaning, but is finite.
    """
    inside = np.clip(np.where(np.isnan(places), knots[0], places), knots[0], knots[-1])
    curves = [
        coefficients[0, k]
        + spline_values(inside[:, k, None], knots[:, k, None]) @ coefficients[1:, k]
        for k in range(places.shape[1])
    ]
    return np.asarray(np.exp(np.stack(curves, axis=1)))
