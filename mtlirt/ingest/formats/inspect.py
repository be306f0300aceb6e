"""Inspect's logs: one model on one task.

A ``.json`` log is one document: status, what was run (``eval``), ``results`` and ``samples``. An
``.eval`` log is a zip archive of ``header.json`` (the same without the samples; until a run has
ended only ``_journal/start.json``) and one document a sample and epoch in ``samples/``.
"""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Iterator
from functools import partial
from typing import Any

from msgspec import Struct, field

from mtlirt.errors import InputError
from mtlirt.ingest.decoding import content_hash, decode, read_document
from mtlirt.ingest.formats.archives import Archive, open_archive
from mtlirt.ingest.formats.attempts import Attempts
from mtlirt.ingest.formats.batches import is_missing
from mtlirt.ingest.formats.times import read_time
from mtlirt.ingest.ids import show
from mtlirt.ingest.locations import Location
from mtlirt.ingest.opening import bare_suffix
from mtlirt.ingest.runs import Choices, Role, Run, Samples, choose

_JSON_MARKS = tuple(
    re.compile(pattern)
    for pattern in (rb'^\s*{\s*"', rb'"status"\s*:\s*"', rb'"eval"\s*:\s*{', rb'"task"\s*:\s*"')
)
_HEADERS = ("header.json", "_journal/start.json")
_GRADES = {"C": 1.0, "I": 0.0, "P": 0.5, "N": 0.0, "yes": 1.0, "true": 1.0, "no": 0.0, "false": 0.0}


class _Dataset(Struct):
    samples: int | None = None


class _Config(Struct):
    limit: int | list[int] | None = None
    sample_id: Any = None


class _Spec(Struct):
    task: str
    model: str
    created: str
    task_version: int | str = 0
    dataset: _Dataset = field(default_factory=_Dataset)
    config: _Config = field(default_factory=_Config)


class _Summary(Struct):
    name: str = ""
    scorer: str = ""


class _Results(Struct):
    total_samples: int = 0
    completed_samples: int = 0
    scores: list[_Summary] = field(default_factory=list)


class _Score(Struct):
    value: Any = None


class _Scored(Struct):
    scores: dict[str, _Score] | None = None


class _Sample(Struct):
    id: int | str
    epoch: int = 1
    scores: dict[str, _Score] | None = None
    input: str | list[dict[str, Any]] | None = None
    choices: Any = None
    error: Any = None
    invalidation: Any = None
    attachments: dict[str, str] | None = None


class _Header(Struct):
    eval: _Spec
    status: str = "started"
    results: _Results | None = None


class _ScoredLog(_Header):
    samples: list[_Scored] | None = None


class _WholeLog(Struct):
    samples: list[_Sample] | None = None


class Inspect:
    """Reads ``.eval`` and ``.json``; the metric is a scorer, or ``scorer.key`` of several values.

    Grades C, P, I and N are 1, 0.5, 0 and 0. Epochs are attempts.
    """

    name = "inspect"

    def role(self, path: Location, head: bytes) -> Role | None:
        """Told by the suffix, and the magic bytes of a zip archive or the first keys."""
        suffix = bare_suffix(path)
        if suffix == ".eval":
            return "log" if head.startswith(b"PK\x03\x04") else None
        if suffix == ".json" and all(mark.search(head) for mark in _JSON_MARKS):
            return "log"
        return None

    def runs(self, path: Location, choices: Choices) -> Iterator[Run]:
        """One run; of an archive the header and the first scored sample are read, else all."""
        header, scored, count = _read_header(path)
        spec = header.eval
        metric = _metric(scored, header, choices, str(path))
        yield Run(
            source=str(path),
            model=spec.model,
            task=spec.task,
            samples=partial(_samples, path, metric),
            version=str(spec.task_version),
            metric=metric,
            time=read_time(spec.created, f"{path}: eval.created"),
            partial=_partial(header, count),
        )


def _is_archive(path: Location) -> bool:
    return bare_suffix(path) == ".eval"


def _read_header(path: Location) -> tuple[_Header, dict[str, _Score], int]:
    """The header of a log, the scores of its first scored sample, and how many there are."""
    if not _is_archive(path):
        log = read_document(path, _ScoredLog)
        scored = (sample.scores for sample in log.samples or () if sample.scores)
        return log, next(scored, {}), len(log.samples or ())
    with open_archive(path) as archive:
        names = [name for name in _HEADERS if name in archive.names]
        if not names:
            raise InputError(f"{path}: no log of Inspect: it has no member {_HEADERS[0]}")
        header = decode(archive.read(names[0]), _Header, f"{path} {names[0]}")
        members = _members(archive)
        for name in members:
            sample = decode(archive.read(name), _Scored, f"{path} {name}")
            if sample.scores:
                return header, sample.scores, len(members)
        return header, {}, len(members)


