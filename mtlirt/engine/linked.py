"""Which models of a fit are tied by items that they answered: those of others cannot be ranked."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, NamedTuple

import numpy as np
import numpy.typing as npt
import pandas as pd

from mtlirt.cluster.executor import Executor
from mtlirt.engine.placement import PlacedDomain
from mtlirt.irt.blocks import ResponseBlock
from mtlirt.irt.components import (
    BlockLinks,
    Components,
    Ints,
    Links,
    answered_components,
    block_links,
)

Rows = npt.NDArray[np.bool_]


class Linked(NamedTuple):
    """Numbers of the components of models and items, null for those in none."""

    models: pd.arrays.IntegerArray
    items: pd.arrays.IntegerArray


def linked(executor: Executor, domains: Sequence[PlacedDomain], models: pd.Index) -> Linked:
    """The components of the graph of models and answered items of all domains.

    1 has the most models. Models of weight 0 are no part of it, see `attached`.

    Notes
    -----
    Totals tell that all takers of a domain are tied where one item was answered by all of them, or
    one of them answered all items. Only where such domains do not tie all models are the blocks of
    the others looked at.
    """
    weights = domains[0].weights
    counts = np.ones(len(models), bool) if weights is None else weights > 0.0
    found = _counted(executor, domains, models, counts)
    of_models = found.models
    if not counts.all():
        edges = np.cumsum([len(domain.cells) for domain in domains])[:-1]
        alone = attached(executor, domains, np.split(found.items, edges), ~counts)
        of_models = np.where(counts, of_models, alone)
    return Linked(nullable(of_models), nullable(found.items))


def attached(
    executor: Executor, domains: Sequence[PlacedDomain], of_items: Sequence[Ints], which: Rows
) -> Ints:
    """The components of models that tie no others: what they answered was found without them.

    Parameters
    ----------
    of_items
        By domain, the components of its items, 0 for none.
    which
        Of all models, those to attach, shape (models,).

    Returns
    -------
    numpy.ndarray
        Shape (models,): the component whose items a model answered; 0 where it answered none of
        any. Models that answered items of several, whose scores are on no one scale, have a number
        of their own, above all others, for each such set.
    """
    pairs = [np.empty((0, 2), np.intp)]
    places, calls = [], []
    for domain, numbers in zip(domains, of_items, strict=True):
        known = np.unique(numbers)
        if not known.any():
            continue
        if len(known) == 1:
            rows = domain.models[which[domain.models]]
            pairs.append(np.stack([rows, np.full(len(rows), known[0])], axis=1))
            continue
        for row, rows in zip(domain.blocks, domain.takers, strict=True):
            places += [rows] * len(row)
            calls += [
                (block, which[rows], numbers[part])
                for block, part in zip(row, domain.columns, strict=True)
            ]
    found = executor.gather(executor.submit_all(_answered, calls))
    for rows, some in zip(places, found, strict=True):
        pairs.append(np.stack([rows[some[:, 0]], some[:, 1]], axis=1))
    met = np.unique(np.concatenate(pairs), axis=0)
    out = np.zeros(len(which), np.intp)
    models, first, size = np.unique(met[:, 0], return_index=True, return_counts=True)
    out[models] = met[first, 1]
    between = {
        model: tuple(met[start : start + count, 1].tolist())
        for model, start, count in zip(models, first, size, strict=True)
        if count > 1
    }
    above = 1 + max((int(numbers.max(initial=0)) for numbers in of_items), default=0)
    number = {of: k for k, of in enumerate(sorted(set(between.values())), above)}
    for model, of in between.items():
        out[model] = number[of]
    return out


def nullable(numbers: Ints) -> pd.arrays.IntegerArray:
    """Numbers of components, null for 0."""
    return pd.arrays.IntegerArray(numbers.astype(np.int64), numbers == 0)


def tied(domain: PlacedDomain, counts: Rows) -> bool:
    """Whether totals tell that a domain ties all models that count and took it."""
    of_all = domain.cells.max(initial=0) == len(domain.models)
    most = domain.answered[counts].max(initial=0)
    return bool(of_all or most == np.count_nonzero(_asked(domain)))


def _counted(
    executor: Executor, domains: Sequence[PlacedDomain], models: pd.Index, counts: Rows
) -> Components:
    """Components of the models that count, and of the items that one of them answered."""
    starts = np.cumsum([0, *(len(domain.cells) for domain in domains)])
    links = Links(len(models), int(starts[-1]))
    cells = np.where(counts, np.sum([domain.answered for domain in domains], axis=0), 0)
    order = np.argsort(np.argsort(models))
    whole, rest = [], []
    for domain, start in zip(domains, starts[:-1], strict=True):
        if tied(domain, counts):
            links.tie(_counting(domain, counts), int(start))
            whole.append((domain, start))
        else:
            rest.append((domain, start))
    found = links.numbered(cells, order)
    if rest and found.models.max() > 1:
        places = [
            (rows[counts[rows]], start + part.start, (block, counts[rows]))
            for domain, start in rest
            for row, rows in zip(domain.blocks, domain.takers, strict=True)
            for block, part in zip(row, domain.columns, strict=True)
        ]
        blocks = executor.submit_all(_links, [call for *_, call in places])
        for (rows, first_item, _), block in zip(places, executor.gather(blocks), strict=True):
            links.add(rows, int(first_item), block)
        found = links.numbered(cells, order)
    else:
        whole += rest
    items = found.items.copy()
    for domain, start in whole:
        number = found.models[_counting(domain, counts)].max(initial=0)
        items[start : start + len(domain.cells)] = np.where(_asked(domain), number, 0)
    return Components(found.models, items)


def _counting(domain: PlacedDomain, counts: Rows) -> Ints:
    """Positions of the takers that count."""
    return domain.models[counts[domain.models]]


def _asked(domain: PlacedDomain) -> Rows:
    """Which items any model that counts answered."""
    return np.asarray(domain.weighted.attempts > 0.0)


def _links(block: ResponseBlock, counts: Rows) -> BlockLinks:
    return block_links(block.rows(counts))


def _answered(block: ResponseBlock, which: Rows, of_items: Ints) -> Any:
    """`answered_components` of some rows, by their places in the block."""
    found = answered_components(block.rows(which), of_items)
    found[:, 0] = np.flatnonzero(which)[found[:, 0]]
    return found
