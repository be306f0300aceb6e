"""One Arrow schema for every table of a snapshot."""

from __future__ import annotations

import dataclasses
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import pandas as pd
import pyarrow as pa

LATER = {"slope_se", "intercept_se", "weight", "component", "correct", "attempts"}
"""Nullable columns that the first snapshots lack: they are read as null."""


@dataclass(frozen=True)
class TableSchema:
    """The form of one table.

    Attributes
    ----------
    ids
        Levels of the frame's index, which come first.
    values
        Columns of the frame, in this order. NaN is null; nullable columns alone may have it.
    anchored
        More columns, which follow where a fit is on the scale of an anchor: all or none of them.
    """

    ids: pa.Schema
    values: pa.Schema
    anchored: pa.Schema = dataclasses.field(default_factory=lambda: pa.schema([]))

    def table(self, name: str, frame: pd.DataFrame) -> pa.Table:
        """The Arrow table of a frame, which must have just this form."""
        found = [*frame.index.names, *frame.columns]
        fields = self._fields(found)
        expected = [field.name for field in fields]
        if found != expected:
            raise ValueError(f"{name}: columns are {found}, expected {expected}")
        levels = [frame.index.get_level_values(level) for level in self.ids.names]
        columns = [*levels, *(frame[column] for column in frame.columns)]
        arrays = [
            _array(name, values, field) for values, field in zip(columns, fields, strict=True)
        ]
        return pa.Table.from_arrays(arrays, schema=pa.schema(fields))

    def check(self, table: pa.Table) -> None:
        """Refuse a table of another form; `LATER` columns may be absent."""
        names = table.schema.names
        fields = [f for f in self._fields(names) if f.name in names or not _later(f)]
        expected = pa.schema(fields)
        if not table.schema.equals(expected):
            raise ValueError(f"columns are {_told(table.schema)}; expected {_told(expected)}")

    def frame(self, table: pa.Table) -> pd.DataFrame:
        """The inverse of `table`, with `LATER` columns that are absent as null."""
        self.check(table)
        names = [field.name for field in self._fields(table.schema.names)]
        levels = [table.column(name).to_pandas().rename(name) for name in self.ids.names]
        index = pd.Index(levels[0]) if len(levels) == 1 else pd.MultiIndex.from_arrays(levels)
        frame: pd.DataFrame = table.drop_columns(self.ids.names).to_pandas()
        frame = frame.set_axis(index).reindex(columns=names[len(self.ids) :])
        return frame.astype(dict.fromkeys(self._nullable_numbers(names), "Int64"))

    def _nullable_numbers(self, names: Sequence[str]) -> list[str]:
        """Columns of whole numbers that may be null, which NumPy has none for."""
        return [f.name for f in self._fields(names) if f.nullable and pa.types.is_integer(f.type)]

    def _fields(self, names: Sequence[str]) -> list[pa.Field[Any]]:
        """Those of a table with such columns."""
        further = set(names).intersection(self.anchored.names)
        return [*self.ids, *self.values, *(self.anchored if further else [])]


def _fields(nullable: bool, **types: pa.DataType) -> list[pa.Field[Any]]:
    return [pa.field(name, kind, nullable=nullable) for name, kind in types.items()]


def _later(field: pa.Field[Any]) -> bool:
    return field.nullable and field.name in LATER


def _required(**types: pa.DataType) -> pa.Schema:
    return pa.schema(_fields(False, **types))


MODEL_ID = _required(model_id=pa.string())
DOMAIN = _required(domain=pa.string())

ITEMS = TableSchema(
    _required(domain=pa.string(), item_id=pa.string()),
    pa.schema(
        [
            *_fields(True, slope=pa.float64(), intercept=pa.float64()),  # null for accuracies
            *_fields(False, guessing=pa.float64()),
            *_fields(
                True,
                difficulty=pa.float64(),  # null where the slope is near 0
                slope_variance=pa.float64(),  # null in point estimates
                slope_intercept_covariance=pa.float64(),
                intercept_variance=pa.float64(),
                slope_se=pa.float64(),
                intercept_se=pa.float64(),
            ),
            *_fields(
                False,
                answered=pa.int64(),
                successes=pa.float64(),
                attempts=pa.float64(),
                constant=pa.bool_(),
                at_limit=pa.bool_(),
            ),
            *_fields(True, component=pa.int64()),  # null of none, and in snapshots that do not say
        ]
    ),
    pa.schema(
        [
            *_fields(True, drift_p=pa.float64()),  # null where items were not compared
            *_fields(False, drifted=pa.bool_()),
        ]
    ),
)

