"""Which models of a fit are tied by items that they answered: those of others cannot be ranked."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np
import pandas as pd

from mtlirt.cluster.executor import Executor
from mtlirt.engine.placement import PlacedDomain
from mtlirt.irt.components import Links, block_links


def model_components(
    executor: Executor, domains: Sequence[PlacedDomain], models: pd.Index
) -> pd.Series:
    """The component of each model in the graph of models and answered items of all domains.

    1 has the most models; null for a model without an answer. Models of weight 0 tie others too.

    Notes
    -----
    Totals tell that all takers of a domain are tied where one item was answered by all of them, or
    one of them answered all items. Only where such domains do not tie all models are the blocks of
    the others looked at.
    """
    starts = np.cumsum([0, *(len(domain.cells) for domain in domains)])
    links = Links(len(models), int(starts[-1]))
    cells = np.sum([domain.answered for domain in domains], axis=0)
    order = np.argsort(np.argsort(models))
    rest = []
    for domain, start in zip(domains, starts[:-1], strict=True):
        if tied(domain):
            links.tie(domain.models, int(start))
        else:
            rest.append((domain, start))
    found = links.numbered(cells, order)
    if rest and found.models.max() > 1:
        places = [
            (rows, start + part.start, block)
            for domain, start in rest
            for row, rows in zip(domain.blocks, domain.takers, strict=True)
            for block, part in zip(row, domain.columns, strict=True)
        ]
        blocks = executor.submit_all(block_links, [(block,) for *_, block in places])
        for (rows, first_item, _), block in zip(places, executor.gather(blocks), strict=True):
            links.add(rows, int(first_item), block)
        found = links.numbered(cells, order)
    component = pd.Series(found.models, models, dtype="Int64")
    return component.where(found.models > 0)


def tied(domain: PlacedDomain) -> bool:
    """Whether totals tell that a domain ties all models that took it."""
    of_all = domain.cells.max(initial=0) == len(domain.models)
    return bool(of_all or domain.answered.max(initial=0) == np.count_nonzero(domain.cells))
