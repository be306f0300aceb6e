"""Responses from tables in memory."""

from __future__ import annotations

from typing import Any, Literal, TypeAlias

import pandas as pd
import pyarrow as pa

from mtlirt.errors import InputError
from mtlirt.ingest.assemble import Assembler
from mtlirt.ingest.cells import CellRule
from mtlirt.ingest.domains import PoorDomains
from mtlirt.ingest.objects import encode_object_ids, object_values
from mtlirt.ingest.reader import Rows
from mtlirt.ingest.tidy import BATCH_ROWS, find_columns, tidy_batches
from mtlirt.ingest.values import ValueRule
from mtlirt.ingest.wide import Layout, wide_batches
from mtlirt.responses.matrix import Responses

Frame: TypeAlias = pd.DataFrame | pa.Table

_ROWS = Rows("frame", 0)


def from_tidy(
    frame: Frame,
    *,
    domain_column: str | None = None,
    domain: str = "default",
    fractions: Literal["error", "keep"] = "error",
    threshold: float | None = None,
    duplicates: Literal["error", "first", "attempts"] = "error",
    conflicts: Literal["error", "first", "last", "attempts"] = "error",
    poor_domains: PoorDomains = "error",
) -> Responses:
    """Make responses of a table with one response a row.

    Parameters
    ----------
    frame
        A pandas or Arrow table with columns ``model_id``, ``item_id``, ``correct`` and, where
        there are several domains, ``domain``; with ``trials``, ``correct`` is successes. Other
        columns are ignored. Ids are text or whole numbers.
    domain_column
        The column of the domains; None for ``domain``, if there is one.
    domain
        The one domain of a table without a column of domains.
    fractions
        Whether values strictly between 0 and 1 are an error or kept.
    threshold
        Where given, values from it up are 1 and those below it 0.
    duplicates, conflicts
        What becomes of equal and of differing responses of one model to one item: an error, the
        first (or last), or successes of so many attempts.
    poor_domains
        Whether domains with responses of fewer than 2 models are an error or kept, to be scored.

    Returns
    -------
    Responses
        Models, domains and items in the order of their ids.

    Raises
    ------
    InputError
        Names the row of the frame, counted from 0.
    """
    rules = ValueRule(fractions, threshold), CellRule(duplicates, conflicts)
    assembler = Assembler(domain, *rules, poor_domains)
    names = list(frame.column_names if isinstance(frame, pa.Table) else frame.columns)
    fields = find_columns(names, domain_column, _ROWS.source)
    if isinstance(frame, pa.Table):
        table = frame.select(list(fields.values()))
    else:
        columns = {
            name: _arrow(frame[name], is_id=field not in ("correct", "trials"))
            for field, name in fields.items()
        }
        table = pa.table(columns)
    batches = table.to_batches(max_chunksize=BATCH_ROWS)
    for batch in tidy_batches(batches, fields, _ROWS, frozenset()):
        assembler.add(batch)
    return assembler.finish()[0]


def from_wide(
    frame: Frame,
    *,
    model_column: str | None = None,
    transpose: bool = False,
    domain: str = "default",
    fractions: Literal["error", "keep"] = "error",
    threshold: float | None = None,
    duplicates: Literal["error", "first", "attempts"] = "error",
    conflicts: Literal["error", "first", "last", "attempts"] = "error",
    poor_domains: PoorDomains = "error",
) -> Responses:
    """Make responses of a table with one row a model and one column an item.

    Parameters
    ----------
    frame
        A pandas table whose index holds the models, or an Arrow table whose first column does.
    model_column
        The column that holds the models, if they are elsewhere.
    transpose
        Whether rows are items and columns models; `model_column` then names the items' column.
    domain
        The one domain.
    fractions, threshold, duplicates, conflicts
        As for `from_tidy`.

    Returns
    -------
    Responses
        Models and items in the order of their ids.
    """
    rules = ValueRule(fractions, threshold), CellRule(duplicates, conflicts)
    assembler = Assembler(domain, *rules, poor_domains)
    if isinstance(frame, pd.DataFrame):
        frame = _wide_table(frame, with_index=model_column is None)
    for batch in wide_batches(frame, Layout(model_column, transpose), _ROWS):
        assembler.add(batch)
    return assembler.finish()[0]


def _wide_table(frame: pd.DataFrame, *, with_index: bool) -> pa.Table:
    """The columns as Arrow, the index first where it holds the models."""
    labels = Rows("frame: columns", 0)
    names: list[Any] = encode_object_ids(list(frame.columns), labels, "name").to_pylist()
    columns = [_arrow(frame.iloc[:, column], is_id=False) for column in range(frame.shape[1])]
    if with_index:
        if isinstance(frame.index, pd.RangeIndex):
            raise InputError(
                "frame: its index only counts rows: name the column of the models (model_column) "
                "or make it the index"
            )
        columns.insert(0, _arrow(frame.index.to_series(), is_id=True))
        names.insert(0, "")
    return pa.Table.from_arrays(columns, names)


def _arrow(column: pd.Series, *, is_id: bool) -> Any:
    """A column as Arrow, with its own types of values where pandas keeps mixed objects."""
    if column.dtype != object:
        return pa.array(column, from_pandas=True)
    values = column.astype(object).where(column.notna().to_numpy(), None).tolist()
    name = str(column.name)
    if is_id:
        return encode_object_ids(values, _ROWS, name)
    return object_values(values, _ROWS, name)
