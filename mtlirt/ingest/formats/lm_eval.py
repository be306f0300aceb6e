"""Samples of the lm-evaluation-harness.

``samples_TASK_TIME.jsonl``, a line a document and filter, plain or gzipped, with the results of
the run beside it; the second Open LLM Leaderboard has the same files, some named ``.json``.
Metrics are keys of the line. Newer releases also write which keys those are (``metrics``) and
the ``filter``. Releases before 0.4.3 wrote ``ARGUMENTS_TASK.jsonl``, one JSON array, and
``results.json``.
"""

from __future__ import annotations

import math
import re
from collections import Counter
from collections.abc import Iterator
from dataclasses import dataclass
from typing import Any

import msgspec

from mtlirt.errors import InputError
from mtlirt.ingest.decoding import decode, numbered_lines, read_document
from mtlirt.ingest.formats.lm_eval_results import Results, is_results, results_beside
from mtlirt.ingest.formats.metrics import choose_filter, choose_metric, is_score
from mtlirt.ingest.formats.stamps import STAMP, time_of
from mtlirt.ingest.ids import show, show_some
from mtlirt.ingest.jsonlines import without_mark
from mtlirt.ingest.locations import Location
from mtlirt.ingest.opening import naming, open_bytes
from mtlirt.ingest.runs import Choices, Role, Run, Samples, named_model

BATCH = 10_000
"""Samples that are handed over at once."""

_NAME = re.compile(rf"samples_(?P<task>.+)_(?P<stamp>{STAMP})")
_SUFFIX = re.compile(r"\.(jsonl|json|ndjson)(\.gz)?$")
_BEGIN = rb"(?:\xef\xbb\xbf)?\s*"
_SAMPLE = re.compile(_BEGIN + rb'\[?\s*\{\s*"doc_id"\s*:[^{]{0,100}"doc"\s*:')
_NAMED_SAMPLE = re.compile(_BEGIN + rb'\[?\s*\{.*"(doc_id|doc|arguments|resps)"\s*:', re.DOTALL)
_NO_METRICS = frozenset(
    [
        "doc_id",
        "doc",
        "target",
        "arguments",
        "resps",
        "filtered_resps",
        "filter",
        "metrics",
        "doc_hash",
        "prompt_hash",
        "target_hash",
    ]
)
_NO_FILTER = "none"
"""What the harness calls it where answers are scored as they are."""


class LmEval:
    """Reads the samples of one task, with model, version, shots and limit from the results."""

    name = "lm-eval"

    def role(self, path: Location, head: bytes) -> Role | None:
        """Told by the first keys, and by the name where another program reordered them."""
        suffix = _SUFFIX.search(path.name)
        if suffix is None:
            return None
        named = _NAME.fullmatch(path.name[: suffix.start()])
        if (_NAMED_SAMPLE if named else _SAMPLE).match(head):
            return "log"
        return "companion" if is_results(path.name, head) else None

    def runs(self, path: Location, choices: Choices) -> Iterator[Run]:
        """The one run of a file."""
        source = str(path)
        with naming(path), open_bytes(path) as file:
            is_array = without_mark(file.read(100)).lstrip().startswith(b"[")
        log = _Log(path, is_array)
        first = log.first()
        if first is None:
            return
        task, stamp, results = _run_of(path, choices)
        metric = choose_metric(choices, _scores(first, choices, source), source)
        if results is not None and results.falls_with_quality(task, metric):
            raise InputError(
                f"{source}: less is better of metric {show(metric)}, so it is not how often an "
                "answer is right; choose another with --metric"
            )
        filter_ = _filter(log, first, results, task, metric, choices)
        reader = _Reader(
            log, metric, filter_, first.get("filter") is not None, choices.filter is not None
        )
        told = results or Results()
        yield Run(
            source=source,
            model=told.model
            or named_model(choices, source, "model_name or model_args of results_TIME.json"),
            task=task,
            samples=reader.samples,
            version=told.version(task),
            shots=told.shots_of(task),
            filter=None if filter_ == _NO_FILTER else filter_,
            metric=metric,
            time=told.time or (None if stamp is None else time_of(stamp, source)),
            partial=told.partial(task),
        )


_OBJECT = msgspec.json.Decoder(dict[str, Any])


class _Filtered(msgspec.Struct):
    filter: str | None = None


@dataclass(frozen=True)
class _Log:
    """A file of samples."""

    path: Location
    is_array: bool

    def first(self) -> dict[str, Any] | None:
        """The first sample, all of it; None if there is none."""
        if self.is_array:
            return next(
                iter(read_document(self.path, msgspec.json.Decoder(list[dict[str, Any]]))), None
            )
        for number, line in numbered_lines(self.path):
            return decode(line, _OBJECT, f"{self.path} line {number}")
        return None

    def filters(self) -> list[str]:
        """The filters of all samples."""
        names = (line.filter for _, line in self.decoded(_Filtered))
        return list(dict.fromkeys(name for name in names if name is not None))

    def decoded(self, kind: type[Any]) -> Iterator[tuple[int, Any]]:
        """All samples, with their numbers."""
        if self.is_array:
            yield from enumerate(read_document(self.path, msgspec.json.Decoder(list[kind])), 1)  # type: ignore[valid-type]
            return
        decoder = msgspec.json.Decoder(kind)
        for number, line in numbered_lines(self.path):
            yield number, decode(line, decoder, f"{self.path} line {number}")


