"""Batches of records -> Responses, whatever order the records come in."""

from __future__ import annotations

from collections import Counter
from collections.abc import Mapping, Sequence
from dataclasses import replace

import numpy as np
import numpy.typing as npt
import pandas as pd
import pyarrow as pa

from mtlirt.errors import InputError
from mtlirt.ingest.cells import CellRule, Observed, Ranks, SmallCodes
from mtlirt.ingest.domains import (
    PoorDomains,
    check_domains,
    count_domains,
    find_domains,
    split_domains,
)
from mtlirt.ingest.ids import Codes, show, show_some
from mtlirt.ingest.items import ItemCodes
from mtlirt.ingest.notices import NO_CELL_NOTICES, notice_cells, notice_ids, notice_thresholds
from mtlirt.ingest.placing import place_cells, touched_cells
from mtlirt.ingest.reader import Batch
from mtlirt.ingest.report import DomainCount, FileCount, IngestReport, ItemId
from mtlirt.ingest.stored import Before
from mtlirt.ingest.values import ValueRule, Values, read_values
from mtlirt.responses.growth import Cells
from mtlirt.responses.matrix import Responses


class Assembler:
    """Takes batches in the order of the sources, then makes `Responses` of them.

    Parameters
    ----------
    domain
        The domain of records whose file names none.
    values, cells
        The rules of values and of cells.
    """

    def __init__(
        self,
        domain: str = "default",
        values: ValueRule | None = None,
        cells: CellRule | None = None,
        poor_domains: PoorDomains = "error",
    ) -> None:
        if not domain.strip():
            raise InputError(f"domain is {show(domain)}, expected a name")
        self._default_domain = domain
        self._value_rule = values or ValueRule()
        self._cell_rule = cells or CellRule()
        self._poor_domains = poor_domains
        self._models, self._item_ids, self._domains = Codes(), Codes(), Codes()
        self._items = ItemCodes()
        self._observed: list[Observed] = []
        self._files: Counter[str] = Counter()
        self._coerced: Counter[str] = Counter()
        self._ignored: set[str] = set()
        self._blank_rows = 0
        self._without_domain = 0
        self._names_domains: dict[str, bool] = {}

    def add(self, batch: Batch) -> None:
        """Take one batch."""
        records = batch.records
        self._files[batch.rows.source] += len(records)
        self._ignored |= batch.ignored
        self._blank_rows += batch.blank
        if not len(records):
            return
        models = self._required(self._models, batch, "model_id")
        item_ids = self._required(self._item_ids, batch, "item_id")
        domains = self._domain_codes(batch)
        items = self._items.encode(
            domains, item_ids, len(self._domains.ids), len(self._item_ids.ids)
        )
        trials = records["trials"] if "trials" in records.schema.names else None

        def place(position: int) -> str:
            return f"{batch.rows.place(position)}: {_name_record(records, position)}"

        values = read_values(records["correct"], trials, self._value_rule, place)
        self._coerced += values.coerced
        self._observed.append(
            _observe(
                batch,
                models.astype(np.min_scalar_type(len(self._models.ids))),
                items.astype(np.min_scalar_type(len(self._items.codes))),
                values,
            )
        )

    def finish(
        self, before: Before | None = None, lost: Mapping[str, Cells] | None = None
    ) -> tuple[Responses, IngestReport]:
        """Put the responses together; models, domains and items in the order of their ids.

        Parameters
        ----------
        before
            A store that they are added to. Of its cells those count as read before all others
            that records fall into. The report counts the cells that it gains, and leaves out
            what only the whole of the responses can tell: what is constant or empty.
        lost
            Domain -> cells of the store that do not count.
        """
        records = self._files.total()
        if not records and (before is None or self._files):
            names = show_some(list(self._files)) or "none"
            raise InputError(f"no responses: {len(self._files)} files without a record: {names}")
        models = list(self._models.ids)
        items = self._item_names()
        ranks = Ranks(_ranks(models), _ranks(items))
        models.sort()
        items.sort()
        held = []
        if before is not None:
            touched = touched_cells(self._observed, ranks)
            held = before.held(models, items, ranks, touched, lost or {})
        grid = place_cells(
            [*held, *self._observed],
            ranks,
            self._cell_rule,
            lambda row, column: f"model {show(models[row])}, {_name_item(items[column])}",
        )
        columns = find_domains(items)
        counts = count_domains(grid, columns)
        if self._poor_domains == "error":
            check_domains(
                counts if before is None else before.wholes(counts, grid, columns, models)
            )
        domains = split_domains(grid, columns)
        if before is None:
            cell_notices = notice_cells(grid, models, items, columns)
            id_notices = notice_ids(models, items)
        else:
            counts = _without(counts, columns, held, ranks)
            cell_notices = NO_CELL_NOTICES
            id_notices = notice_ids(*before.all_ids(models, items))
        report = IngestReport(
            files=tuple(FileCount(name, count) for name, count in self._files.items()),
            models=len(models),
            items=len(items),
            domains=counts,
            records=records,
            cells=sum(count.cells for count in counts),
            missing=records - sum(len(batch.models) for batch in self._observed),
            duplicates=grid.duplicates,
            conflicts=grid.conflicts,
            blank_rows=self._blank_rows,
            without_domain=self._without_domain,
            coerced=dict(sorted(self._coerced.items())),
            ignored_columns=tuple(sorted(self._ignored)),
            threshold_constant_items=notice_thresholds(
                self._observed, ranks, items, cell_notices["constant_items"]
            ),
            **cell_notices,
            **id_notices,
        )
        return Responses(domains, _model_table(models), _item_table(items)), report

    def _required(self, codes: Codes, batch: Batch, field: str) -> npt.NDArray[np.int32]:
        """Codes of a column of ids, none of which may be blank."""
        column = batch.records[field]
        encoded = codes.encode(column)
        if encoded.min() < 0:
            position = int(encoded.argmin())
            text = show(column[position].as_py())
            raise InputError(f"{batch.rows.place(position)}: {field} is {text}, expected an id")
        return encoded

    def _domain_codes(self, batch: Batch) -> npt.NDArray[np.int32]:
        """Codes of the domains; a file names all of them, or none and gets the default."""
        if "domain" not in batch.records.schema.names:
            code = self._domains.code(self._default_domain)
            return np.full(len(batch.records), code, np.int32)
        codes = self._domains.encode(batch.records["domain"])
        blank = codes < 0
        named = self._names_domains.setdefault(batch.rows.source, not blank[0])
        if (blank == named).any():
            position = int((blank == named).argmax())
            state = "a domain" if named else "no domain"
            raise InputError(
                f"{batch.rows.place(position)}: domain is "
                f"{show(batch.records['domain'][position].as_py())}, but the rows before it have "
                f"{state}: name it in all rows of a file or in none"
            )
        if not named:
            self._without_domain += len(codes)
            codes[:] = self._domains.code(self._default_domain)
        return codes

    def _item_names(self) -> list[ItemId]:
        """The items in the order of their codes."""
        domains, ids = list(self._domains.ids), list(self._item_ids.ids)
        return [(domains[domain], ids[item]) for domain, item in self._items.codes]


