"""What a reader of a tool's logs hands over: runs, each of one model on one task, and samples."""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from datetime import datetime
from typing import Any, Literal, Protocol

from mtlirt.errors import InputError
from mtlirt.ingest.ids import show_some
from mtlirt.ingest.locations import Location
from mtlirt.ingest.reader import Unit

QUALIFIERS = ("version", "shots", "split", "filter", "metric")
"""What besides task and document says which item a response is to, in the order of item ids."""

Role = Literal["log", "companion"]


@dataclass(frozen=True)
class Choices:
    """What the user chose where a log leaves a choice.

    Attributes
    ----------
    model
        The model of logs that name none.
    metric, filter, split
        Which of several to read; None where none was named.
    task
        The task of logs that name none.
    """

    model: str | None = None
    metric: str | None = None
    filter: str | None = None
    split: str | None = None
    task: str = "default"


NO_CHOICES = Choices()


@dataclass(frozen=True)
class Samples:
    """Some samples of a run, one a document.

    Attributes
    ----------
    documents
        Their ids within the task.
    correct
        1, 0, a fraction, true, false, or their text; None where nothing was scored; successes
        where there are `trials`.
    numbers
        Where each stands in the file, as a person counts.
    trials
        Attempts behind each.
    contents
        A hash of each document's content.
    outcomes
        How many samples had no plain score, by reason: ``errored``, ``unscored``, ``empty patch``.
    unit
        What `numbers` count.
    """

    documents: Sequence[str]
    correct: Sequence[Any]
    numbers: Sequence[int]
    trials: Sequence[int] | None = None
    contents: Sequence[str | None] | None = None
    outcomes: Mapping[str, int] = field(default_factory=dict)
    unit: Unit = "sample"

    def of(self, positions: Sequence[int]) -> Samples:
        """These samples in this order; outcomes are those of all."""

        def picked(values: Sequence[Any]) -> list[Any]:
            return [values[position] for position in positions]

        return Samples(
            picked(self.documents),
            picked(self.correct),
            picked(self.numbers),
            None if self.trials is None else picked(self.trials),
            None if self.contents is None else picked(self.contents),
            self.outcomes,
            self.unit,
        )


def together(parts: Sequence[Samples]) -> Samples:
    """The samples of one run, one after the other; there is at least one part.

    Where any part has trials, one that has none is of single attempts.
    """
    tried = any(part.trials is not None for part in parts)
    outcomes: Counter[str] = Counter()
    for part in parts:
        outcomes.update(part.outcomes)
    return Samples(
        [document for part in parts for document in part.documents],
        [value for part in parts for value in part.correct],
        [number for part in parts for number in part.numbers],
        [n for part in parts for n in part.trials or [1] * len(part.documents)] if tried else None,
        [one for part in parts for one in part.contents or [None] * len(part.documents)],
        outcomes,
        parts[0].unit,
    )


@dataclass(frozen=True)
class Run:
    """One model on one task, as one log tells of it.

    Attributes
    ----------
    source
        Name of the file with the samples.
    model, task
        As the log spells them.
    samples
        Reads the samples; called once, and only if the run counts.
    version, shots, split, filter, metric
        See `QUALIFIERS`; None where the log does not say.
    time
        When it ran, with a time zone; None where the log does not say.
    partial
        Why it is not a whole run, such as "limit 10" or "cancelled"; empty for a whole one.
    """

    source: str
    model: str
    task: str
    samples: Callable[[], Iterator[Samples]]
    version: str | None = None
    shots: str | None = None
    split: str | None = None
    filter: str | None = None
    metric: str | None = None
    time: datetime | None = None
    partial: str = ""

    @property
    def qualifiers(self) -> dict[str, str]:
        """Those that the log states, in order."""
        found = {name: getattr(self, name) for name in QUALIFIERS}
        return {name: value for name, value in found.items() if value is not None}


class Format(Protocol):
    """Reads the logs of one tool; found by its entry point in the group ``mtlirt.formats``."""

    @property
    def name(self) -> str:
        """What ``--format`` calls it."""
        ...

    def role(self, path: Location, head: bytes) -> Role | None:
        """Whether a file is one of its logs, or lies beside one, told by name and first bytes.

        Parameters
        ----------
        head
            The first `HEAD_BYTES`, decompressed.
        """
        ...

    def runs(self, path: Location, choices: Choices) -> Iterator[Run]:
        """The runs of one log, their samples unread.

        Raises
        ------
        InputError
            Names file, line and field of what is broken, or the choices where one must be made.
        """
        ...


HEAD_BYTES = 4096


def choose(
    asked: str | None, found: Sequence[str], noun: str, source: str, default: str | None = None
) -> str:
    """The one that was asked for, else the only one, else the default where none was asked for.

    So one choice serves logs of several tasks, of which some have one other metric; reports name a
    choice that served none.

    Parameters
    ----------
    asked
        What the user named.
    found
        What the log has.
    noun
        ``metric``, ``filter`` or ``split``: names the option.
    default
        Taken where nothing was asked for and the log has it.

    Raises
    ------
    InputError
        Lists the choices.
    """
    if asked in found:
        return str(asked)
    if len(found) == 1:
        return found[0]
    if asked is None and default is not None and default in found:
        return default
    if not found:
        raise InputError(f"{source}: it has no {noun}")
    listed = show_some(sorted(found))
    if asked is not None:
        raise InputError(f"{source}: no {noun} {asked!r}; it has {listed}")
    raise InputError(f"{source}: several {noun}s: {listed}; choose one with --{noun}")


def unused_choices(choices: Choices, runs: Sequence[Run]) -> tuple[str, ...]:
    """The choices that the logs which say what they were read by were not read by."""
    out = []
    for name in ("metric", "filter", "split"):
        asked = getattr(choices, name)
        found = {getattr(run, name) for run in runs} - {None}
        if asked is not None and found and asked not in found:
            out.append(f"--{name} {asked}")
    return tuple(out)


def named_model(choices: Choices, source: str, where: str) -> str:
    """The model that the user named for logs that do not.

    Raises
    ------
    InputError
        If none was named; tells where the tool would have named it.
    """
    if choices.model is None:
        raise InputError(f"{source}: it does not name its model ({where}); name it with --model")
    return choices.model
