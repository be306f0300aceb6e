"""Details in Parquet, a row a document, as lighteval and the first Open LLM Leaderboard write them.

``details_SUITE|TASK|SHOTS_TIME.parquet``, later ones without the suite. There are three
generations: metrics as columns of their own, in a column ``metrics``, and in a column ``metric``
beside ``doc``, which holds the question and its id. The model is named by ``results_TIME.json``,
which is in the same folder, in the one above, or under ``results/`` as the file is under
``details/``.
"""

from __future__ import annotations

import math
import re
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from hashlib import blake2b
from typing import Any

import msgspec
import pyarrow as pa

from mtlirt.errors import InputError
from mtlirt.ingest.decoding import read_document
from mtlirt.ingest.formats.metrics import choose_metric
from mtlirt.ingest.formats.stamps import STAMP, spellings, time_of
from mtlirt.ingest.ids import is_text
from mtlirt.ingest.locations import Location, kind_at
from mtlirt.ingest.opening import naming
from mtlirt.ingest.parquet import read_batches, read_schema
from mtlirt.ingest.runs import Choices, Run, Samples, named_model

BATCH_ROWS = 4096

_NAME = re.compile(rf"details_(?P<task>.+)_(?P<stamp>{STAMP})\.parquet")
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


@dataclass(frozen=True)
class Name:
    """What the name of a file of details says.

    Attributes
    ----------
    full
        The task as the tool's other files call it.
    suite, shots
        None where the name has none.
    """

    full: str
    suite: str | None
    task: str
    shots: str | None
    stamp: str

    @property
    def short(self) -> str:
        """The task without its shots."""
        return self.task if self.suite is None else f"{self.suite}|{self.task}"


def parse_name(name: str) -> Name | None:
    """Take the name of a file of details apart; None for other files."""
    match = _NAME.fullmatch(name)
    if match is None:
        return None
    first, *rest = match["task"].split("|")
    words = [first, *(part for part in rest if not part.isdecimal())]
    return Name(
        full=match["task"],
        suite=words[0] if len(words) > 1 else None,
        task="|".join(words[1:] or words),
        shots=next((part for part in rest if part.isdecimal()), None),
        stamp=match["stamp"],
    )


class _General(msgspec.Struct):
    model_name: str | None = None
    max_samples: int | None = None


class _Results(msgspec.Struct):
    """What is read of the file that names the model."""

    config_general: _General = msgspec.field(default_factory=_General)
    versions: dict[str, Any] = {}
    config_tasks: dict[str, Any] = {}

    def version(self, name: Name) -> str | None:
        """The version of a task, with its suite: other suites ask and count in other ways."""
        told = self.versions.get(name.full, self.versions.get(name.short))
        parts = [part for part in (name.suite, told) if part is not None]
        return ":".join(map(str, parts)) or None

    def partial(self, name: Name) -> str:
        """Why the run of a task is not whole; empty for a whole one."""
        task = self.config_tasks.get(name.full, self.config_tasks.get(name.short))
        if isinstance(task, dict):
            original, effective = task.get("original_num_docs"), task.get("effective_num_docs")
            if isinstance(original, int) and isinstance(effective, int) and effective > 0:
                return f"{effective} of {original} documents" if effective < original else ""
        limit = self.config_general.max_samples
        return "" if limit is None else f"limit {limit}"


_DECODER = msgspec.json.Decoder(_Results)


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
    metrics = _metrics(schema, source)
    metric = choose_metric(choices, list(metrics), source, headlines.get(name.task))
    results = _results_of(path, name.stamp) or _Results()
    model = results.config_general.model_name or named_model(
        choices, source, "config_general of results_TIME.json"
    )
    reader = _Reader(path, metrics[metric], _question(schema), _has(schema, _ID))
    return Run(
        source=source,
        model=model,
        task=name.task,
        samples=reader.samples,
        version=results.version(name),
        shots=name.shots,
        metric=metric,
        time=time_of(name.stamp, source),
        partial=results.partial(name),
    )


def _results_of(path: Location, stamp: str) -> _Results | None:
    """The results of the run; None where they are nowhere near."""
    folders = [path.parent, path.parent.parent]
    for ancestor in path.parent.parents:
        if ancestor.name == "details":
            below = path.parent.parent.parts[len(ancestor.parts) :]
            folders.append(ancestor.parent.joinpath("results", *below))
    for folder in folders:
        for spelling in spellings(stamp):
            results = folder / f"results_{spelling}.json"
            if kind_at(results) == "file":
                return read_document(results, _DECODER)
    return None


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
        scores = [None if _is_nan(score) else score for score in _values(batch, self.metric)]
        ids = _values(batch, _ID) if self.has_ids else [None] * len(batch)
        unscored = scores.count(None)
        return Samples(
            [str(row + k if told is None else told) for k, told in enumerate(ids)],
            scores,
            range(row + 1, row + 1 + len(batch)),
            contents=None
            if self.question is None
            else [_hash(text) for text in _values(batch, self.question)],
            outcomes={"unscored": unscored} if unscored else {},
            unit="row",
        )


def _values(batch: pa.RecordBatch, place: tuple[str, ...]) -> list[Any]:
    values = batch.column(place[0]).to_pylist()
    if len(place) == 1:
        return values
    return [None if value is None else value[place[1]] for value in values]


def _is_nan(score: Any) -> bool:
    return isinstance(score, float) and math.isnan(score)


def _hash(text: str | None) -> str | None:
    return None if text is None else blake2b(text.encode(), digest_size=8).hexdigest()
