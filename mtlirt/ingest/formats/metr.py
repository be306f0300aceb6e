"""METR: ``all_runs.jsonl``, a line an attempt of an agent at a task, with several attempts a task.

Agents are told apart by ``alias``; ``model`` is shared by some of them. ``score_binarized``, the
score that METR fits, is 0 or 1; ``score`` is on a scale of its own for each task. Attempts that
used up their budget keep their score; those that ended by another fatal error have none.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator
from dataclasses import dataclass, field

import msgspec

from mtlirt.errors import InputError
from mtlirt.ingest.decoding import read_documents
from mtlirt.ingest.formats.attempts import Attempts
from mtlirt.ingest.formats.times import unix_time
from mtlirt.ingest.ids import show
from mtlirt.ingest.locations import Location
from mtlirt.ingest.runs import Choices, Role, Run, Samples, choose

_HEADLINE = "score_binarized"
_USED_UP = "usageLimits"


class _Line(msgspec.Struct):
    alias: str
    task_id: str
    score: float | None = None
    score_binarized: float | None = None
    fatal_error_from: str | None = None
    task_source: str | None = None
    completed_at: float | None = None
    run_id: int | str | None = None


@dataclass
class _Agent:
    """The attempts of one agent at the tasks of one source."""

    attempts: Attempts
    outcomes: Counter[str] = field(default_factory=Counter)
    completed: float = 0

    def samples(self) -> Iterator[Samples]:
        """One sample a task."""
        yield self.attempts.samples(self.outcomes)


class Metr:
    """Reads one file, a run an agent; items are tasks, their domain is ``task_source``."""

    name = "metr"

    def role(self, path: Location, head: bytes) -> Role | None:
        """Told by keys of the first line."""
        line = head.split(b"\n", 1)[0]
        known = all(key in line for key in (b'"task_id"', b'"score_binarized"', b'"alias"'))
        return "log" if known and path.name.endswith((".jsonl", ".jsonl.gz")) else None

    def runs(self, path: Location, choices: Choices) -> Iterator[Run]:
        """A run an agent and source of tasks; one pass counts the attempts."""
        source = str(path)
        metric = choose(choices.metric, ["score", _HEADLINE], "metric", source, default=_HEADLINE)
        agents: dict[tuple[str, str], _Agent] = {}
        met: set[int | str] = set()
        for number, line in read_documents(path, _Line):
            if line.run_id is not None:
                if line.run_id in met:
                    raise InputError(
                        f"{source} line {number}: run_id {show(str(line.run_id))} again"
                    )
                met.add(line.run_id)
            key = line.alias, line.task_source or choices.task
            agent = agents.setdefault(key, _Agent(Attempts(source, "attempts", "line")))
            score = line.score_binarized if metric == _HEADLINE else line.score
            if line.fatal_error_from not in (None, _USED_UP):
                score = None
                agent.outcomes["errored"] += 1
            elif score is None:
                agent.outcomes["unscored"] += 1
            elif line.fatal_error_from is not None:
                agent.outcomes["that used up their budget"] += 1
            agent.attempts.add(line.task_id, score, number)
            agent.completed = max(agent.completed, line.completed_at or 0)
        for (alias, task), agent in agents.items():
            yield Run(
                source=source,
                model=alias,
                task=task,
                samples=agent.samples,
                metric=metric,
                time=unix_time(
                    agent.completed / 1000, f"{source}: completed_at / 1000 of {show(alias)}"
                )
                if agent.completed
                else None,
            )
