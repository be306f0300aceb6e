"""Columns from Python values of mixed types, as JSON lines and object columns hold them."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np
import pyarrow as pa

from mtlirt.errors import InputError
from mtlirt.ingest.ids import encode_ids, is_unicode, show
from mtlirt.ingest.reader import Rows


def encode_object_ids(values: Sequence[Any], rows: Rows, field: str) -> pa.Array[Any]:
    """Dictionary-encode ids: text as it is, whole numbers in decimal, None.

    Parameters
    ----------
    values
        One a record.
    rows
        Where the records stand, for errors.
    field
        Names the column in errors.
    """
    texts = [
        value if value is None or isinstance(value, str) else _whole(value, rows, field, position)
        for position, value in enumerate(values)
    ]
    return encode_ids(_text_column(texts, rows, field), rows.source)


def object_values(values: Sequence[Any], rows: Rows, field: str) -> pa.Array[Any]:
    """Values as text, each as Python writes it; parameters as for `encode_object_ids`."""
    texts = [
        value if value is None or isinstance(value, str) else _number(value, rows, field, position)
        for position, value in enumerate(values)
    ]
    return _text_column(texts, rows, field)


def _whole(value: Any, rows: Rows, field: str, position: int) -> str:
    if isinstance(value, (bool, np.bool_)) or not isinstance(value, (int, np.integer)):
        raise InputError(
            f"{rows.place(position)}: {field} is {value!r}, expected text or a whole number"
        )
    return str(value)


def _number(value: Any, rows: Rows, field: str, position: int) -> str:
    if isinstance(value, np.generic):
        value = value.item()
    if not isinstance(value, (int, float)):
        raise InputError(f"{rows.place(position)}: {field} is {value!r}, expected a number")
    return repr(value)


def _text_column(texts: list[str | None], rows: Rows, field: str) -> pa.Array[Any]:
    try:
        return pa.array(texts, pa.large_string())
    except UnicodeEncodeError:
        for position, text in enumerate(texts):
            if text is not None and not is_unicode(text):
                raise InputError(
                    f"{rows.place(position)}: {field} is {show(text)}, not Unicode text "
                    "(half of a surrogate pair)"
                ) from None
        raise
