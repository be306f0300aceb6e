"""Anderson acceleration of a fixed-point iteration, one vector at a time."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np
from numpy.linalg import norm

from mtlirt.irt.kernels import Float

DEPTH = 5
"""Earlier iterates that a step combines."""

LONGEST_STEP = 50.0
"""An accelerated step is at most this many times the plain one."""

RIDGE = 1e-10
"""Keeps the least squares of nearly parallel steps solvable."""

WORST_GROWTH = 2.0
"""A residual that grew by more makes it start anew."""


class Anderson:
    """Combines earlier iterates of x -> F(x) so that the combined residual F(x) - x is least.

    Anderson's method (Walker and Ni, SIAM J. Numer. Anal. 49, 2011) for EM-like maps: where a
    plain iteration shrinks the error by a factor close to 1, this takes a few steps. A step that
    made the residual grow much is answered by a plain one and a new start.
    """

    def __init__(self, points: Sequence[Float] = (), residuals: Sequence[Float] = ()) -> None:
        self._points = list(points)
        self._residuals = list(residuals)

    @property
    def iterates(self) -> tuple[list[Float], list[Float]]:
        """The earlier points and their residuals, from which another goes on like this one."""
        return list(self._points), list(self._residuals)

    def copy(self) -> Anderson:
        """Another that remembers the same."""
        return Anderson(*self.iterates)

    def forget(self) -> None:
        """Start anew."""
        self._points.clear()
        self._residuals.clear()

    def step(self, point: Float, image: Float, weight: Float) -> Float:
        """The next point to try, given F(point) = image; `weight` is the residual's metric."""
        residual = image - point
        size = float(norm(weight * residual))
        if self._residuals and size > WORST_GROWTH * norm(weight * self._residuals[-1]):
            self.forget()
        self._points.append(point)
        self._residuals.append(residual)
        if len(self._points) > DEPTH + 1:
            del self._points[0], self._residuals[0]
        if len(self._points) < 2:
            return image
        moves = np.diff(np.array(self._points), axis=0)
        changes = np.diff(np.array(self._residuals), axis=0)
        lengths = np.maximum(norm(weight * changes, axis=1, keepdims=True), 1e-300)
        moves, changes = moves / lengths, changes / lengths
        weighted = changes * weight**2
        gram = weighted @ changes.T + RIDGE * np.eye(len(changes))
        try:
            mix = np.linalg.solve(gram, weighted @ residual)
        except np.linalg.LinAlgError:
            self.forget()
            return image
        extra = -mix @ (moves + changes)
        longest = LONGEST_STEP * size
        length = float(norm(weight * extra))
        if length > longest:
            extra *= longest / length
        return np.asarray(image + extra)
