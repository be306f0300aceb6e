"""EvalEval's instance-level files: JSON lines, a line for each sample and result.

``UUID_samples.jsonl`` holds them, and ``UUID.json`` beside it says what the results are: when they
were made, and by which metric. A file may hold several evaluations, and of each several results.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from datetime import datetime
from functools import partial
from typing import Any

from msgspec import Struct, field

from mtlirt.errors import InputError
from mtlirt.ingest.decoding import content_hash, decode, numbered_lines, read_document
from mtlirt.ingest.formats.batches import Batch
from mtlirt.ingest.formats.times import read_time, unix_time
from mtlirt.ingest.ids import show
from mtlirt.ingest.jsonlines import SUFFIXES
from mtlirt.ingest.locations import Location, kind_at
from mtlirt.ingest.runs import Choices, Role, Run, Samples, choose

_LINE_KEYS = (b'"evaluation_id"', b'"model_id"', b'"evaluation_name"', b'"sample_id"')
_AGGREGATE_KEYS = (b'"schema_version"', b'"evaluation_id"', b'"source_metadata"')
_UNNAMED = "score"


class _Asked(Struct):
    raw: Any = None
    reference: Any = None


class _Evaluation(Struct):
    score: float | bool | None = None


class _Key(Struct, frozen=True):
    """What says which result a line belongs to."""

    model_id: str
    evaluation_name: str
    evaluation_result_id: str | None = None


class _Line(Struct):
    model_id: str
    evaluation_name: str
    sample_id: str | int
    evaluation: _Evaluation
    input: _Asked = field(default_factory=_Asked)
    evaluation_result_id: str | None = None
    error: Any = None


class _Metric(Struct):
    metric_id: str | None = None
    metric_name: str | None = None
    lower_is_better: bool = False


class _Result(Struct):
    evaluation_name: str = ""
    evaluation_result_id: str | None = None
    evaluation_timestamp: str | None = None
    metric_config: _Metric = field(default_factory=_Metric)


class _Aggregate(Struct):
    evaluation_timestamp: str | None = None
    evaluation_results: list[_Result] = field(default_factory=list)


@dataclass(frozen=True)
class _Told:
    """What the aggregate file says of one result."""

    metric: str | None = None
    time: datetime | None = None
    lower_is_better: bool = False


class EveryEvalEver:
    """Reads instance-level files; a run for each model and evaluation.

    Where an evaluation has several results the metric is the one asked for, by the name that the
    aggregate file gives it, else by its result's id.
    """

    name = "every-eval-ever"

    def role(self, path: Location, head: bytes) -> Role | None:
        """Told by the suffix and the keys it starts with."""
        if path.name.lower().endswith(SUFFIXES):
            line = head.split(b"\n", 1)[0]
            return "log" if all(key in line for key in _LINE_KEYS) else None
        return "companion" if all(key in head for key in _AGGREGATE_KEYS) else None

    def runs(self, path: Location, choices: Choices) -> Iterator[Run]:
        """The runs of a file, which is read once for what is in it and again for each of them."""
        starts: dict[_Key, tuple[int, int]] = {}
        for number, offset, text in numbered_lines(path):
            key = decode(text, _Key, f"{path} line {number}")
            starts.setdefault(key, (number, offset))
        told = _read_aggregate(path)
        evaluations: dict[tuple[str, str], list[_Key]] = {}
        for key in starts:
            evaluations.setdefault((key.model_id, key.evaluation_name), []).append(key)
        for (model, evaluation), keys in evaluations.items():
            key, about = _choose(keys, told, choices, f"{path}: {show(evaluation)}")
            if about.lower_is_better:
                raise InputError(
                    f"{path}: {show(evaluation)}: its score is better the lower it is "
                    "(metric_config.lower_is_better), which no share of right answers is"
                )
            yield Run(
                source=str(path),
                model=model,
                task=evaluation,
                samples=partial(_samples, path, key, starts[key]),
                metric=about.metric,
                time=about.time,
            )


def _read_aggregate(path: Location) -> list[tuple[_Result, _Told]]:
    """What the aggregate file says of its results; nothing where there is none."""
    stem = path.name.removesuffix(".gz").removesuffix(".jsonl").removesuffix("_samples")
    beside = path.parent / f"{stem}.json"
    if kind_at(beside) != "file":
        return []
    aggregate = read_document(beside, _Aggregate)
    found = []
    for result in aggregate.evaluation_results:
        metric = result.metric_config
        stamp = result.evaluation_timestamp or aggregate.evaluation_timestamp
        time = None if stamp is None else _read_time(stamp, f"{beside}: evaluation_timestamp")
        name = metric.metric_id or metric.metric_name
        found.append((result, _Told(name, time, metric.lower_is_better)))
    return found


def _read_time(text: str, place: str) -> datetime:
    """A date and time, or seconds since 1970."""
    try:
        seconds = float(text)
    except ValueError:
        return read_time(text, place)
    return unix_time(seconds, place)


def _choose(
    keys: list[_Key], told: list[tuple[_Result, _Told]], choices: Choices, place: str
) -> tuple[_Key, _Told]:
    """The result to read of one evaluation, and what is known of it."""
    about = {key: _about(key, told) for key in keys}
    names = {about[key].metric or key.evaluation_result_id or _UNNAMED: key for key in keys}
    if len(names) < len(keys):
        names = {key.evaluation_result_id or _UNNAMED: key for key in keys}
    asked = None if list(names) == [_UNNAMED] else choices.metric
    key = names[choose(asked, list(names), "metric", place)]
    return key, about[key]


def _about(key: _Key, told: list[tuple[_Result, _Told]]) -> _Told:
    """What the aggregate file says of a result: by its id, else by its name if that has one."""
    if key.evaluation_result_id is not None:
        same = [
            each for result, each in told if result.evaluation_result_id == key.evaluation_result_id
        ]
    else:
        same = [each for result, each in told if result.evaluation_name == key.evaluation_name]
    return same[0] if len(same) == 1 else _Told()


def _samples(path: Location, key: _Key, start: tuple[int, int]) -> Iterator[Samples]:
    batch = Batch()
    for number, _, text in numbered_lines(path, start):
        line = decode(text, _Line, f"{path} line {number}")
        if _Key(line.model_id, line.evaluation_name, line.evaluation_result_id) == key:
            batch.add(
                str(line.sample_id),
                None if line.error else line.evaluation.score,
                number,
                content=_content(line.input),
                outcome="errored" if line.error else None,
            )
        if batch.is_full:
            yield batch.samples()
            batch = Batch()
    yield batch.samples()


def _content(asked: _Asked) -> str | None:
    return None if asked.raw is None else content_hash([asked.raw, asked.reference])
