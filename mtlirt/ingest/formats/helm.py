"""HELM's run folders: one model on one scenario.

``per_instance_stats.json`` is a list with an entry for each instance, perturbation and training
trial, and in it a statistic a metric. ``run_spec.json`` beside it says what was run, and
``scenario_state.json`` what was asked.
"""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Iterator, Sequence
from functools import partial
from typing import Any

from msgspec import Struct, field

from mtlirt.errors import InputError
from mtlirt.ingest.decoding import content_hash, read_document
from mtlirt.ingest.formats.attempts import Attempts
from mtlirt.ingest.formats.batches import is_missing
from mtlirt.ingest.formats.helm_groups import HEADLINE, ON_VALIDATION
from mtlirt.ingest.ids import show
from mtlirt.ingest.locations import Location
from mtlirt.ingest.opening import first_file
from mtlirt.ingest.runs import Choices, Role, Run, Samples, choose, named_model

_LOG = "per_instance_stats.json"
_COMPANIONS = {
    "run_spec.json": b'"scenario_spec"',
    "scenario.json": b'"definition_path"',
    "scenario_state.json": b'"adapter_spec"',
    "stats.json": b'"sum_squared"',
    "instances.json": b'"references"',
    "display_predictions.json": b'"instance_id"',
    "display_requests.json": b'"instance_id"',
}
"""Files beside the log, and what is in each."""


class _Name(Struct):
    name: str
    split: str | None = None
    perturbation: Any = None


class _Stat(Struct):
    name: _Name
    count: float = 0
    sum: float | None = None


class _Entry(Struct):
    instance_id: str
    stats: list[_Stat]
    train_trial_index: int = 0
    perturbation: Any = None

    @property
    def split(self) -> str | None:
        return self.stats[0].name.split if self.stats else None


class _Adapter(Struct):
    model: str | None = None
    method: str | None = None
    max_train_instances: int | None = None
    max_eval_instances: int | None = None


class _Adapted(Struct):
    adapter_spec: _Adapter


class _MetricArguments(Struct):
    names: list[str] = field(default_factory=list)


class _MetricSpec(Struct):
    args: _MetricArguments | None = None


class _Spec(Struct):
    name: str
    adapter_spec: dict[str, Any]
    metric_specs: list[_MetricSpec] = field(default_factory=list)
    groups: list[str] = field(default_factory=list)


class _Instance(Struct):
    id: str | None = None
    input: Any = None
    references: list[dict[str, Any]] = field(default_factory=list)
    perturbation: Any = None


class _Request(Struct):
    instance: _Instance


class _State(Struct):
    request_states: list[_Request]


class Helm:
    """Reads ``per_instance_stats.json`` with what lies beside it.

    The metric is the one asked for, the only one of the run, or the headline of HELM's own
    leaderboard (`helm_groups`); the split likewise, ``test`` where no leaderboard tells. Perturbed
    instances and other splits are left out and counted.
    """

    name = "helm"

    def role(self, path: Location, head: bytes) -> Role | None:
        """Told by the file's name and the keys it starts with."""
        name = path.name.removesuffix(".gz")
        if name == _LOG:
            return "log" if b'"instance_id"' in head or head.strip() == b"[]" else None
        mark = _COMPANIONS.get(name)
        return "companion" if mark is not None and mark in head else None

    def runs(self, path: Location, choices: Choices) -> Iterator[Run]:
        """One run; decodes the file once for its metrics and splits, and again for samples."""
        beside = first_file(path.parent, ["run_spec.json"])
        if beside is None:
            raise InputError(
                f"{path}: no run_spec.json beside it, which names model and scenario: keep the "
                "files of a run folder together"
            )
        spec = read_document(beside, _Spec)
        adapter = read_document(beside, _Adapted).adapter_spec
        entries = read_document(path, list[_Entry])
        plain = [entry for entry in entries if entry.perturbation is None]
        split = _split(plain, spec, choices, str(path))
        chosen = [entry for entry in plain if entry.split == split]
        metric = _metric(chosen, spec, choices, str(path))
        shots = adapter.max_train_instances
        yield Run(
            source=str(path),
            model=adapter.model or named_model(choices, str(beside), "adapter_spec.model"),
            task=_task(spec),
            samples=partial(_samples, path, metric, split),
            version=adapter.method,
            shots=None if shots is None else str(shots),
            split=split,
            metric=metric,
            partial=_partial(plain, adapter),
        )


