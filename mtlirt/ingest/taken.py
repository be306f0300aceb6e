"""Which files an ingest took in, told by what they hold."""

from __future__ import annotations

import json
from collections.abc import Sequence
from dataclasses import dataclass, field
from hashlib import sha256
from typing import Any

from mtlirt.ingest.locations import Location
from mtlirt.ingest.opening import naming, open_plain
from mtlirt.ingest.report import TakenFile
from mtlirt.ingest.runs import Run

_PART = 1 << 16


@dataclass
class Shelf:
    """The files of an ingest, without those that the store has already.

    Attributes
    ----------
    known
        `TakenFile.content` of what the store has.
    taken
        Files that are read.
    before
        Names of files that are not.
    """

    known: frozenset[tuple[str, str]]
    taken: list[TakenFile] = field(default_factory=list)
    before: list[str] = field(default_factory=list)

    def takes(self, file: TakenFile) -> bool:
        """Whether a file is to be read; it is taken down."""
        if file.content in self.known:
            self.before.append(file.name)
            return False
        self.taken.append(file)
        return True


def table_file(path: Location, names: Sequence[object]) -> TakenFile:
    """Tell what a table holds, reading it once; `names` are the options that name its domains."""
    return TakenFile(str(path), _digest(path), _digest_of(names))


def log_file(path: Location, runs: Sequence[Run]) -> TakenFile:
    """Tell what a log with such runs holds, reading it once."""
    told = [(run.model, run.task, run.qualifiers) for run in runs]
    return TakenFile(str(path), _digest(path), _digest_of(told))


def _digest(path: Location) -> str:
    digest = sha256()
    with naming(path), open_plain(path) as file:
        while part := file.read(_PART):
            digest.update(part)
    return digest.hexdigest()


def _digest_of(value: Any) -> str:
    return sha256(json.dumps(value, sort_keys=True).encode()).hexdigest()