def _run_of(path: Location, choices: Choices) -> tuple[str, str | None, Results | None]:
    """Task, time in the name, and results of a file of samples."""
    stem = _SUFFIX.sub("", path.name)
    named = _NAME.fullmatch(stem)
    if named is not None:
        results = results_beside(path, named["stamp"])
        known = results is not None and results.has(named["task"])
        return named["task"], named["stamp"], results if known else None
    results = results_beside(path, None)
    tasks = [] if results is None else [*results.configs, *results.results]
    ends = [task for task in tasks if stem == task or stem.endswith(f"_{task}")]
    if not ends:
        return choices.task, None, None
    return max(ends, key=len), None, results


def _scores(first: dict[str, Any], choices: Choices, source: str) -> list[str]:
    """The metrics that give a sample one number."""
    listed = first.get("metrics")
    if isinstance(listed, list):
        names = [name for name in listed if isinstance(name, str) and name in first]
    else:
        names = [name for name in first if name not in _NO_METRICS]
    scores = [name for name in names if is_score(first[name])]
    others = [name for name in names if name not in scores]
    if choices.metric in others or (others and not scores):
        metric = choices.metric if choices.metric in others else others[0]
        better = f"; choose another with --metric: {show_some(scores)}" if scores else ""
        raise InputError(
            f"{source}: metric {show(metric)} is {show(str(first[metric or '']))}, not scalar: "
            f"expected one value a sample{better}"
        )
    return scores


def _filter(
    log: _Log,
    first: dict[str, Any],
    results: Results | None,
    task: str,
    metric: str,
    choices: Choices,
) -> str | None:
    """The filter whose samples are read; None where the log does not say."""
    mine = first.get("filter")
    if mine is not None and not isinstance(mine, str):
        raise InputError(f"{log.path}: filter is {show(str(mine))}, expected text")
    told = [] if results is None else results.metrics(task)
    known = [name for name_of, name in told if name_of == metric and name is not None]
    if mine is None:
        return known[0] if len(known) == 1 else None
    if mine not in known:
        asked = choices.filter not in (None, mine)
        known = log.filters() if asked else [mine]
    return choose_filter(choices, known, str(log.path))


@dataclass(frozen=True)
class _Reader:
    """Reads the samples of one filter."""

    log: _Log
    metric: str
    filter: str | None
    says_filter: bool
    chosen: bool

    def samples(self) -> Iterator[Samples]:
        """Batches of samples, those of other filters left out."""
        kind = msgspec.defstruct(
            "Line",
            [
                ("doc_id", int | str),
                ("score", Any, msgspec.field(name=self.metric)),
                ("filter", str | None, None),
                ("doc_hash", str | None, None),
            ],
            gc=False,
        )
        batch = _Batch()
        seen: set[str] = set()
        for number, line in self.log.decoded(kind):
            if self.says_filter and line.filter != self.filter:
                if self.chosen and line.filter is not None:
                    continue
                raise self._other_filter(number, line.filter)
            document = str(line.doc_id)
            if not self.says_filter:
                if document in seen:
                    raise self._ambiguous(number, document)
                seen.add(document)
            batch.add(document, line.score, number, line.doc_hash)
            if len(batch.documents) == BATCH:
                yield batch.samples()
                batch = _Batch()
        yield batch.samples()

    def _other_filter(self, number: int, name: str | None) -> InputError:
        return InputError(
            f"{self.log.path} line {number}: filter is {show(name)}, and {show(self.filter)} in "
            "lines before: several filters; choose one with --filter"
        )

    def _ambiguous(self, number: int, document: str) -> InputError:
        return InputError(
            f"{self.log.path} line {number}: doc_id {show(document)} is there twice, and no line "
            "says its filter: ambiguous filter; keep the lines of one filter only"
        )


class _Batch:
    """Samples under way."""

    def __init__(self) -> None:
        self.documents: list[str] = []
        self._scores: list[Any] = []
        self._numbers: list[int] = []
        self._contents: list[str | None] = []
        self._outcomes: Counter[str] = Counter()

    def add(self, document: str, score: Any, number: int, content: str | None) -> None:
        """Take one sample."""
        if score is None or (isinstance(score, float) and math.isnan(score)):
            score = None
            self._outcomes["unscored"] += 1
        self.documents.append(document)
        self._scores.append(score)
        self._numbers.append(number)
        self._contents.append(content)

    def samples(self) -> Samples:
        """All taken."""
        return Samples(
            self.documents,
            self._scores,
            self._numbers,
            contents=self._contents,
            outcomes=self._outcomes,
            unit="line",
        )
