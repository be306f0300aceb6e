"""Copies: models that answered alike, exactly or nearly, and items that were answered alike."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
import numpy.typing as npt
import pandas as pd
from scipy.sparse import coo_array
from scipy.sparse.csgraph import connected_components

from mtlirt.diagnostics.cells import DomainCells, Ints
from mtlirt.diagnostics.pairs import Pairs, Products, blocks_of, far_pairs, products
from mtlirt.diagnostics.posterior import PART_CELLS, Float
from mtlirt.diagnostics.residuals import CellMoments, cell_moments
from mtlirt.irt.blocks import ResponseBlock

BLOCK_MODELS = 1024
"""No matrix of more models x models is held."""


@dataclass(frozen=True)
class Groups:
    """Lines put together, shape (lines,) each.

    Attributes
    ----------
    group
        1 for the largest group, and so on; 0 for a line that is in none.
    exact
        The lowest of the lines that are exact copies of each other, for each its own where it
        has none.
    """

    group: Ints
    exact: Ints


def exact_copies(digests: Sequence[bytes], lines: npt.NDArray[np.bool_], ids: pd.Index) -> Ints:
    """For each line the one of the same digest whose id comes first; itself for other lines.

    Parameters
    ----------
    lines
        Which ones may be copies at all.
    """
    out = np.arange(len(digests))
    first: dict[bytes, int] = {}
    for line in ids.argsort():
        if lines[line]:
            out[line] = first.setdefault(digests[int(line)], int(line))
    return out


def copies(
    domains: Sequence[DomainCells],
    traits: Float,
    exact: Ints,
    answered: npt.NDArray[np.bool_],
    ids: pd.Index,
    rate: float,
    copied: float,
) -> tuple[Groups, Pairs]:
    """Groups of models that are copies, and the pairs of near ones.

    Parameters
    ----------
    exact
        For each model the first of its exact copies, itself where it has none.
    answered
        Which models answered anything.
    traits, rate, copied
        As for `near_copies`.
    """
    distinct = np.flatnonzero(answered & (exact == np.arange(len(exact))))
    pairs = near_copies(domains, traits, distinct, rate, copied)
    return grouped(exact, pairs, ids), pairs


def near_copies(
    domains: Sequence[DomainCells], traits: Float, models: Ints, rate: float, copied: float
) -> Pairs:
    """Pairs of models that agree far more than their traits explain.

    Parameters
    ----------
    traits
        Of all models in each domain, shape (models, domains).
    models
        The numbers of those to compare.
    rate
        The probability of a pair where the model holds (Bonferroni).
    copied
        The least correlation of two models' residuals: the share of answers that a copy has
        from its original, if it draws the others anew.

    Notes
    -----
    The sum over items of the products of two models' residuals, standardised: the excess of
    agreement over that of independent answers, as in indices of answer copying (Wollack, 1997,
    Applied Psychological Measurement 21), with both models' errors taken out to the first order.
    Cost: models^2 x items x 6 / 2 multiplications; memory: a few matrices of `BLOCK_MODELS`^2.
    """
    most = rate / max(len(models) * (len(models) - 1) / 2, 1)
    kept = []
    for at in blocks_of(len(models), BLOCK_MODELS):
        pairs = far_pairs(_sums(domains, traits, models, *at), at, most)
        kept.append(pairs.take(pairs.correlation >= copied))
    found = Pairs.joined(kept)
    return found._replace(one=models[found.one], other=models[found.other])


def _sums(
    domains: Sequence[DomainCells], traits: Float, models: Ints, one: slice, other: slice
) -> Products:
    """Over the items of all domains."""
    total: Products | None = None
    size = max(one.stop - one.start, other.stop - other.start)
    step = max(1, PART_CELLS // size)
    for t, cells in enumerate(domains):
        theta = traits[:, t]
        left_block = cells.rows_of(models[one])
        right_block = left_block if one == other else cells.rows_of(models[other])
        for start in range(0, cells.shape[1], step):
            part = slice(start, start + step)
            left = _moments(cells, left_block, theta[models[one]], part)
            right = (
                left if one == other else _moments(cells, right_block, theta[models[other]], part)
            )
            found = products(left, right)
            total = found if total is None else total.added(found)
    assert total is not None
    return total


def _moments(cells: DomainCells, block: ResponseBlock, traits: Float, part: slice) -> CellMoments:
    weight = block.weight[:, part] if block.weight.size else block.weight
    some = ResponseBlock(block.responses[:, part], weight)
    return cell_moments(some, cells.items.columns(part), traits)


def grouped(exact: Ints, pairs: Pairs, ids: pd.Index) -> Groups:
    """Put exact copies, and the lines of near pairs, together (single linkage).

    The largest group is the first; of equally large ones the one whose least id comes first.
    """
    lines = np.arange(len(exact))
    one = np.concatenate([lines, pairs.one])
    other = np.concatenate([exact, pairs.other])
    graph = coo_array((np.ones(len(one)), (one, other)), shape=(len(exact), len(exact)))
    _, label = connected_components(graph, directed=False)
    order = np.argsort(ids.argsort())
    table = pd.DataFrame({"label": label, "order": order})
    by = table.groupby("label")["order"].agg(["size", "min"]).query("size > 1")
    by = by.sort_values(["size", "min"], ascending=[False, True])
    number = pd.Series(np.arange(1, len(by) + 1), by.index).reindex(label).fillna(0)
    return Groups(number.to_numpy(np.intp), exact)


def best_match(pairs: Pairs, ids: pd.Index) -> pd.DataFrame:
    """Of each line the pair it is most correlated in, by line: ``like``, the numbers of a pair."""
    ends = [(pairs.one, pairs.other), (pairs.other, pairs.one)]
    near = pd.concat(
        pd.DataFrame(
            {
                "line": line,
                "like": like,
                "correlation": pairs.correlation,
                "z": pairs.z,
                "common": pairs.common,
            }
        )
        for line, like in ends
    )
    near["order"] = np.argsort(ids.argsort())[near["like"].to_numpy(np.intp)]
    near = near.sort_values(["correlation", "order"], ascending=[False, True])
    return near.drop_duplicates("line").set_index("line")
