"""can-ai-code: ``eval_INTERVIEW_LANGUAGES_..._MODEL_TIME.ndjson``, a line a question and language.

A question has weighted checks. ``status`` is 1 where all hold, ``passed`` the share of the weight
that holds, which the tool's own score adds up. A question without code is one that failed.
"""

from __future__ import annotations

import json
import re
from collections.abc import Iterator
from dataclasses import dataclass

import msgspec

from mtlirt.errors import InputError
from mtlirt.ingest.decoding import read_documents, text_hash
from mtlirt.ingest.formats.batches import Batch
from mtlirt.ingest.formats.times import unix_time
from mtlirt.ingest.ids import show
from mtlirt.ingest.locations import Location
from mtlirt.ingest.runs import Choices, Role, Run, Samples, choose

_NAME = re.compile(r"eval_(?P<interview>[^_]+)_.+?(?:_(?P<time>\d{9,11}))?\.ndjson(\.gz)?")
_PASSED = "PASS"
_REASONS = {"NO_CODE": "without code", "NO_FUNCTION": "without a function"}
_STATES = (_PASSED, "FAIL", *_REASONS)


class _Line(msgspec.Struct):
    model: str
    name: str
    language: str
    status: str
    passed: int
    total: int
    signature: str | None = msgspec.field(name="Signature", default=None)
    input: str | None = msgspec.field(name="Input", default=None)
    output: str | None = msgspec.field(name="Output", default=None)
    fact: str | None = msgspec.field(name="Fact", default=None)
    description: str | None = msgspec.field(name="Description", default=None)

    @property
    def content(self) -> str:
        """A hash of the question, which is another in each language."""
        asked = self.language, self.signature, self.input, self.output, self.fact, self.description
        return text_hash(json.dumps(asked))


class CanAiCode:
    """Reads one file as a run; its task is the interview in its name."""

    name = "can-ai-code"

    def role(self, path: Location, head: bytes) -> Role | None:
        """Told by the name and a key of the first line."""
        return "log" if _NAME.fullmatch(path.name) and b'"language"' in head else None

    def runs(self, path: Location, choices: Choices) -> Iterator[Run]:
        """The one run of a file."""
        source = str(path)
        first = next(read_documents(path, _Line), None)
        if first is None:
            return
        metric = choose(choices.metric, ["passed", "status"], "metric", source)
        named = _NAME.fullmatch(path.name)
        time = named["time"] if named else None
        yield Run(
            source=source,
            model=first[1].model,
            task=named["interview"] if named else choices.task,
            samples=_Reader(path, metric, first[1].model),
            metric=metric,
            time=None if time is None else unix_time(int(time), f"{source}: the time in its name"),
        )


@dataclass(frozen=True)
class _Reader:
    path: Location
    metric: str
    model: str

    def __call__(self) -> Iterator[Samples]:
        batch = Batch()
        for number, line in read_documents(self.path, _Line):
            if line.model != self.model:
                raise InputError(
                    f"{self.path} line {number}: model is {show(line.model)}, but "
                    f"{show(self.model)} in the lines before: give each model its file"
                )
            batch.add(
                f"{line.name}/{line.language}",
                self._score(line, number),
                number,
                content=line.content,
                outcome=_REASONS.get(line.status),
            )
        yield batch.samples()

    def _score(self, line: _Line, number: int) -> float:
        if line.status not in _STATES:
            raise InputError(
                f"{self.path} line {number}: status is {show(line.status)}, expected one of "
                f"{', '.join(_STATES)}"
            )
        if self.metric == "status":
            return int(line.status == _PASSED)
        if not 0 <= line.passed <= line.total or line.total == 0:
            raise InputError(
                f"{self.path} line {number}: passed is {line.passed} of {line.total}, expected at "
                "least 0 and at most the total, which is above 0"
            )
        return line.passed / line.total
