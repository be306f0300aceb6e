"""What surrounds a file of details: its name, and the results of the run."""

from __future__ import annotations

import re
from dataclasses import dataclass
from typing import Any

import msgspec

from mtlirt.ingest.decoding import read_document
from mtlirt.ingest.formats.times import STAMP, spellings
from mtlirt.ingest.locations import Location, kind_at

_NAME = re.compile(rf"details_(?P<task>.+)_(?P<stamp>{STAMP})\.parquet")


@dataclass(frozen=True)
class Name:
    """What the name of a file of details says.

    Attributes
    ----------
    full
        The task as the tool's other files call it.
    suite, shots
        None where the name has none.
    """

    full: str
    suite: str | None
    task: str
    shots: str | None
    stamp: str

    @property
    def short(self) -> str:
        """The task without its shots."""
        return self.task if self.suite is None else f"{self.suite}|{self.task}"


def parse_name(name: str) -> Name | None:
    """Take the name of a file of details apart; None for other files."""
    match = _NAME.fullmatch(name)
    if match is None:
        return None
    first, *rest = match["task"].split("|")
    words = [first, *(part for part in rest if not part.isdecimal())]
    return Name(
        full=match["task"],
        suite=words[0] if len(words) > 1 else None,
        task="|".join(words[1:] or words),
        shots=next((part for part in rest if part.isdecimal()), None),
        stamp=match["stamp"],
    )


class General(msgspec.Struct):
    """Of the whole run."""

    model_name: str | None = None
    max_samples: int | None = None


class Results(msgspec.Struct):
    """What is read of the file that names the model."""

    config_general: General = msgspec.field(default_factory=General)
    versions: dict[str, Any] = {}
    config_tasks: dict[str, Any] = {}

    def version(self, name: Name) -> str | None:
        """The version of a task, with its suite: other suites ask and count in other ways."""
        told = self.versions.get(name.full, self.versions.get(name.short))
        parts = [part for part in (name.suite, told) if part is not None]
        return ":".join(map(str, parts)) or None

    def partial(self, name: Name) -> str:
        """Why the run of a task is not whole; empty for a whole one."""
        task = self.config_tasks.get(name.full, self.config_tasks.get(name.short))
        if isinstance(task, dict):
            original, effective = task.get("original_num_docs"), task.get("effective_num_docs")
            if isinstance(original, int) and isinstance(effective, int) and effective > 0:
                return f"{effective} of {original} documents" if effective < original else ""
        limit = self.config_general.max_samples
        return "" if limit is None else f"limit {limit}"


def results_of(path: Location, stamp: str) -> Results | None:
    """The results of the run; None where they are nowhere near."""
    folders = [path.parent, path.parent.parent]
    for ancestor in path.parent.parents:
        if ancestor.name == "details":
            below = path.parent.parent.parts[len(ancestor.parts) :]
            folders.append(ancestor.parent.joinpath("results", *below))
    for folder in folders:
        for spelling in spellings(stamp):
            results = folder / f"results_{spelling}.json"
            if kind_at(results) == "file":
                return read_document(results, Results)
    return None
