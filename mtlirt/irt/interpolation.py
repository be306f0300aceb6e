"""Six-point interpolation on the trait grid: of curves at any trait, and its transpose.

Curves and histograms use the same weights, so that item and trait updates descend on one and the
same function. Its error falls with the sixth power of the grid's step.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
import numpy.typing as npt
from numpy.polynomial import polynomial

from mtlirt.irt import kernels
from mtlirt.irt.curves import Grid
from mtlirt.irt.kernels import Float
from mtlirt.irt.traits import Window

NODES = 6
BEFORE = 2
"""Nodes below the one at or just below the trait."""


def _lagrange() -> Float:
    """Coefficients of the Lagrange polynomials at nodes -BEFORE .. NODES - BEFORE - 1, by row."""
    places = np.arange(NODES) - BEFORE
    rows = []
    for place in places:
        others = places[places != place]
        rows.append(polynomial.polyfromroots(others) / np.prod(place - others))
    return np.array(rows)


LAGRANGE = _lagrange()


def box_grid(bound: float, step: float) -> Grid:
    """A grid on which every trait within +-bound has its six nodes."""
    last = int(np.ceil(bound / step)) + NODES - BEFORE
    return Grid(-last, 2 * last + 1, step)


def window_at(theta: Float, grid: Grid, stride: int = 1) -> Window:
    """The six nodes around each trait, so many grid points apart."""
    below = np.floor(theta / grid.step).astype(np.int64) - grid.first
    room = grid.count - 1 - (NODES - 1) * stride
    start = np.clip(below - BEFORE * stride, 0, room)
    return Window(start, np.full(len(theta), stride), np.full(len(theta), NODES))


def offsets(theta: Float, window: Window, grid: Grid) -> Float:
    """Where the traits lie in their windows, in nodes from the one numbered `BEFORE`."""
    origin = (grid.first + window.start + BEFORE * window.stride) * grid.step
    return np.asarray((theta - origin) / (window.stride * grid.step))


def weights_at(theta: Float, window: Window, grid: Grid) -> Float:
    """Weights of the six nodes of each trait's window, shape (models, NODES)."""
    place = offsets(theta, window, grid)
    powers = np.ones((len(theta), NODES))
    for k in range(1, NODES):
        powers[:, k] = powers[:, k - 1] * place
    return np.asarray(powers @ LAGRANGE.T)


@dataclass(frozen=True)
class TraitCurves:
    """Curves C_i(theta) as polynomials through six nodes.

    Attributes
    ----------
    coefficients
        In the place within a window, see `offsets`: of each model's window, shape (models,
        NODES); or of one curve for all, of every window on the grid, shape (count - NODES + 1,
        NODES).
    window
        Where the models' windows are; None where all share one curve, known everywhere.
    grid
        What the windows lie on.
    """

    coefficients: Float
    window: Window | None
    grid: Grid

    @classmethod
    def on_windows(cls, values: Float, window: Window, grid: Grid) -> TraitCurves:
        """Curves of given values at each model's six nodes, shape (models, NODES)."""
        return cls(values @ LAGRANGE, window, grid)

    @classmethod
    def shared(cls, curve: Float, grid: Grid) -> TraitCurves:
        """One curve for all, of given values on the grid, shape (count,)."""
        windows = np.lib.stride_tricks.sliding_window_view(curve, NODES)
        return cls(windows @ LAGRANGE, None, grid)

    def at(self, theta: Float) -> tuple[Float, Float, Float]:
        """Values and first two derivatives at traits that lie in, or near, the windows."""
        window = self.window or window_at(theta, self.grid)
        value, slope, bend = (np.empty(len(theta)) for _ in range(3))
        polynomials(
            theta,
            self.coefficients,
            window.start,
            window.stride,
            self.window is None,
            self.grid.first,
            self.grid.step,
            value,
            slope,
            bend,
        )
        return value, slope, bend


@kernels.compiled
def polynomials(
    theta: Float,
    coefficients: Float,
    start: npt.NDArray[np.int64],
    stride: npt.NDArray[np.int64],
    shared: bool,
    first: int,
    step: float,
    value: Float,
    slope: Float,
    bend: Float,
) -> None:
    """Evaluate each trait's polynomial and its derivatives; see `TraitCurves.at`."""
    for i in range(theta.shape[0]):
        spacing = stride[i] * step
        place = (theta[i] - (first + start[i] + BEFORE * stride[i]) * step) / spacing
        row = start[i] if shared else i
        total, rise, curvature = coefficients[row, NODES - 1], 0.0, 0.0
        for k in range(NODES - 2, -1, -1):
            curvature = curvature * place + 2.0 * rise
            rise = rise * place + total
            total = total * place + coefficients[row, k]
        value[i], slope[i], bend[i] = total, rise / spacing, curvature / spacing**2


def window_values(curve: Float, window: Window) -> Float:
    """A shared curve, shape (count,), at the nodes of windows, shape (models, NODES)."""
    return np.asarray(curve[window.start[:, None] + np.arange(NODES) * window.stride[:, None]])


def histogram_at(theta: Float, grid: Grid) -> Float:
    """The traits deposited on the grid, shape (count,): the transpose of interpolation."""
    window = window_at(theta, grid)
    points = window.start[:, None] + np.arange(NODES)
    weights = weights_at(theta, window, grid)
    return np.bincount(points.ravel(), weights.ravel(), grid.count).astype(np.float64)