def _task(spec: _Spec) -> str:
    """The run's name without what the adapter's fields tell: model, method, ..."""
    scenario, _, told = spec.name.partition(":")
    if not told:
        return scenario
    pairs = re.split(r",(?=[^,=]+=)", told)
    kept = [pair for pair in pairs if pair.partition("=")[0] not in spec.adapter_spec]
    kept = [pair for pair in kept if pair.partition("=")[0] not in ("model", "model_deployment")]
    return f"{scenario}:{','.join(kept)}" if kept else scenario


def _split(entries: Sequence[_Entry], spec: _Spec, choices: Choices, source: str) -> str | None:
    found = list(dict.fromkeys(entry.split for entry in entries if entry.split is not None))
    if not found:
        return None
    default = "valid" if ON_VALIDATION.intersection(spec.groups) else "test"
    return choose(choices.split, found, "split", source, default)


def _metric(entries: Sequence[_Entry], spec: _Spec, choices: Choices, source: str) -> str | None:
    found = list(dict.fromkeys(stat.name.name for each in entries for stat in each.stats))
    if not found:
        return None
    names = [name for each in spec.metric_specs if each.args for name in each.args.names]
    declared = [name for name in names if name in found]
    headlines = {HEADLINE[group] for group in spec.groups if group in HEADLINE}.intersection(found)
    default = headlines.pop() if len(headlines) == 1 else None
    if choices.metric is None and default is not None:
        return default
    return choose(choices.metric, found if choices.metric else declared or found, "metric", source)


def _partial(entries: Sequence[_Entry], adapter: _Adapter) -> str:
    """Whether there are as many instances as were allowed at most."""
    most = adapter.max_eval_instances
    instances = len({(entry.instance_id, entry.split) for entry in entries})
    return f"limit {most}" if most is not None and instances >= most else ""


def _samples(path: Location, metric: str | None, split: str | None) -> Iterator[Samples]:
    contents = _contents(path)
    attempts = Attempts(str(path), "training trials")
    outcomes: Counter[str] = Counter()
    for number, entry in enumerate(read_document(path, list[_Entry]), 1):
        if entry.perturbation is not None:
            outcomes["of perturbed instances, left out"] += 1
        elif entry.split != split:
            outcomes["of other splits, left out"] += 1
        else:
            score = _score(entry, metric, f"{path} sample {number}")
            outcomes["unscored"] += score is None
            document = entry.instance_id
            attempts.add(
                document,
                score,
                number,
                attempt=entry.train_trial_index,
                content=contents.get(document),
            )
    yield attempts.samples(outcomes)


def _score(entry: _Entry, metric: str | None, place: str) -> float | None:
    """The mean of a metric's statistic."""
    found = [stat for stat in entry.stats if stat.name.name == metric]
    found = [stat for stat in found if stat.name.perturbation is None]
    if len(found) > 1:
        raise InputError(f"{place}: {show(entry.instance_id)} has {metric} {len(found)} times")
    if not found or not found[0].count or found[0].sum is None:
        return None
    mean = found[0].sum / found[0].count
    return None if is_missing(mean) else mean


def _contents(path: Location) -> dict[str, str]:
    """Hashes of what the instances ask, where the file that says it is there."""
    beside = first_file(path.parent, ["scenario_state.json"])
    if beside is None:
        return {}
    instances = (request.instance for request in read_document(beside, _State).request_states)
    return {
        each.id: content_hash(
            [_text(each.input), [_text(r.get("output")) for r in each.references]]
        )
        for each in instances
        if each.id is not None and each.perturbation is None
    }


def _text(part: Any) -> Any:
    """A text as it is, in whatever version of HELM; other content with all its fields."""
    return part["text"] if isinstance(part, dict) and list(part) == ["text"] else part