def _members(archive: Archive) -> list[str]:
    """The members that hold samples."""
    return [
        name for name in archive.names if name.startswith("samples/") and name.endswith(".json")
    ]


def _read_samples(path: Location) -> Iterator[_Sample]:
    """The samples of a log; of an archive one at a time."""
    if not _is_archive(path):
        yield from read_document(path, _WholeLog).samples or ()
        return
    with open_archive(path) as archive:
        for name in _members(archive):
            yield decode(archive.read(name), _Sample, f"{path} {name}")


def _metric(
    scored: dict[str, _Score], header: _Header, choices: Choices, source: str
) -> str | None:
    """The scorer to read; None where nothing was scored."""
    found: list[str] = []
    for name, score in scored.items():
        keys = score.value if isinstance(score.value, dict) else None
        found += [name] if keys is None else [f"{name}.{key}" for key in keys]
    told = (
        [summary.scorer or summary.name for summary in header.results.scores]
        if header.results
        else []
    )
    found += [name for name in dict.fromkeys(told) if name not in scored]
    return choose(choices.metric, found, "metric", source) if found else None


def _partial(header: _Header, count: int) -> str:
    """Everything that keeps a run from being a whole one."""
    reasons = [] if header.status == "success" else [header.status]
    whole, limit = header.eval.dataset.samples, header.eval.config.limit
    if isinstance(limit, list):
        reasons.append(f"limit {'-'.join(map(str, limit))}")
    elif limit is not None and (whole is None or limit < whole):
        reasons.append(f"limit {limit}")
    if header.eval.config.sample_id is not None:
        reasons.append("chosen samples")
    results = header.results
    if results is not None and results.completed_samples < results.total_samples:
        reasons.append(f"{results.completed_samples} of {results.total_samples} samples completed")
    if not count:
        reasons.append("no samples in the log")
    elif results is not None and count < results.total_samples:
        reasons.append(f"{count} of {results.total_samples} samples in the log")
    return ", ".join(reasons)


def _samples(path: Location, metric: str | None) -> Iterator[Samples]:
    attempts = Attempts(str(path), "epochs")
    outcomes: Counter[str] = Counter()
    for number, sample in enumerate(_read_samples(path), 1):
        score = None
        if sample.invalidation is not None:
            outcomes["invalidated"] += 1
        elif sample.error is not None:
            outcomes["errored"] += 1
        else:
            score = _score(sample, metric, f"{path} sample {number}")
            outcomes["unscored"] += score is None
        attempts.add(str(sample.id), score, number, attempt=sample.epoch, content=_content(sample))
    yield attempts.samples(outcomes)


def _score(sample: _Sample, metric: str | None, place: str) -> float | None:
    """What one scorer said of a sample; None for nothing, or NaN."""
    scores = sample.scores or {}
    if metric is None:
        return None
    document = show(str(sample.id))
    if metric in scores:
        return _number(scores[metric].value, f"{place}: score {metric} of {document}")
    for name, score in scores.items():
        key = metric.removeprefix(f"{name}.")
        if key != metric and not is_missing(score.value):
            if not isinstance(score.value, dict):
                raise InputError(
                    f"{place}: score {name} of {document} is {show(str(score.value))}, expected a "
                    f"value named {show(key)}, as other samples have"
                )
            return _number(score.value.get(key), f"{place}: score {metric} of {document}")
    return None


def _number(value: Any, place: str) -> float | None:
    """A grade, a number or the text of one, as a number."""
    if isinstance(value, str):
        grade = _GRADES.get(value, _GRADES.get(value.lower()))
        if grade is not None:
            return grade
        try:
            value = float(value)
        except ValueError:
            raise InputError(
                f"{place} is {show(value)}, expected C, I, P, N, yes, no or a number"
            ) from None
    if is_missing(value):
        return None
    if not isinstance(value, (int, float)):
        raise InputError(
            f"{place} is {show(str(value))}, expected one value: choose another metric (--metric)"
        )
    return value


def _content(sample: _Sample) -> str | None:
    """A hash of the question, if it is nothing but text."""
    asked = sample.input
    texts: list[tuple[Any, Any]] = [("user", asked)]
    if isinstance(asked, list):
        texts = [(part.get("role"), part.get("content")) for part in asked]
    attachments = sample.attachments or {}
    if not all(isinstance(text, str) for _, text in texts):
        return None
    told = [
        (role, attachments.get(text.removeprefix("attachment://"), text)) for role, text in texts
    ]
    return content_hash([told, sample.choices])