DOMAINS = TableSchema(
    DOMAIN,
    pa.schema(
        [
            *_fields(False, items=pa.int64(), models=pa.int64()),
            *_fields(True, uniqueness=pa.float64()),  # null in point estimates
            *_fields(False, pooling=pa.string(), sign_borrowed=pa.bool_()),
            *_fields(
                True,
                slope_mean=pa.float64(),  # null without priors
                slope_sd=pa.float64(),
            ),
            *_fields(False, weak=pa.bool_(), flat=pa.bool_()),
            *_fields(True, general_weight=pa.float64()),  # null where traits are drawn to another
            *_fields(False, cosine=pa.float64(), fused=pa.bool_()),
        ]
    ),
    pa.schema(
        [
            *_fields(
                True,
                link_scale=pa.float64(),  # null in domains that are not linked
                link_shift=pa.float64(),
                link_scale_se=pa.float64(),
                link_shift_se=pa.float64(),
                link_covariance=pa.float64(),
            ),
            *_fields(False, linked_items=pa.int64(), drifted_items=pa.int64()),
        ]
    ),
)

MODELS = TableSchema(
    MODEL_ID,
    pa.schema(
        [
            *_fields(False, answered=pa.int64(), domains=pa.int64()),
            *_fields(
                True,
                overall=pa.float64(),  # null without data
                overall_sd=pa.float64(),  # null in point estimates
                general=pa.float64(),
                general_sd=pa.float64(),
                weight=pa.float64(),  # null in snapshots that do not say
                component=pa.int64(),  # null without data, and in such snapshots
            ),
        ]
    ),
    pa.schema(_fields(True, overall_link_se=pa.float64(), general_link_se=pa.float64())),
)

TRAITS = TableSchema(
    _required(model_id=pa.string(), domain=pa.string()),
    pa.schema(
        [
            *_fields(
                True,
                mean=pa.float64(),  # null without data
                sd=pa.float64(),  # null in point estimates
                site_precision=pa.float64(),
                site_shift=pa.float64(),
            ),
            *_fields(False, answered=pa.int64(), borrowed=pa.bool_()),
            *_fields(
                True,
                correct=pa.float64(),  # null in snapshots that do not say
                attempts=pa.float64(),
            ),
        ]
    ),
    pa.schema(_fields(True, link_se=pa.float64())),
)

HISTORY = TableSchema(
    _required(number=pa.int64()),
    _required(
        objective=pa.float64(),
        change=pa.float64(),
        rank=pa.int64(),
        fused=pa.int64(),
        converged=pa.bool_(),
    ),
)

PATH = TableSchema(
    _required(penalty=pa.float64()),
    _required(loss=pa.float64(), loss_se=pa.float64(), fused=pa.float64(), chosen=pa.bool_()),
)
"""The path of cross-validation, in snapshots whose penalty it chose."""


def representation_schema(rank: int) -> TableSchema:
    """The form of the table of loadings on so many factors."""
    return TableSchema(DOMAIN, _required(**{f"factor_{k + 1}": pa.float64() for k in range(rank)}))


def table_schemas(rank: int) -> dict[str, TableSchema]:
    """The form of every table of a snapshot with so many factors, by name."""
    return {
        "items": ITEMS,
        "domains": DOMAINS,
        "models": MODELS,
        "traits": TRAITS,
        "representation": representation_schema(rank),
        "history": HISTORY,
    }


def _array(name: str, values: Any, field: pa.Field[Any]) -> pa.Array[Any]:
    array: pa.Array[Any] = pa.array(values.to_numpy(), field.type, from_pandas=True)
    if array.null_count and not field.nullable:
        row = array.is_null().index(True)
        raise ValueError(f"{name}: {field.name} is null in row {row} and {array.null_count} in all")
    return array


def _told(schema: pa.Schema) -> str:
    """A schema on one line."""
    nulls = {True: "", False: " not null"}
    return ", ".join(f"{field.name} {field.type}{nulls[field.nullable]}" for field in schema)
