"""Connected components of the design: which models are tied to each other by answered items."""

from __future__ import annotations

from typing import NamedTuple

import numpy as np
import numpy.typing as npt

from mtlirt.irt.blocks import ResponseBlock
from mtlirt.irt.kernels import compiled, inlined

Ints = npt.NDArray[np.intp]
Labels = npt.NDArray[np.int32]


class BlockLinks(NamedTuple):
    """What ties the models and items of a block: those of one label are of one component.

    Attributes
    ----------
    models
        An item of each model's component, shape (models,); -1 of a model without an answer.
    items
        Likewise of each item, shape (items,).
    """

    models: Labels
    items: Labels


class Components(NamedTuple):
    """Numbers of components, 1 for the largest; 0 for a model or item without an answer."""

    models: Ints
    items: Ints


class Links:
    """Joins blocks, of any domains, to the components of all models and items."""

    def __init__(self, models: int, items: int) -> None:
        self.models, self.items = models, items
        self._parent = np.arange(models + items)

    def add(self, models: Ints, first_item: int, block: BlockLinks) -> None:
        """Add a block of the models at these places and of items from this place on."""
        there = np.flatnonzero(block.models >= 0)
        self.tie(models[there], first_item + block.models[there].astype(np.intp))
        start = self.models + first_item
        _unite(self._parent, start + np.arange(len(block.items)), start + block.items)

    def tie(self, models: Ints, items: Ints | int) -> None:
        """Tie each model to an item that it answered."""
        _unite(self._parent, models, self.models + np.zeros(len(models), np.intp) + items)

    def numbered(self, cells: npt.NDArray[np.int64], order: Ints) -> Components:
        """Components by size: 1 has the most models.

        Parameters
        ----------
        cells
            Answered by each model, shape (models,).
        order
            Of the models: of equally large components the first is that of more cells, then that
            whose first model comes first in this order; shape (models,).
        """
        component = _roots(self._parent)
        nodes, of_models = len(component), component[: self.models]
        linked = np.flatnonzero(cells)
        size = np.bincount(of_models[linked], minlength=nodes)
        total = np.bincount(of_models[linked], cells[linked], nodes)
        first = np.full(nodes, self.models)
        np.minimum.at(first, of_models[linked], order[linked])
        found = np.flatnonzero(size)
        by_size = np.lexsort((first[found], -total[found], -size[found]))
        number = np.zeros(nodes, np.intp)
        number[found[by_size]] = np.arange(1, len(found) + 1)
        return Components(number[of_models], number[component[self.models :]])


def block_links(block: ResponseBlock) -> BlockLinks:
    """What ties the models and items of one block.

    Costs a look at each answered cell until all items are tied, then one for each model.
    """
    return BlockLinks(*_block_links(block.responses, block.weight))


def answered_components(block: ResponseBlock, of_items: Ints) -> npt.NDArray[np.intp]:
    """Which components each model of a block answered items of.

    Parameters
    ----------
    of_items
        The items' numbers, 0 of one that is in none.

    Returns
    -------
    numpy.ndarray
        Pairs (row, number), shape (pairs, 2), each once.
    """
    there = block.weight > 0 if block.weight.size else np.greater_equal(block.responses, 0)
    pairs = [np.empty((0, 2), np.intp)]
    for number in np.unique(of_items[of_items > 0]):
        rows = np.flatnonzero(there[:, of_items == number].any(axis=1))
        pairs.append(np.stack([rows, np.full(len(rows), number)], axis=1))
    return np.concatenate(pairs)


@inlined
def root(parent: npt.NDArray[np.signedinteger], node: int) -> int:
    """The node that stands for a node's set; what lay between them is passed over next time."""
    while parent[node] != node:
        parent[node] = parent[parent[node]]
        node = parent[node]
    return node


@compiled
def _block_links(
    responses: npt.NDArray[np.generic], weight: npt.NDArray[np.float32]
) -> tuple[Labels, Labels]:
    models, items = responses.shape
    parent = np.arange(items).astype(np.int32)
    of_models = np.full(models, -1, np.int32)
    weighed = weight.shape[0] > 0
    sets = items
    for i in range(models):
        for j in range(items):
            there = weight[i, j] > 0 if weighed else responses[i, j] >= 0
            if not there:
                continue
            if of_models[i] < 0:
                of_models[i] = root(parent, j)
            else:
                one, other = of_models[i], root(parent, j)
                if one != other:
                    of_models[i] = min(one, other)
                    parent[max(one, other)] = of_models[i]
                    sets -= 1
            if sets == 1:
                break
    for i in range(models):
        if of_models[i] >= 0:
            of_models[i] = root(parent, of_models[i])
    for j in range(items):
        parent[j] = root(parent, j)
    return of_models, parent


@compiled
def _unite(parent: Ints, nodes: Ints, others: npt.NDArray[np.signedinteger]) -> None:
    for k in range(len(nodes)):
        one, other = root(parent, nodes[k]), root(parent, others[k])
        parent[max(one, other)] = min(one, other)


@compiled
def _roots(parent: Ints) -> Ints:
    out = np.empty_like(parent)
    for node in range(len(parent)):
        out[node] = root(parent, node)
    return out
