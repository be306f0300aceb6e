"""The file beside the samples of the lm-evaluation-harness: model, versions, shots, limits.

It is ``results_TIME.json``, or ``NAME_TIME.json`` where the user named the output, or
``results.json`` in releases that wrote no time.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Iterator, Mapping
from datetime import datetime
from typing import Any

import msgspec

from mtlirt.ingest.decoding import read_document
from mtlirt.ingest.formats.times import STAMP, spellings, unix_time
from mtlirt.ingest.locations import Location, neighbours
from mtlirt.ingest.opening import first_file, naming, open_bytes
from mtlirt.ingest.runs import HEAD_BYTES

Table = dict[str, Any]

_NAME = re.compile(rf"(results|.*_{STAMP})\.json(\.gz)?")
_BEGIN = re.compile(rb'(?:\xef\xbb\xbf)?\s*\{\s*"results"\s*:\s*\{')
_MODEL_KEYS = ("peft", "delta", "pretrained", "model", "path", "engine")
"""Of the arguments of a model, in the order in which the harness looks for its name."""


class Config(msgspec.Struct):
    """How the harness was called."""

    model_args: str | Table | None = None
    limit: float | None = None
    num_fewshot: int | None = None


class Results(msgspec.Struct):
    """What is read of the file."""

    results: dict[str, Table] = {}
    versions: Table = {}
    shots: Table = msgspec.field(name="n-shot", default_factory=dict)
    counts: Table = msgspec.field(name="n-samples", default_factory=dict)
    configs: Table = {}
    higher_is_better: Table = {}
    config: Config = msgspec.field(default_factory=Config)
    date: float | None = None
    model_name: str | None = None

    def has(self, task: str) -> bool:
        """Whether the run had a task."""
        return task in self.results or task in self.configs

    @property
    def model(self) -> str | None:
        """The model as the harness names it, ``@REVISION`` behind it where one was asked for."""
        arguments = _arguments(self.config.model_args)
        named = (arguments[key] for key in _MODEL_KEYS if arguments.get(key))
        name = self.model_name or next(named, None)
        revision = arguments.get("revision") or "main"
        return name if name is None or revision == "main" else f"{name}@{revision}"

    @property
    def time(self) -> datetime | None:
        """When the run began."""
        return None if self.date is None else unix_time(self.date, "date")

    def version(self, task: str) -> str | None:
        """The version of a task."""
        return _text(self.versions.get(task))

    def shots_of(self, task: str) -> str | None:
        """The examples before each question of a task."""
        config = self.configs.get(task)
        told = self.shots.get(task), isinstance(config, dict) and config.get("num_fewshot")
        shots = next((one for one in told if type(one) is int), self.config.num_fewshot)
        return _text(shots)

    def metrics(self, task: str) -> Iterator[tuple[str, str | None]]:
        """The metrics of a task, each with its filter; old releases have none."""
        for key in self.results.get(task, {}):
            metric, comma, name = key.partition(",")
            if not metric.endswith("_stderr"):
                yield metric, name if comma else None

    def falls_with_quality(self, task: str, metric: str) -> bool:
        """Whether less of a metric is better."""
        directions = self.higher_is_better.get(task)
        return isinstance(directions, dict) and directions.get(metric) is False

    def partial(self, task: str, samples: Callable[[], int]) -> str:
        """Why the run of a task is not whole; empty for a whole one.

        Parameters
        ----------
        samples
            Counts those in the log; asked where the results say how many there were.
        """
        counts, limit = self.counts.get(task), self.config.limit
        if isinstance(counts, dict) and {"original", "effective"} <= counts.keys():
            effective, found = counts["effective"], samples()
            if isinstance(effective, int) and found < effective:
                return f"{found} of {effective} samples in the log"
            if effective == counts["original"]:
                return ""
            if limit is None:
                return f"{effective} of {counts['original']} documents"
        return "" if limit is None else f"limit {limit:g}"


def read_results(path: Location) -> Results:
    """Read the file.

    Raises
    ------
    InputError
        Names file and field.
    """
    found = read_document(path, Results)
    if found.date is not None:
        unix_time(found.date, f"{path}: date")
    return found


def results_beside(samples: Location, stamp: str | None) -> Results | None:
    """The results of the run that wrote a file of samples; None where they are not beside it."""
    if stamp is None:
        names = ["results.json"]
    else:
        names = [f"results_{spelling}.json" for spelling in spellings(stamp)]
    beside = first_file(samples.parent, names)
    if beside is not None:
        return read_results(beside)
    if stamp is not None:
        ends = f"_{stamp}.json", f"_{stamp}.json.gz"
        for path in neighbours(samples):
            if path.name.endswith(ends) and _begins_as_results(path):
                return read_results(path)
    return None


def is_results(name: str, head: bytes) -> bool:
    """Whether a file is one of results, told by its name and first bytes."""
    return bool(_NAME.fullmatch(name) and _BEGIN.match(head))


def _begins_as_results(path: Location) -> bool:
    with naming(path), open_bytes(path) as file:
        return is_results(path.name, file.read(HEAD_BYTES))


def _arguments(told: str | Table | None) -> Mapping[str, Any]:
    """The arguments of a model by name."""
    if isinstance(told, str):
        return dict(part.strip().split("=", 1) for part in told.split(",") if "=" in part)
    return told or {}


def _text(value: Any) -> str | None:
    return None if value is None else str(value)
