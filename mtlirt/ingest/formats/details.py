"""Details in Parquet, a row a document, as lighteval and the first Open LLM Leaderboard write them.

``details_SUITE|TASK|SHOTS_TIME.parquet``, later ones without the suite. There are three
generations: metrics as columns of their own, in a column ``metrics``, and in a column ``metric``
beside ``doc``, which holds the question and its id. The model is named by ``results_TIME.json``,
which is in the same folder, in the one above, or under ``results/`` as the file is under
``details/``.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from typing import Any

import pyarrow as pa

from mtlirt.errors import InputError
from mtlirt.ingest.decoding import text_hash
from mtlirt.ingest.formats.batches import is_missing
from mtlirt.ingest.formats.details_results import Results, parse_name, results_of
from mtlirt.ingest.formats.metrics import choose_metric
from mtlirt.ingest.formats.times import read_time
from mtlirt.ingest.ids import is_text, show
from mtlirt.ingest.locations import Location
from mtlirt.ingest.opening import naming
from mtlirt.ingest.parquet import read_batches, read_schema
from mtlirt.ingest.runs import Choices, Run, Samples, named_model

BATCH_ROWS = 4096

_STRUCTS = ("metrics", "metric")
_NO_METRICS = frozenset(
    [
        "num_effective_few_shots",
        "num_asked_few_shots",
        "truncated",
        "padded",
        "non_truncated",
        "non_padded",
        "gold_index",
    ]
)
_ID = ("doc", "id")
_QUESTIONS = (("doc", "query"), ("example",), ("hashes", "example"), ("hash", "example"))
"""Where the question may be, or a hash of it."""


def read_run(path: Location, choices: Choices, headlines: Mapping[str, str]) -> Run:
    """The run of a file of details, its samples unread.

    Parameters
    ----------
    headlines
        The metric of each task that is read where the user names none.

    Raises
    ------
    InputError
        If the file has not the name, the columns or the model that it should.
    """
    source = str(path)
    name = parse_name(path.name)
    if name is None:
        raise InputError(f"{source}: expected a name such as details_SUITE|TASK|SHOTS_TIME.parquet")
    schema = read_schema(path)
    for column in schema.names:
        if schema.names.count(column) > 1:
            raise InputError(f"{source}: column {show(column)} is there twice")
    metrics = _metrics(schema, source)
    metric = choose_metric(choices, list(metrics), source, headlines.get(name.task))
    results = results_of(path, name.stamp) or Results()
    model = results.config_general.model_name or named_model(
        choices, source, "config_general of results_TIME.json"
    )
    has_ids = _has(schema, _ID) and not pa.types.is_null(schema.field("doc").type.field("id").type)
    reader = _Reader(path, metrics[metric], _question(schema), has_ids)
    return Run(
        source=source,
        model=model,
        task=name.task,
        samples=reader.samples,
        version=results.version(name),
        shots=name.shots,
        metric=metric,
        time=read_time(name.stamp, f"{source}: the time in its name"),
        partial=results.partial(name),
    )


def _metrics(schema: pa.Schema, source: str) -> dict[str, tuple[str, ...]]:
    """The metrics that give a document one number, and where they are."""
    for column in _STRUCTS:
        if column in schema.names:
            kind = schema.field(column).type
            if not pa.types.is_struct(kind):
                raise InputError(
                    f"{source}: column {column} holds {kind}, expected a number by metric"
                )
            fields = [kind.field(k) for k in range(kind.num_fields)]
            return {field.name: (column, field.name) for field in fields if _is_score(field.type)}
    names = (name for name in schema.names if name not in _NO_METRICS)
    return {name: (name,) for name in names if _is_score(schema.field(name).type)}


def _is_score(kind: pa.DataType) -> bool:
    return (
        pa.types.is_integer(kind)
        or pa.types.is_floating(kind)
        or pa.types.is_boolean(kind)
        or pa.types.is_null(kind)
    )


def _has(schema: pa.Schema, place: tuple[str, ...]) -> bool:
    """Whether there is such a column, or field of one."""
    if place[0] not in schema.names:
        return False
    kind = schema.field(place[0]).type
    return len(place) == 1 or (pa.types.is_struct(kind) and kind.get_field_index(place[1]) >= 0)


def _question(schema: pa.Schema) -> tuple[str, ...] | None:
    for place in _QUESTIONS:
        if _has(schema, place):
            kind = schema.field(place[0]).type
            if is_text(kind if len(place) == 1 else kind.field(place[1]).type):
                return place
    return None


@dataclass(frozen=True)
class _Reader:
    """Reads the rows of a file.

    Attributes
    ----------
    metric, question
        Where they are.
    has_ids
        Whether documents have ids; else their row, from 0, is it.
    """

    path: Location
    metric: tuple[str, ...]
    question: tuple[str, ...] | None
    has_ids: bool

    def samples(self) -> Iterator[Samples]:
        """Batches of rows."""
        wanted = [self.metric, self.question, _ID if self.has_ids else None]
        columns = [".".join(place) for place in wanted if place is not None]
        row = 0
        with naming(self.path):
            for batch in read_batches(self.path, columns, [], BATCH_ROWS):
                yield self._batch(batch, row)
                row += len(batch)
        if not row:
            yield Samples([], [], [], unit="row")

    def _batch(self, batch: pa.RecordBatch, row: int) -> Samples:
        """The documents of some rows, `row` of them before."""
        scores = [None if is_missing(score) else score for score in _values(batch, self.metric)]
        return Samples(
            self._documents(batch, row),
            scores,
            range(row + 1, row + 1 + len(batch)),
            contents=None
            if self.question is None
            else [_hash(text) for text in _values(batch, self.question)],
            outcomes={"unscored": scores.count(None)},
            unit="row",
        )

    def _documents(self, batch: pa.RecordBatch, row: int) -> list[str]:
        """The ids of the documents of some rows, `row` of them before."""
        if not self.has_ids:
            return [str(row + k) for k in range(len(batch))]
        ids = _values(batch, _ID)
        if None in ids:
            raise InputError(
                f"{self.path} row {row + ids.index(None) + 1}: {'.'.join(_ID)} is null, expected "
                "an id"
            )
        return list(map(str, ids))


def _values(batch: pa.RecordBatch, place: tuple[str, ...]) -> list[Any]:
    values = batch.column(place[0]).to_pylist()
    if len(place) == 1:
        return values
    return [None if value is None else value[place[1]] for value in values]


def _hash(text: str | None) -> str | None:
    return None if text is None else text_hash(text)
