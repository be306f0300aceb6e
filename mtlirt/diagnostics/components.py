"""Connected components of the design: which models are tied to each other by answered items."""

from __future__ import annotations

import numpy as np
import numpy.typing as npt
import pandas as pd
from scipy.sparse import coo_array, csr_array
from scipy.sparse.csgraph import connected_components

from mtlirt.diagnostics.cells import Ints


class Links:
    """Takes blocks of answered cells, and keeps one link for each model and item of a block."""

    def __init__(self, models: int, items: int) -> None:
        self.models, self.items = models, items
        self._ends: list[tuple[Ints, Ints]] = []

    def update(self, first_model: int, first_item: int, answered: npt.NDArray[np.bool_]) -> None:
        """Add a block, shape (models, items), at its place."""
        models, items = answered.shape
        one, other = np.nonzero(answered)
        graph = csr_array(
            (np.ones(len(one), np.int8), (one, models + other)),
            shape=(models + items, models + items),
        )
        _, label = connected_components(graph, directed=False)
        nodes = np.concatenate(
            [first_model + np.arange(models), self.models + first_item + np.arange(items)]
        )
        _, lowest = np.unique(label, return_index=True)
        self._ends.append((nodes, nodes[lowest][label]))

    def components(self) -> tuple[Ints, Ints]:
        """The component of each model and each item."""
        one, other = (
            np.concatenate([ends[k] for ends in self._ends] or [np.zeros(0, np.intp)])
            for k in (0, 1)
        )
        size = self.models + self.items
        graph = coo_array((np.ones(len(one), np.int8), (one, other)), shape=(size, size))
        _, label = connected_components(graph.tocsr(), directed=False)
        return label[: self.models].astype(np.intp), label[self.models :].astype(np.intp)


def numbered(
    models: Ints, items: Ints, answered: npt.NDArray[np.int64], ids: pd.Index
) -> tuple[pd.Series, pd.Series]:
    """Components by size: 1 has the most models; null for a model or item without an answer.

    Parameters
    ----------
    models, items
        Their components, by any numbers.
    answered
        Cells of each model, shape (models,).
    ids
        Of the models: of equally large components the first is that of more cells, then that
        whose least id comes first.
    """
    table = pd.DataFrame(
        {"label": models, "cells": answered, "order": np.argsort(ids.argsort())}
    ).query("cells > 0")
    by = table.groupby("label").agg(
        models=("cells", "size"), cells=("cells", "sum"), least=("order", "min")
    )
    by = by.sort_values(["models", "cells", "least"], ascending=[False, False, True])
    number = pd.Series(np.arange(1, len(by) + 1), by.index, dtype="Int64")
    of_models = number.reindex(models).where(answered > 0)
    return (
        of_models.reset_index(drop=True),
        number.reindex(items).reset_index(drop=True),
    )
