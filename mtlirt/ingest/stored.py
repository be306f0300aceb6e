"""What a store holds already, as an ingest that adds to it asks."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, fields, replace
from functools import cached_property

import dask.array as da
import numpy as np
import numpy.typing as npt
import pandas as pd

from mtlirt.ingest.cells import Grid, Observed, Ranks
from mtlirt.ingest.identity import qualified
from mtlirt.ingest.reader import Rows
from mtlirt.ingest.report import DomainCount, ItemId, RunCount
from mtlirt.responses.growth import NO_CELLS, Cells, pick
from mtlirt.responses.matrix import Responses, answered
from mtlirt.responses.store import StoredResponses, lineage

SOURCE = "the store"

RunKey = tuple[str, str, Mapping[str, str]]
"""Model, task and qualifiers of a run."""


class HeldCells(Observed):
    """Cells of the store among the responses of sources."""

    def place(self, position: int) -> str:  # noqa: ARG002
        """Name the place of one response."""
        return SOURCE


@dataclass(frozen=True)
class Before:
    """The version of a store that more is added to.

    Attributes
    ----------
    stored
        The version.
    taken
        `TakenFile.content` of the files that it came from.
    runs
        The runs of tools' logs that it came from.
    """

    stored: StoredResponses
    taken: frozenset[tuple[str, str]]
    runs: tuple[RunCount, ...]

    @classmethod
    def of(cls, stored: StoredResponses) -> Before:
        """Read how a version came about."""
        taken, runs = set(), []
        names = [field.name for field in fields(RunCount)]
        for entry in lineage(stored.root, stored.manifest):
            report = entry.history.get("report", {})
            taken |= {(file["sha256"], file["as_what"]) for file in report.get("taken", [])}
            told = [{name: run[name] for name in names} for run in report.get("runs", [])]
            runs += [RunCount(**run) for run in told]
        return cls(stored, frozenset(taken), tuple(runs))

    @property
    def responses(self) -> Responses:
        """What it holds."""
        return self.stored.responses

    @cached_property
    def _columns(self) -> dict[str, pd.Index]:
        return {domain: self.responses.item_ids(domain) for domain in self.responses.domains}

    def cells_of(self, runs: Sequence[RunKey]) -> dict[str, Cells]:
        """Domain -> the cells that hold responses of some runs, by the ids of their items."""
        numbers: dict[str, list[npt.NDArray[np.int64]]] = {}
        for model, task, qualifiers in runs:
            row = self.responses.models.index.get_indexer(pd.Index([model]))[0]
            if row >= 0 and task in self._columns:
                columns = np.flatnonzero(self._items_of(task, qualifiers))
                numbers.setdefault(task, []).append(row * len(self._columns[task]) + columns)
        found = {}
        for task, parts in numbers.items():
            cells = np.divmod(np.unique(np.concatenate(parts)), len(self._columns[task]))
            there = answered(pick(self.responses.domains[task].array, cells))
            found[task] = (cells[0][there], cells[1][there])
        return found

    def _items_of(self, task: str, qualifiers: Mapping[str, str]) -> npt.NDArray[np.bool_]:
        """Which items of a domain are documents of a run with such qualifiers."""
        ids = self._columns[task]
        if "document" not in self.responses.items:
            return np.zeros(len(ids), bool)
        documents = self.responses.items["document"].loc[task].tolist()
        return np.array(
            [
                isinstance(document, str) and qualified(document, qualifiers) == item
                for document, item in zip(documents, ids, strict=True)
            ]
        )

    def held(
        self,
        models: Sequence[str],
        items: Sequence[ItemId],
        ranks: Ranks,
        touched: npt.NDArray[np.bool_],
        without: Mapping[str, Cells],
    ) -> list[Observed]:
        """Cells of the store that responses of sources fall into, a batch a domain.

        Parameters
        ----------
        models, items
            Rows and columns of a grid.
        ranks
            Where models and items are in it.
        touched
            Which of its cells responses fall into.
        without
            Domain -> cells of the store that do not count.
        """
        model_codes, item_codes = np.argsort(ranks.rows), np.argsort(ranks.columns)
        rows_there = self.responses.models.index.get_indexer(pd.Index(models, dtype=object))
        domains = np.array([domain for domain, _ in items], object)
        batches: list[Observed] = []
        for domain, part in self.responses.domains.items():
            columns = np.flatnonzero(domains == domain)
            if not len(columns):
                continue
            columns_there = self._columns[domain].get_indexer(
                pd.Index([items[k][1] for k in columns.tolist()], dtype=object)
            )
            i, j = np.nonzero(
                touched[:, columns] & (rows_there >= 0)[:, None] & (columns_there >= 0)
            )
            cells = rows_there[i], columns_there[j]
            correct = pick(part.array, cells)
            there = answered(correct) & ~_among(cells, without.get(domain, NO_CELLS), part.array)
            trials = None if part.trials is None else pick(part.trials, cells)[there]
            held = HeldCells(
                rows=Rows(SOURCE, 0),
                present=None,
                models=model_codes[i[there]].astype(np.uint32),
                items=item_codes[columns[j[there]]].astype(np.uint32),
                correct=correct[there].astype(np.int8 if correct.dtype == np.int8 else np.float64),
                trials=trials,
                raw=None,
            )
            batches += [held] if there.any() else []
        return batches

    def all_ids(
        self, models: Sequence[str], items: Sequence[ItemId]
    ) -> tuple[list[str], list[ItemId]]:
        """The models and items of the store and more, each once, in order."""
        return (
            sorted({*self.responses.models.index, *models}),
            sorted({*self.responses.items.index, *items}),
        )

    def wholes(
        self,
        counts: Sequence[DomainCount],
        grid: Grid,
        columns: Mapping[str, slice],
        models: Sequence[str],
    ) -> list[DomainCount]:
        """Counts of domains with the models that answered there before, as far as it matters.

        Of a domain with responses of two models or more all is well; others are read.
        """
        found = []
        for count in counts:
            row = self.stored.rows.get(count.name)
            if row is None:
                found.append(count)
            elif row["models"] < 2:
                before = answered(self.responses.domains[count.name].array).any(axis=1).compute()
                now = answered(grid.correct[:, columns[count.name]]).any(axis=1)
                takers = {*self.responses.models.index[before], *np.array(models, object)[now]}
                found.append(replace(count, models=len(takers)))
        return found


def _among(cells: Cells, others: Cells, array: da.Array) -> npt.NDArray[np.bool_]:
    """Which cells of an array are among some others."""
    width = array.shape[1]
    return np.isin(cells[0] * width + cells[1], others[0] * width + others[1])
