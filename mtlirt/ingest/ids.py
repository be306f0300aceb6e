"""Ids: strings, byte-exact, dictionary-encoded; and how messages show them."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from typing import Any

import numpy as np
import numpy.typing as npt
import pyarrow as pa
import pyarrow.compute as pc

from mtlirt.errors import InputError

ID = pa.dictionary(pa.int32(), pa.large_string())
"""The Arrow type of a column of ids."""

_SHOWN = 80
_UNMAPPED = -2


def show(text: str | None) -> str:
    """An id or a text as a message gives it: quoted, on one line, not too long."""
    if text is None:
        return "null"
    quoted = repr(text)
    return quoted if len(quoted) <= _SHOWN else f"{quoted[:_SHOWN]}... ({len(text)} characters)"


def is_unicode(text: str) -> bool:
    """Whether a text has no half of a surrogate pair, which nothing can write as UTF-8."""
    return text.isascii() or not any("\ud800" <= character <= "\udfff" for character in text)


def show_some(texts: Sequence[str], most: int = 10) -> str:
    """The first of several ids, and how many more there are."""
    more = f" and {len(texts) - most} more" if len(texts) > most else ""
    return ", ".join(show(text) for text in texts[:most]) + more


def encode_ids(column: pa.Array[Any], place: str) -> pa.DictionaryArray[Any, Any]:
    """Dictionary-encode a column of ids: text as it is, whole numbers in decimal.

    Parameters
    ----------
    column
        Text, whole numbers, or a dictionary of either; nulls stay.
    place
        Names file and column in the error that any other type raises.
    """
    if pa.types.is_null(column.type):
        return pa.nulls(len(column), ID)
    if pa.types.is_string_view(column.type):
        column = column.cast(pa.large_string())
    kind = column.dictionary.type if isinstance(column, pa.DictionaryArray) else column.type
    if not _is_id(kind):
        raise InputError(f"{place} holds {kind}, expected text or whole numbers: write ids as text")
    encoded = column.dictionary_encode()
    values = encoded.dictionary
    if pa.types.is_integer(kind):
        values = values.cast(pa.string())
    return pa.DictionaryArray.from_arrays(
        encoded.indices.cast(pa.int32()), values.cast(pa.large_string())
    )


class Codes:
    """Numbers for ids in the order of their first appearance.

    Attributes
    ----------
    ids
        Id -> its code.
    """

    def __init__(self) -> None:
        self.ids: dict[str, int] = {}
        self._known: pa.Array[Any] = pa.array([], pa.large_string())
        self._dictionary: pa.Array[Any] | None = None
        self._table = np.empty(0, np.int32)

    def code(self, name: str) -> int:
        """The code of one id."""
        return self.ids.setdefault(name, len(self.ids))

    def encode(self, column: pa.Array[Any]) -> npt.NDArray[np.int32]:
        """Codes of a column; -1 where the id is null, empty or nothing but white space.

        Only ids that a row uses get a code: a dictionary may hold more.
        """
        encoded = column.dictionary_encode()
        indices = (
            encoded.indices.fill_null(-1) if encoded.null_count else encoded.indices
        ).to_numpy()
        self._look_up(encoded.dictionary)
        unmapped = self._table == _UNMAPPED
        if unmapped.any():
            used = np.zeros(len(self._table), bool)
            used[indices] = True
            fresh = np.flatnonzero(used & unmapped)
            self._table[fresh] = self._new_codes(encoded.dictionary.take(fresh).to_pylist())
        return self._table.take(indices)

    def _look_up(self, dictionary: pa.Array[Any]) -> None:
        """Start the table of a dictionary, unless it is the one of the batch before."""
        if self._dictionary is None or not dictionary.equals(self._dictionary):
            self._dictionary = dictionary
            if len(self._known) < len(self.ids):
                self._known = pa.array(self.ids, pa.large_string())
            known = pc.index_in(dictionary, value_set=self._known).fill_null(_UNMAPPED)
            self._table = np.append(known.to_numpy(), np.int32(-1))

    def _new_codes(self, ids: Iterable[str | None]) -> list[int]:
        return [self.code(name) if name and not name.isspace() else -1 for name in ids]


def is_text(kind: pa.DataType) -> bool:
    """Whether an Arrow type is one of text."""
    return bool(
        pa.types.is_string(kind) or pa.types.is_large_string(kind) or pa.types.is_string_view(kind)
    )


def _is_id(kind: pa.DataType) -> bool:
    return bool(is_text(kind) or pa.types.is_integer(kind))
