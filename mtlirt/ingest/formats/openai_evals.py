"""OpenAI Evals' logs: JSON lines, the first the run's ``spec``, then an event a line.

Events are of a sample and have a type: ``match`` says whether an answer is correct, ``metrics``
gives numbers by name, ``error`` what went wrong; others tell of the conversation. They are numbered
from 0. A run that came to its end has a line with its ``final_report``, which is written before the
last events are: a log that is cut off may have it.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from functools import partial
from typing import Any

from msgspec import Struct, field

from mtlirt.errors import InputError
from mtlirt.ingest.decoding import read_documents
from mtlirt.ingest.formats.batches import Batch, is_missing
from mtlirt.ingest.formats.times import read_time
from mtlirt.ingest.ids import show
from mtlirt.ingest.jsonlines import SUFFIXES
from mtlirt.ingest.locations import Location
from mtlirt.ingest.runs import Choices, Role, Run, Samples, choose, named_model

_MATCH = "match"
_ROUNDING = 1e-3


class _Config(Struct):
    max_samples: int | None = None


class _Spec(Struct):
    eval_name: str
    base_eval: str | None = None
    split: str | None = None
    completion_fns: list[str] = field(default_factory=list)
    created_at: str | None = None
    run_config: _Config = field(default_factory=_Config)


class _Line(Struct):
    spec: _Spec | None = None
    final_report: Any = None
    type: str | None = None
    event_id: int | None = None
    sample_id: str | int | None = None
    data: Any = None


class OpenAIEvals:
    """Reads the logs of ``oaieval``; the metric is ``match``, or a name in ``metrics`` events.

    ``match`` is taken unless another is asked for. A sample with several events of the metric is
    several responses to one item.
    """

    name = "openai-evals"

    def role(self, path: Location, head: bytes) -> Role | None:
        """Told by the suffix and the first line."""
        if not path.name.lower().endswith(SUFFIXES):
            return None
        line = head.split(b"\n", 1)[0]
        return "log" if line.startswith(b'{"spec"') and b'"eval_name"' in line else None

    def runs(self, path: Location, choices: Choices) -> Iterator[Run]:
        """One run; reads the file once for its metrics, and again for samples."""
        spec: _Spec | None = None
        found: dict[str, None] = {}
        events = _Events()
        for _, line in read_documents(path, _Line):
            spec = spec or line.spec
            scores = _scores(line)
            events.add(line, scores)
            found.update(dict.fromkeys(scores))
        if spec is None:
            raise InputError(f"{path}: no log of OpenAI Evals: no line has the run's spec")
        task, version = _name(spec)
        yield Run(
            source=str(path),
            model=_model(spec, choices, str(path)),
            task=task,
            samples=partial(_samples, path, metric := _metric(found, choices, str(path))),
            version=version,
            split=spec.split,
            metric=metric,
            time=None
            if spec.created_at is None
            else read_time(spec.created_at, f"{path}: spec.created_at"),
            partial=_partial(spec, events),
        )


def _scores(line: _Line) -> dict[str, Any]:
    """The values of an event by metric."""
    if not isinstance(line.data, dict):
        return {}
    if line.type == _MATCH:
        return {_MATCH: line.data.get("correct")}
    if line.type == "metrics":
        return {name: value for name, value in line.data.items() if isinstance(value, (int, float))}
    return {}


def _name(spec: _Spec) -> tuple[str, str | None]:
    """Task and version of an evaluation that is named ``task.split.version``."""
    start = f"{spec.base_eval}.{spec.split}."
    if spec.base_eval and spec.eval_name.startswith(start):
        return spec.base_eval, spec.eval_name.removeprefix(start)
    return spec.eval_name, None


def _model(spec: _Spec, choices: Choices, source: str) -> str:
    names = list(dict.fromkeys(spec.completion_fns))
    if len(names) == 1:
        return names[0]
    where = "several completion_fns" if names else "no completion_fns in its spec"
    return named_model(choices, source, where)


def _metric(found: dict[str, None], choices: Choices, source: str) -> str | None:
    return choose(choices.metric, list(found), "metric", source, _MATCH) if found else None


@dataclass
class _Events:
    """Counts the events of a log, by which it is seen whether all are there.

    Attributes
    ----------
    report
        The final one; None where there is none.
    met, last
        How many numbered events there are, and the highest number.
    answers, right
        How many answers were matched, and how many of them are right.
    """

    report: Any = None
    met: int = 0
    last: int = -1
    answers: int = 0
    right: int = 0

    def add(self, line: _Line, scores: dict[str, Any]) -> None:
        """Take one line, with the values of its event by metric."""
        if line.final_report is not None:
            self.report = line.final_report
        if line.event_id is not None:
            self.met += 1
            self.last = max(self.last, line.event_id)
        if line.type == _MATCH:
            self.answers += 1
            self.right += scores.get(_MATCH) is True

    def lacking(self) -> Iterator[str]:
        """What shows that some are not there."""
        if self.report is None:
            yield "no final report"
        if self.met <= self.last:
            yield f"{self.met} of at least {self.last + 1} events in the log"
        told = self.report.get("accuracy") if isinstance(self.report, dict) else None
        if self.answers and isinstance(told, (int, float)):
            share = self.right / self.answers
            if abs(share - told) > _ROUNDING:
                yield f"accuracy of its events is {share:.3g}, {told:.3g} by its final report"


def _partial(spec: _Spec, events: _Events) -> str:
    most = spec.run_config.max_samples
    return ", ".join([*([] if most is None else [f"limit {most}"]), *events.lacking()])


def _samples(path: Location, metric: str | None) -> Iterator[Samples]:
    """The scored samples as they come, then those of which there are only other events."""
    scored: set[str] = set()
    errored: set[str] = set()
    others: dict[str, int] = {}
    batch = Batch()
    for number, line in read_documents(path, _Line):
        if line.sample_id is None:
            continue
        document = str(line.sample_id)
        scores = _scores(line)
        if metric in scores and not is_missing(scores[metric]):
            value = scores[metric]
            if not isinstance(value, (int, float)):
                raise InputError(
                    f"{path} line {number}: correct is {show(str(value))}, expected true or false"
                )
            scored.add(document)
            batch.add(document, value, number)
        else:
            others.setdefault(document, number)
            if line.type == "error":
                errored.add(document)
        if batch.is_full:
            yield batch.samples()
            batch = Batch()
    for document, number in others.items():
        if document not in scored:
            batch.add(
                document, None, number, outcome="errored" if document in errored else "unscored"
            )
    yield batch.samples()
