"""Join tables about models and items to responses."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from typing import Any, Generic, Literal, TypeVar

import numpy as np
import numpy.typing as npt
import pandas as pd
import pyarrow as pa

from mtlirt.errors import InputError
from mtlirt.ingest.ids import show, show_some
from mtlirt.ingest.locations import Location
from mtlirt.ingest.metadata_files import Metadata, read_metadata
from mtlirt.ingest.report import ItemId
from mtlirt.responses.weights import COLUMN, LARGEST_WEIGHT, is_weight

Unknown = Literal["error", "report"]
Key = TypeVar("Key", str, ItemId)


@dataclass(frozen=True)
class Joined(Generic[Key]):
    """A table of responses with its metadata.

    Attributes
    ----------
    table
        The rows as they were, the metadata as columns.
    unknown
        Ids of the metadata that the table lacks.
    present
        Which rows the metadata has; the columns of others are null.
    """

    table: pd.DataFrame
    unknown: tuple[Key, ...]
    present: npt.NDArray[np.bool_]

    @property
    def absent(self) -> int:
        """How many rows the metadata lacks."""
        return int((~self.present).sum())

    def beside(self, told: pd.DataFrame) -> pd.DataFrame:
        """What was known of the rows and the metadata, which counts where it has a row."""
        both = {
            name: _either(self.table[name], told[name], self.present)
            for name in self.table.columns.intersection(told.columns)
        }
        more = self.table.drop(columns=list(both))
        return pd.concat([told.assign(**both), more], axis=1)


def join_models(path: Location, models: pd.DataFrame, unknown: Unknown = "error") -> Joined[str]:
    """Join a table of models.

    Parameters
    ----------
    path
        A file with a column ``model_id`` and any others; ``weight``, if there, holds weights of
        models.
    models
        The model table of responses.
    unknown
        Whether ids that the responses lack are an error or listed.
    """
    metadata = read_metadata(path, required=("model_id",))
    _check_numbers(metadata, COLUMN, is_weight, f"a number from 0 to {LARGEST_WEIGHT:,.0f}")
    return _join(metadata, list(metadata.ids["model_id"]), models, "model", unknown)


def join_items(
    path: Location,
    items: pd.DataFrame,
    unknown: Unknown = "error",
    domain_column: str | None = None,
) -> Joined[ItemId]:
    """Join a table of items.

    Parameters
    ----------
    path
        A file with a column ``item_id``, a column of domains where an item id alone does not
        say which item is meant, and any others.
    items
        The item table of responses.
    unknown
        Whether ids that the responses lack are an error or listed.
    domain_column
        The column of domains; None for ``domain``.
    """
    column = domain_column or "domain"
    metadata = read_metadata(path, required=("item_id",), optional=(column,))
    _check_numbers(metadata, "guessing", _is_chance, "a chance from 0 to below 1")
    if column in metadata.ids:
        keys = list(zip(metadata.ids[column], metadata.ids["item_id"], strict=True))
    else:
        keys = list(_find_domains(metadata, items))
    return _join(metadata, keys, items, "item", unknown)


def _check_numbers(
    metadata: Metadata, column: str, accepted: Callable[[float], bool], expected: str
) -> None:
    """Refuse a column that holds anything but nulls, nan for such, and numbers accepted."""
    if column not in metadata.columns.column_names:
        return
    for position, value in enumerate(metadata.columns.column(column).to_pylist()):
        number = isinstance(value, int | float) and not isinstance(value, bool)
        if value is not None and not (number and (value != value or accepted(value))):
            raise InputError(
                f"{metadata.rows.place(position)}: {column} is {show(str(value))}, expected "
                f"{expected}"
            )


def _is_chance(value: float) -> bool:
    return 0.0 <= value < 1.0


def _find_domains(metadata: Metadata, items: pd.DataFrame) -> Iterator[ItemId]:
    """The item that each item id alone stands for; an unknown one gets no domain."""
    domains: defaultdict[str, list[str]] = defaultdict(list)
    for domain, item in items.index:
        domains[item].append(domain)
    for position, item in enumerate(metadata.ids["item_id"]):
        found = domains.get(item, [""])
        if len(found) > 1:
            raise InputError(
                f"{metadata.rows.place(position)}: item_id {show(item)} is in domains "
                f"{show_some(found)}: add a column 'domain'"
            )
        yield found[0], item


def _join(
    metadata: Metadata, keys: list[Key], table: pd.DataFrame, noun: str, unknown: Unknown
) -> Joined[Key]:
    """Bring the metadata into the order of the table."""
    places: dict[Key, int] = {}
    for position, key in enumerate(keys):
        first = places.setdefault(key, position)
        if first != position:
            raise InputError(
                f"{metadata.rows.place(first)} and {metadata.rows.place(position)}: "
                f"{noun} {_show_key(key)} twice"
            )
    known = set(table.index)
    strangers = tuple(key for key in keys if key not in known)
    if strangers and unknown == "error":
        place = metadata.rows.place(places[strangers[0]])
        raise InputError(
            f"{place}: no response has {noun} {_show_key(strangers[0])}; mend the table, or choose "
            f"unknown report (--unknown) for this and {len(strangers) - 1} other {noun}s"
        )
    order = [places.get(key) for key in table.index]
    columns = metadata.columns.take(pa.array(order, pa.int64()))
    joined = columns.to_pandas(types_mapper=_NULLABLE.get).set_axis(table.index)
    present = np.array([place is not None for place in order], bool)
    return Joined(joined, strangers, present)


def _either(given: pd.Series, told: pd.Series, present: npt.NDArray[np.bool_]) -> pd.Series:
    """The values of one column where they are present, and those of the other elsewhere."""
    if present.all() or told[~present].isna().all():
        return given
    if not present.any() or given[present].isna().all():
        return told.mask(present) if present.any() else told
    joined: pd.Series = pd.concat([given[present], told[~present]]).reindex(given.index)
    return joined


_NULLABLE: dict[pa.DataType, Any] = {
    pa.bool_(): pd.BooleanDtype(),
    pa.int8(): pd.Int8Dtype(),
    pa.int16(): pd.Int16Dtype(),
    pa.int32(): pd.Int32Dtype(),
    pa.int64(): pd.Int64Dtype(),
}
"""Types that pandas would otherwise change where a value is null."""


def _show_key(key: str | ItemId) -> str:
    return show(key) if isinstance(key, str) else f"{show(key[1])} of domain {show(key[0])}"
