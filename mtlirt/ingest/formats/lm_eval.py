"""Samples of the lm-evaluation-harness.

``samples_TASK_TIME.jsonl``, a line a document and filter, plain or gzipped, with the results of
the run beside it; the second Open LLM Leaderboard has the same files, some named ``.json``.
Metrics are keys of the line. Newer releases also write which keys those are (``metrics``) and
the ``filter``. Releases before 0.4.3 wrote ``ARGUMENTS_TASK.jsonl``, one JSON array, and
``results.json``.
"""

from __future__ import annotations

import re
from collections.abc import Iterator
from typing import Any

from mtlirt.errors import InputError
from mtlirt.ingest.formats.lm_eval_results import Results, is_results, results_beside
from mtlirt.ingest.formats.lm_eval_samples import SampleFile, SampleReader
from mtlirt.ingest.formats.metrics import choose_metric, is_score
from mtlirt.ingest.formats.times import STAMP, read_time
from mtlirt.ingest.ids import show, show_some
from mtlirt.ingest.locations import Location
from mtlirt.ingest.runs import Choices, Role, Run, choose, named_model

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
        file = SampleFile.at(path)
        first = file.first()
        if first is None:
            return
        task, stamp, results = _run_of(path, choices)
        metric = choose_metric(choices, _scores(first, choices, source), source)
        if results is not None and results.falls_with_quality(task, metric):
            raise InputError(
                f"{source}: less is better of metric {show(metric)}, so it is not how often an "
                "answer is right; choose another with --metric"
            )
        filter_ = _filter(file, first, results, task, metric, choices)
        reader = SampleReader(
            file, metric, filter_, first.get("filter") is not None, choices.filter is not None
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
            time=told.time
            or (None if stamp is None else read_time(stamp, f"{source}: the time in its name")),
            partial=told.partial(task, reader.count),
        )


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
    file: SampleFile,
    first: dict[str, Any],
    results: Results | None,
    task: str,
    metric: str,
    choices: Choices,
) -> str | None:
    """The filter whose samples are read; None where the log does not say."""
    mine = first.get("filter")
    if mine is not None and not isinstance(mine, str):
        raise InputError(f"{file.path}: filter is {show(str(mine))}, expected text")
    told = [] if results is None else results.metrics(task)
    known = [name for name_of, name in told if name_of == metric and name is not None]
    if mine is None:
        return known[0] if len(known) == 1 else None
    if mine not in known:
        asked = choices.filter not in (None, mine)
        known = file.filters() if asked else [mine]
    return choose(choices.filter, known, "filter", str(file.path))
