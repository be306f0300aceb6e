"""What sources add to a store."""

from __future__ import annotations

from dataclasses import replace

import numpy as np
import pandas as pd

from mtlirt.ingest.assemble import Assembler
from mtlirt.ingest.native import RunLedger
from mtlirt.ingest.report import Growth, IngestReport
from mtlirt.ingest.stored import Before
from mtlirt.responses.growth import GrownResponses, grow


def add(
    before: Before, assembler: Assembler, ledger: RunLedger
) -> tuple[GrownResponses, IngestReport]:
    """The store with what an assembler has taken, all batches of the ledger among it."""
    replaced = ledger.replaced()
    lost = before.cells_of([(run.model, run.task, ledger.qualifiers(run)) for run in replaced])
    found, report = assembler.finish(before, lost)
    old = before.responses
    models = _longer(old.models, found.models)
    items = _longer(old.items, found.items)
    domains = items.index.get_level_values("domain")
    items = items.iloc[domains.factorize()[0].argsort(kind="stable")]
    items = _filled(items, ledger.item_table(items.index))
    growth = Growth(
        parent=before.stored.manifest.version,
        new_models=len(models) - len(old.models),
        new_items=len(items) - len(old.items),
        new_domains=len(set(found.domains) - set(old.domains)),
        models=len(models),
        items=len(items),
        domains=domains.nunique(),
        replaced_runs=tuple((run.model, run.task) for run in replaced),
        replaced_cells=sum(len(rows) for rows, _ in lost.values()),
    )
    return grow(before.stored, found, lost, models, items), replace(report, growth=growth)


def _longer(table: pd.DataFrame, more: pd.DataFrame) -> pd.DataFrame:
    """A table with rows for the ids of another behind its own, empty but for the ids."""
    new = more.index.difference(table.index, sort=False)
    longer = (table.astype(_nullable(table)) if len(new) else table).reindex(
        table.index.append(new)
    )
    longer.index.names = table.index.names
    return longer


def _nullable(table: pd.DataFrame) -> dict[str, str]:
    """Columns whose type has no null, and the one of the same values that has."""
    types = {"b": "boolean", "i": "Int64", "u": "UInt64"}
    return {
        str(name): types[dtype.kind]
        for name, dtype in table.dtypes.items()
        if isinstance(dtype, np.dtype) and dtype.kind in types
    }


def _filled(table: pd.DataFrame, told: pd.DataFrame) -> pd.DataFrame:
    """A table with what else is told of its rows, where it says nothing."""
    columns = {}
    for name in told.columns:
        if name not in table:
            columns[name] = told[name]
        elif (table[name].isna() & told[name].notna()).any():
            columns[name] = table[name].astype(object).where(table[name].notna(), told[name])
    return table.assign(**columns)
