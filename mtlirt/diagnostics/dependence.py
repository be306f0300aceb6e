"""Local dependence: items of a domain whose residuals are correlated."""

from __future__ import annotations

from typing import NamedTuple

import numpy as np

from mtlirt.diagnostics.cells import STRIP_CELLS, DomainCells
from mtlirt.diagnostics.pairs import Pairs, Products, blocks_of, far_pairs, products
from mtlirt.diagnostics.posterior import Float
from mtlirt.diagnostics.residuals import CellMoments, cell_moments, probability_slope

BLOCK_ITEMS = 1024
"""No matrix of more items x items is held."""

MOST_PAIRS = 1000
"""So many pairs of a domain are kept, those of the largest correlations."""


class Dependence(NamedTuple):
    """Locally dependent items of a domain.

    Attributes
    ----------
    pairs
        Those kept, by the numbers of their items; the largest correlations first.
    total
        How many there are.
    """

    pairs: Pairs
    total: int


def dependent_items(cells: DomainCells, traits: Float, sd: Float, rate: float) -> Dependence:
    """Find the pairs of items whose residuals go together, or apart, more than chance has it.

    Parameters
    ----------
    traits, sd
        Of the models in this domain: means and standard deviations of their posteriors.
    rate
        The probability of finding any pair where the model holds (Bonferroni).

    Notes
    -----
    Q3, the correlation of residuals (Yen, 1984, Applied Psychological Measurement 8), is below 0
    on average for independent items, as both residuals hold the same error of the trait. The
    score of an interaction of two items is E[(y - P)(u - R)] over the posterior (Glas and Suarez
    Falcon, 2003), about the product of residuals plus v P' R', v the trait's variance: its mean
    is 0. So v P' R' is added here. Cost: items^2 x models x 7 / 2 multiplications; memory: a few
    matrices of `BLOCK_ITEMS`^2.
    """
    count = cells.shape[1]
    some = np.flatnonzero(~cells.constant)
    most = 0.5 * rate / max(len(some) * (len(some) - 1) / 2, 1)
    kept, total = Pairs.joined([]), 0
    for at in blocks_of(count, BLOCK_ITEMS):
        found, extra = _sums(cells, traits, sd, *at)
        pairs = far_pairs(found, at, most, extra)
        informative = ~(cells.constant[pairs.one] | cells.constant[pairs.other])
        pairs = pairs.take(informative)
        total += len(pairs.one)
        kept = _largest(Pairs.joined([kept, pairs]))
    return Dependence(kept, total)


def _sums(
    cells: DomainCells, traits: Float, sd: Float, one: slice, other: slice
) -> tuple[Products, Float]:
    """Over all models, and what the residuals' products lack."""
    models = cells.shape[0]
    step = max(1, STRIP_CELLS // 4 // BLOCK_ITEMS)
    total: Products | None = None
    extra: Float = np.zeros((one.stop - one.start, other.stop - other.start))
    for start in range(0, models, step):
        part = slice(start, min(start + step, models))
        left, left_slope = _moments(cells, traits[part], sd[part], part, one)
        right, right_slope = (
            (left, left_slope)
            if one == other
            else _moments(cells, traits[part], sd[part], part, other)
        )
        found = products(left, right)
        total = found if total is None else total.added(found)
        extra += left_slope @ right_slope.T
    assert total is not None
    return total, extra


def _moments(
    cells: DomainCells, traits: Float, sd: Float, models: slice, items: slice
) -> tuple[CellMoments, Float]:
    """Moments and slopes in standard deviations of the traits, items x models."""
    block = cells.block(models, items)
    some = cells.items.columns(items)
    found = cell_moments(block, some, traits)
    slope = sd[:, None] * probability_slope(some, traits) * found.answered
    return CellMoments(*(part.T for part in found)), slope.T.astype(np.float32)


def _largest(pairs: Pairs) -> Pairs:
    """The pairs of the largest correlations, in their order."""
    order = np.lexsort((pairs.other, pairs.one, -np.abs(pairs.correlation)))
    return pairs.take(order[:MOST_PAIRS])
