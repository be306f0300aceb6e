"""One Arrow schema for every table of a response store."""

from __future__ import annotations

import json
from collections.abc import Mapping
from typing import Any

import pandas as pd
import pyarrow as pa

from mtlirt.errors import InputError


def _required(**types: pa.DataType) -> pa.Schema:
    return pa.schema([pa.field(name, kind, nullable=False) for name, kind in types.items()])


MODELS = _required(model_id=pa.string())
"""``models.parquet``: a row of the arrays each; metadata columns follow."""

ITEMS = _required(domain=pa.string(), item_id=pa.string())
"""``items.parquet``: a column of a domain's array each; metadata columns follow."""

DOMAINS = _required(
    domain=pa.string(),
    key=pa.string(),  # folder of its arrays
    models=pa.int64(),  # that answered anything
    items=pa.int64(),
    dtype=pa.string(),
    has_trials=pa.bool_(),
    model_chunk=pa.int64(),
    item_chunk=pa.int64(),
)
"""``domains.parquet``: an array each, in the order of the item table."""

HISTORY = _required(key=pa.string(), value=pa.string())  # the value is JSON
"""``history.parquet``: how this version came about."""


def table_from_frame(frame: pd.DataFrame, ids: pa.Schema) -> pa.Table:
    """A table of ids and metadata.

    Parameters
    ----------
    frame
        Its index levels are the ids, its columns metadata of any types that Arrow knows.
    ids
        The schema of the index levels.
    """
    levels = [frame.index.get_level_values(level) for level in range(frame.index.nlevels)]
    columns = [_id_column(values, field) for values, field in zip(levels, ids, strict=True)]
    metadata = _metadata_table(frame, ids)
    schema = pa.unify_schemas([ids, metadata.schema])
    table = pa.Table.from_arrays([*columns, *metadata.columns], schema=schema)
    return table.replace_schema_metadata(metadata.schema.metadata)  # the types pandas needs back


def frame_from_table(table: pa.Table, ids: pa.Schema) -> pd.DataFrame:
    """The inverse of `table_from_frame`."""
    levels = [table.column(name).to_pandas() for name in ids.names]
    if len(levels) == 1:
        index = pd.Index(levels[0], name=ids.names[0])
    else:
        index = pd.MultiIndex.from_arrays(levels, names=ids.names)
    if table.num_columns == len(ids):
        return pd.DataFrame(index=index)
    metadata: pd.DataFrame = table.drop_columns(ids.names).to_pandas()
    return metadata.set_axis(index)


def history_table(history: Mapping[str, Any]) -> pa.Table:
    """A table of JSON values by key."""
    rows = [
        {"key": key, "value": json.dumps(value, sort_keys=True, allow_nan=False)}
        for key, value in history.items()
    ]
    return pa.Table.from_pylist(rows, schema=HISTORY)


def history_from_table(table: pa.Table) -> dict[str, Any]:
    """The inverse of `history_table`."""
    return {row["key"]: json.loads(row["value"]) for row in table.to_pylist()}


def expect_columns(table: pa.Table, schema: pa.Schema) -> pa.Table:
    """The table, which must begin with the columns of `schema`."""
    found = pa.schema(list(table.schema)[: len(schema)])
    if not found.equals(schema):
        raise ValueError(f"columns are {found}, expected {schema}")
    return table


def _id_column(values: pd.Index, field: pa.Field[Any]) -> pa.Array[Any]:
    try:
        column: pa.Array[Any] = pa.array(values.to_numpy(dtype=object), field.type)
    except (pa.ArrowInvalid, pa.ArrowTypeError, UnicodeError) as error:
        raise InputError(f"{field.name}: an id must be a string: {error}") from None
    if column.null_count:
        raise InputError(f"{field.name}: {column.null_count} ids are missing")
    return column


def _metadata_table(frame: pd.DataFrame, ids: pa.Schema) -> pa.Table:
    names = list(frame.columns)
    if not all(isinstance(name, str) for name in names) or len({*names, *ids.names}) < len(
        names
    ) + len(ids):
        raise InputError(
            f"metadata columns {names}: expected distinct strings other than {ids.names}"
        )
    try:
        return pa.Table.from_pandas(frame.reset_index(drop=True), preserve_index=False)
    except (pa.ArrowInvalid, pa.ArrowTypeError, pa.ArrowNotImplementedError) as error:
        raise InputError(f"metadata columns {names}: {'; '.join(map(str, error.args))}") from None
