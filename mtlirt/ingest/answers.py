"""Answers of one model to some items, from a file."""

from __future__ import annotations

from collections.abc import Container

import numpy as np

from mtlirt.errors import InputError
from mtlirt.ingest.ids import show
from mtlirt.ingest.locations import Location
from mtlirt.ingest.metadata_files import read_metadata
from mtlirt.ingest.report import ItemId
from mtlirt.ingest.values import ValueRule, read_values


def read_answers(path: Location, known: Container[ItemId]) -> dict[ItemId, int]:
    """Read what one model answered: (domain, item_id) -> 1 right, 0 wrong.

    Parameters
    ----------
    path
        A Parquet, CSV, TSV or JSON lines file with columns ``domain``, ``item_id`` and ``correct``;
        of a column ``model_id``, if there, all rows name one model. Rows whose ``correct`` is
        missing are passed over.
    known
        Items that may be answered.

    Raises
    ------
    InputError
        Names file and row of an item that is unknown or answered twice, of a value that is neither
        right nor wrong, and of a second model.
    """
    table = read_metadata(path, required=("domain", "item_id"), optional=("model_id",))
    for column in ("correct", "trials"):
        if (column in table.columns.column_names) != (column == "correct"):
            told = "no column 'correct'" if column == "correct" else "a column 'trials'"
            raise InputError(f"{path}: {told}; expected domain, item_id, correct (1 or 0)")
    place = table.rows.place
    models = table.ids.get("model_id", [])
    for position, model in enumerate(models):
        if model != models[0]:
            raise InputError(
                f"{place(position)}: model_id is {show(model)}, {place(0)} has {show(models[0])}; "
                "expected answers of one model"
            )
    correct = table.columns.column("correct").combine_chunks()
    values = read_values(correct, None, ValueRule(), place).correct
    first: dict[ItemId, int] = {}
    answers: dict[ItemId, int] = {}
    for position, one in enumerate(zip(table.ids["domain"], table.ids["item_id"], strict=True)):
        told = f"item {show(one[1])} of domain {show(one[0])}"
        if one not in known:
            raise InputError(f"{place(position)}: {told} is not among those of the snapshot")
        if first.setdefault(one, position) != position:
            raise InputError(f"{place(first[one])} and {place(position)}: {told} twice")
        if not np.isnan(values[position]):
            answers[one] = int(values[position])
    return answers
