"""The items that may be chosen, and the models they are chosen for."""

from __future__ import annotations

from collections.abc import Collection
from dataclasses import dataclass
from typing import Any

import numpy as np
import numpy.typing as npt
import pandas as pd

from mtlirt.irt.curves import Items
from mtlirt.irt.representation import Representation
from mtlirt.result import Fit

Float = npt.NDArray[np.float64]


@dataclass(frozen=True)
class Candidates:
    """What selection knows: parameters of items, traits of models, and nothing of test models.

    Attributes
    ----------
    items
        Index (``domain``, ``item_id``), the domains in the order of `totals`; columns ``slope``,
        ``intercept``, ``guessing`` and ``constant``. All items of the benchmarks.
    open
        Which of them may be chosen, shape (items,).
    totals
        Index ``domain``: the number of items of each benchmark.
    traits
        Posterior means of training models, shape (models, domains).
    prior
        The normal prior that ties the domains' traits.
    """

    items: pd.DataFrame
    open: npt.NDArray[np.bool_]
    totals: pd.Series[int]
    traits: Float
    prior: Representation

    @property
    def domains(self) -> list[str]:
        """Names of the benchmarks."""
        return list(self.totals.index)

    @property
    def parameters(self) -> Items:
        """Of all items, in the order of the table."""
        columns = self.items[["slope", "intercept", "guessing"]].to_numpy(dtype=np.float64)
        return Items(*np.ascontiguousarray(columns.T))

    @property
    def domain_numbers(self) -> npt.NDArray[np.intp]:
        """The number of each item's domain, shape (items,)."""
        return pd.Index(self.domains).get_indexer(self.items.index.get_level_values("domain"))


def candidates_of(fitted: Fit, barred: pd.Index[Any], models: Collection[str]) -> Candidates:
    """The candidates that a fit of training models makes.

    Parameters
    ----------
    fitted
        By `marginal` or `separate`.
    barred
        Items that must not be chosen; constant ones never are.
    models
        Those of the fit that selection is for; all of them are in the fit.
    """
    items = fitted.items[["slope", "intercept", "guessing", "constant"]]
    totals = items.groupby(level="domain", sort=False).size().reindex(fitted.domains.index)
    rows = fitted.models.index.get_indexer(pd.Index(models))
    traits = fitted.traits["mean"].to_numpy(dtype=np.float64).reshape(-1, len(fitted.domains))
    return Candidates(
        items,
        ~items["constant"].to_numpy(dtype=bool) & ~items.index.isin(barred),
        totals,
        traits[rows],
        fitted.prior,
    )
