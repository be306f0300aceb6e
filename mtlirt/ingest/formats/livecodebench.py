"""LiveCodeBench: the files behind its leaderboards.

``performances_SCENARIO.json`` has an entry for each model and question, with the percentage of
attempts that passed and not their number. Test output prediction has several test cases a
question and no name for them: they come in the same order for every model. -1 is no score.
"""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Iterator
from dataclasses import dataclass
from typing import Any

import msgspec

from mtlirt.errors import InputError
from mtlirt.ingest.decoding import read_document
from mtlirt.ingest.formats.batches import is_missing
from mtlirt.ingest.ids import show
from mtlirt.ingest.locations import Location
from mtlirt.ingest.runs import Choices, Role, Run, Samples, choose

_NAME = re.compile(r"performances_(?P<scenario>.+)\.json(\.gz)?")


class _Document(msgspec.Struct):
    performances: list[dict[str, Any]]


class _Entry(msgspec.Struct):
    model: str
    question_id: int | str
    sample_id: int | str | None = None


@dataclass(frozen=True)
class _Sample:
    number: int
    document: str
    percentage: Any


class LiveCodeBench:
    """Reads one scenario, a run a model; fractions stay fractions."""

    name = "livecodebench"

    def role(self, path: Location, head: bytes) -> Role | None:
        """Told by the name and the key of the entries."""
        return "log" if _NAME.fullmatch(path.name) and b'"performances"' in head else None

    def runs(self, path: Location, choices: Choices) -> Iterator[Run]:
        """A run a model."""
        source = str(path)
        entries = read_document(path, _Document).performances
        if not entries:
            return
        metrics = [key for key in entries[0] if key.lower().startswith("pass@")]
        metric = choose(choices.metric, metrics, "metric", source)
        named = _NAME.fullmatch(path.name)
        task = f"livecodebench_{named['scenario']}" if named else choices.task
        for model, samples in _by_model(entries, metric, source).items():
            yield Run(source, model, task, _Reader(source, samples), metric=metric)


@dataclass(frozen=True)
class _Reader:
    source: str
    samples: list[_Sample]

    def __call__(self) -> Iterator[Samples]:
        correct = [_fraction(sample, self.source) for sample in self.samples]
        yield Samples(
            [sample.document for sample in self.samples],
            correct,
            [sample.number for sample in self.samples],
            outcomes={"unscored": correct.count(None)},
            unit="entry",
        )


def _by_model(entries: list[dict[str, Any]], metric: str, source: str) -> dict[str, list[_Sample]]:
    """The entries of each model, a document each."""
    found: dict[str, list[_Sample]] = {}
    times: dict[str, Counter[str]] = {}
    for number, fields in enumerate(entries, 1):
        try:
            entry = msgspec.convert(fields, _Entry)
        except (msgspec.ValidationError, UnicodeEncodeError) as error:
            raise InputError(f"{source} entry {number}: {error}") from error
        if metric not in fields:
            raise InputError(f"{source} entry {number}: no {metric}")
        document = str(entry.question_id if entry.sample_id is None else entry.sample_id)
        times.setdefault(entry.model, Counter())[document] += 1
        found.setdefault(entry.model, []).append(_Sample(number, document, fields[metric]))
    if all(count == 1 for counts in times.values() for count in counts.values()):
        return found
    _check_alike(times, source)
    return {model: _numbered(samples, times[model]) for model, samples in found.items()}


def _check_alike(times: dict[str, Counter[str]], source: str) -> None:
    """Refuse questions of differently many test cases, which order cannot tell apart."""
    known: dict[str, tuple[str, int]] = {}
    for model, counts in times.items():
        for document, count in counts.items():
            first, expected = known.setdefault(document, (model, count))
            if count != expected:
                raise InputError(
                    f"{source}: question {show(document)} has {expected} entries of {show(first)} "
                    f"and {count} of {show(model)}: nothing tells which of its test cases they are"
                )


def _numbered(samples: list[_Sample], counts: Counter[str]) -> list[_Sample]:
    """Test cases of one question as its first, second, ..."""
    seen: Counter[str] = Counter()
    named = []
    for sample in samples:
        seen[sample.document] += 1
        document = sample.document
        if counts[document] > 1:
            document = f"{document}/{seen[document]}"
        named.append(_Sample(sample.number, document, sample.percentage))
    return named


def _fraction(sample: _Sample, source: str) -> float | None:
    percentage = sample.percentage
    if is_missing(percentage) or percentage == -1:
        return None
    is_number = isinstance(percentage, int | float) and not isinstance(percentage, bool)
    if not is_number or not 0 <= percentage <= 100:
        raise InputError(
            f"{source} entry {sample.number}: it scored {percentage!r}, expected a percentage from "
            "0 to 100, or -1 where there is none"
        )
    return float(percentage / 100)