def _without(
    counts: Sequence[DomainCount],
    columns: Mapping[str, slice],
    held: Sequence[Observed],
    ranks: Ranks,
) -> tuple[DomainCount, ...]:
    """Counts of domains without the cells that the store has had."""
    times = np.zeros(ranks.shape[1], np.int64)
    for batch in held:
        np.add.at(times, ranks.columns[batch.items], 1)
    return tuple(
        replace(count, cells=count.cells - int(times[columns[count.name]].sum()))
        for count in counts
    )


def _observe(batch: Batch, models: SmallCodes, items: SmallCodes, values: Values) -> Observed:
    """Leave out what is missing, and store whole numbers small."""
    correct, trials, raw = values.correct, values.trials, values.raw
    if correct.dtype == np.int8:
        return Observed(batch.rows, None, models, items, correct, trials, raw)
    present = ~np.isnan(correct)
    bits = None
    if not present.all():
        bits = np.packbits(present)
        models, items, correct = models[present], items[present], correct[present]
        trials = None if trials is None else trials[present]
        raw = None if raw is None else raw[present]
    if trials is None and ((correct == 0) | (correct == 1)).all():
        return Observed(batch.rows, bits, models, items, correct.astype(np.int8), trials, raw)
    return Observed(batch.rows, bits, models, items, correct, trials, raw)


def _ranks(ids: Sequence[str] | Sequence[ItemId]) -> npt.NDArray[np.int64]:
    """The place of each id once they are sorted by code points, which is by UTF-8 bytes."""
    ranks = np.empty(len(ids), np.int64)
    ranks[sorted(range(len(ids)), key=ids.__getitem__)] = np.arange(len(ids))
    return ranks


def _name_record(records: pa.RecordBatch, position: int) -> str:
    model, item = records["model_id"][position].as_py(), records["item_id"][position].as_py()
    return f"model {show(model)}, item {show(item)}"


def _name_item(item: ItemId) -> str:
    return f"item {show(item[1])} of domain {show(item[0])}"


def _model_table(models: Sequence[str]) -> pd.DataFrame:
    return pd.DataFrame(index=pd.Index(models, name="model_id"))


def _item_table(items: Sequence[ItemId]) -> pd.DataFrame:
    levels = [domain for domain, _ in items], [item for _, item in items]
    return pd.DataFrame(index=pd.MultiIndex.from_arrays(levels, names=["domain", "item_id"]))
