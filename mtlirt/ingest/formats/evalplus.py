"""EvalPlus: ``eval_results.json``, the samples of each task with the status of both test suites.

``plus`` is passing the base tests and the extra ones, as the tool counts it. The file names no
model; it is called after it with ``/`` written ``--``, and after the settings.
"""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Iterator
from dataclasses import dataclass

import msgspec

from mtlirt.errors import InputError
from mtlirt.ingest.decoding import read_document
from mtlirt.ingest.formats.attempts import Attempts
from mtlirt.ingest.formats.times import read_time
from mtlirt.ingest.ids import show
from mtlirt.ingest.locations import Location
from mtlirt.ingest.runs import Choices, Role, Run, Samples, choose, named_model

_NAME = re.compile(r".*eval_results\.json(\.gz)?")
_HEAD = re.compile(rb'(?:\xef\xbb\xbf)?\s*\{\s*"(?:date|hash|eval)"\s*:')
_SCORES = {"pass": 1, "fail": 0, "timeout": 0}


class _Solution(msgspec.Struct):
    base_status: str | None
    plus_status: str | None = None


class _Document(msgspec.Struct):
    eval: dict[str, list[_Solution]]
    date: str | None = None
    hash: str | None = None


class EvalPlus:
    """Reads one file as a run; its task is what stands before ``/`` in the ids of its tasks."""

    name = "evalplus"

    def role(self, path: Location, head: bytes) -> Role | None:
        """Told by the name and the first key."""
        return "log" if _NAME.fullmatch(path.name) and _HEAD.match(head) else None

    def runs(self, path: Location, choices: Choices) -> Iterator[Run]:
        """A run a benchmark; there is one in what the tool writes."""
        source = str(path)
        document = read_document(path, _Document)
        has_plus = any(
            solution.plus_status is not None
            for solutions in document.eval.values()
            for solution in solutions
        )
        metric = choose(choices.metric, ["base", "plus"][: 1 + has_plus], "metric", source)
        model = named_model(choices, source, "and its file's name has / as --")
        tasks: dict[str, dict[str, list[_Solution]]] = {}
        for name, solutions in document.eval.items():
            tasks.setdefault(name.rpartition("/")[0] or choices.task, {})[name] = solutions
        time = None if document.date is None else read_time(document.date, f"{source}: date")
        for task, documents in tasks.items():
            yield Run(
                source=source,
                model=model,
                task=task,
                samples=_Reader(source, metric, documents),
                version=document.hash,
                metric=metric,
                time=time,
            )


@dataclass(frozen=True)
class _Reader:
    source: str
    metric: str
    documents: dict[str, list[_Solution]]

    def __call__(self) -> Iterator[Samples]:
        attempts = Attempts(self.source, "samples", "entry")
        outcomes: Counter[str] = Counter()
        for number, (name, solutions) in enumerate(self.documents.items(), 1):
            for solution in solutions:
                place = f"{self.source}: {show(name)}"
                score = _score(solution.base_status, place)
                if self.metric == "plus" and score != 0:
                    extra = _score(solution.plus_status, place)
                    score = extra if score == 1 or extra == 0 else None
                outcomes["unscored"] += score is None
                attempts.add(name, score, number)
        yield attempts.samples(outcomes)


def _score(status: str | None, place: str) -> int | None:
    if status is None:
        return None
    if status not in _SCORES:
        raise InputError(f"{place}: status is {show(status)}, expected {', '.join(_SCORES)}")
    return _SCORES[status]
