"""Pairs of rows whose residuals go together: of models over items, or of items over models."""

from __future__ import annotations

from typing import NamedTuple

import numpy as np
import numpy.typing as npt
from scipy.special import ndtri

from mtlirt.diagnostics.residuals import CellMoments
from mtlirt.diagnostics.tails import upper_tail

Float = npt.NDArray[np.float64]


class Products(NamedTuple):
    """Sums over the columns that two rows have both, shape (rows, other rows); they add up.

    Attributes
    ----------
    product
        Of the residuals' products.
    variance, third
        Its central moments if the residuals are independent.
    common
        How many columns.
    left, right
        Of the squares of either residual.
    """

    product: npt.NDArray[np.float32]
    variance: npt.NDArray[np.float32]
    third: npt.NDArray[np.float32]
    common: npt.NDArray[np.float32]
    left: npt.NDArray[np.float32]
    right: npt.NDArray[np.float32]

    def added(self, other: Products) -> Products:
        """The sums over both sets of columns."""
        return Products(*(one + two for one, two in zip(self, other, strict=True)))


def products(some: CellMoments, others: CellMoments) -> Products:
    """The sums of all pairs of a row of one block and a row of another; six matrix products.

    In single precision: relative errors of 1e-6.
    """
    left, right = ([part.astype(np.float32) for part in cells] for cells in (some, others))
    residual, variance, third, common = (
        one @ other.T for one, other in zip(left, right, strict=True)
    )
    of_left, of_right = left[0] ** 2 @ right[-1].T, left[-1] @ (right[0] ** 2).T
    return Products(residual, variance, third, common, of_left, of_right)


class Pairs(NamedTuple):
    """Some pairs, shape (pairs,) each.

    Attributes
    ----------
    one, other
        The rows.
    correlation
        Of the residuals, about 0.
    z
        The standardised sum of their products.
    p
        The probability of one further from 0 on this side.
    common
        Columns that both have.
    """

    one: npt.NDArray[np.intp]
    other: npt.NDArray[np.intp]
    correlation: Float
    z: Float
    p: Float
    common: Float

    def take(self, some: npt.NDArray[np.intp] | npt.NDArray[np.bool_]) -> Pairs:
        """Those at some places."""
        numbers = self.correlation[some], self.z[some], self.p[some], self.common[some]
        return Pairs(self.one[some], self.other[some], *numbers)

    @classmethod
    def joined(cls, parts: list[Pairs]) -> Pairs:
        """All pairs of some lists."""
        if not parts:
            return cls(*(np.zeros(0, np.intp),) * 2, *(np.zeros(0),) * 4)
        return cls(*(np.concatenate(column) for column in zip(*parts, strict=True)))


def blocks_of(rows: int, size: int) -> list[tuple[slice, slice]]:
    """All pairs of blocks of rows, the first not after the second."""
    runs = [slice(k, min(k + size, rows)) for k in range(0, rows, size)]
    return [(one, other) for k, one in enumerate(runs) for other in runs[k:]]


def far_pairs(
    found: Products, at: tuple[slice, slice], most: float, extra: Float | None = None
) -> Pairs:
    """The pairs of two blocks of rows that go together, or apart, too much to be chance.

    Parameters
    ----------
    at
        Which rows the blocks are; of a block and itself each pair is taken once.
    most
        The largest p of a pair, on either side.
    extra
        What the expected value of the products lies below 0, if anything.

    Notes
    -----
    Normal tails choose the pairs, tails with the third moment then keep those whose p is small
    enough: with few or easy columns products are skewed.
    """
    product = found.product.astype(np.float64)
    if extra is not None:
        product += extra
    known = found.variance > 0.0
    z = np.where(known, product / np.sqrt(np.where(known, found.variance, 1.0)), 0.0)
    far = np.abs(z) >= -ndtri(most)
    if at[0] == at[1]:
        far &= np.triu(np.ones(far.shape, bool), 1)
    one, other = np.nonzero(far)
    value, side = product[far], np.sign(product[far])
    variance, third = (part[far].astype(np.float64) for part in (found.variance, found.third))
    lengths = found.left[far].astype(np.float64) * found.right[far]
    p = upper_tail(side * value, variance, side * third)
    pairs = Pairs(
        one + at[0].start,
        other + at[1].start,
        value / np.sqrt(np.maximum(lengths, np.finfo(np.float32).tiny)),
        z[far],
        p,
        found.common[far].astype(np.float64),
    )
    return pairs.take(p <= most)
