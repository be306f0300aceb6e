"""Runs from tools' logs as batches of records, with an account of which counted and as what."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace
from datetime import UTC, datetime
from itertools import compress
from typing import Any

import numpy as np
import pandas as pd
import pyarrow as pa

from mtlirt.errors import InputError
from mtlirt.ingest.aliases import MMLU_SUBJECTS, NO_ALIASES, Aliases, mmlu_subject
from mtlirt.ingest.current import WhichRuns, current_runs
from mtlirt.ingest.identity import ItemBook, OnContent, Repeated, check_pool
from mtlirt.ingest.ids import is_unicode, show
from mtlirt.ingest.objects import encode_object_ids, object_values
from mtlirt.ingest.reader import Batch, Rows
from mtlirt.ingest.report import ItemId, RunCount
from mtlirt.ingest.runs import QUALIFIERS, Run, Samples, together
from mtlirt.ingest.stored import SOURCE, Before


@dataclass(frozen=True)
class RunRule:
    """What becomes of runs.

    Attributes
    ----------
    aliases
        Other names of models and tasks.
    pool
        Qualifiers that do not tell items apart.
    runs
        Whether the latest whole run of a model on a task counts, or all.
    on_content, repeated
        See `ItemBook`.
    """

    aliases: Aliases = NO_ALIASES
    pool: tuple[str, ...] = ()
    runs: WhichRuns = "latest"
    on_content: OnContent = "error"
    repeated: Repeated = "report"

    def __post_init__(self) -> None:
        check_pool(self.pool)


@dataclass(frozen=True)
class RunNotices:
    """What the runs tell; fields of `IngestReport`."""

    runs: tuple[RunCount, ...]
    outcomes: dict[str, int]
    repeated: int
    copied_items: tuple[tuple[ItemId, ...], ...]
    differing_items: tuple[ItemId, ...]
    unknown_subjects: tuple[str, ...]


class RunLedger:
    """Takes runs in the order of the sources, then gives the records of those that count."""

    def __init__(self, rule: RunRule, before: Before | None = None) -> None:
        self._rule = rule
        self.runs: list[Run] = []
        self._book = ItemBook(rule.on_content, rule.repeated)
        self._earlier: list[Run] = []
        if before is not None:
            self._book.remember(before.responses.items, SOURCE)
            self._earlier = [_earlier_run(count) for count in before.runs]
        self._counts: list[RunCount] = []
        self._outcomes: Counter[str] = Counter()
        self._repeated = 0

    def add(self, run: Run) -> None:
        """Take one run, its samples unread.

        Raises
        ------
        InputError
            If what its log says of it is no Unicode text.
        """
        _check_texts(run)
        aliases = self._rule.aliases
        self.runs.append(replace(run, model=aliases.model(run.model), task=aliases.task(run.task)))

    def replaced(self) -> list[Run]:
        """Runs of the store instead of which others count now."""
        if self._rule.runs == "all":
            return []
        earlier = self._earlier
        before = current_runs(earlier, self._keys(earlier))
        now = self._current()
        return [
            run
            for run, counted, counts in zip(earlier, before, now[: len(earlier)], strict=True)
            if counted and not counts
        ]

    def batches(self) -> Iterator[Batch]:
        """The records of the runs that count."""
        current = self._current()[len(self._earlier) :]
        for run, counts in zip(self.runs, current, strict=True):
            records = 0
            seen: dict[str, str] = {}
            if counts:
                parts = run.samples()
                if self._rule.repeated == "first":
                    parts = self._in_standing_order(run, list(parts))
                for samples in parts:
                    batch = self._batch(run, samples, seen)
                    records += len(batch.records)
                    self._outcomes.update(samples.outcomes)
                    yield batch
            self._counts.append(_run_count(run, records, superseded=not counts))

    def notices(self) -> RunNotices:
        """What the runs told, once all batches were taken."""
        subjects = {run.task for run in self.runs if mmlu_subject(run.task) is not None}
        return RunNotices(
            tuple(self._counts),
            dict(sorted((+self._outcomes).items())),
            self._repeated,
            self._book.copies(),
            tuple(self._book.differing),
            tuple(sorted(task for task in subjects if mmlu_subject(task) not in MMLU_SUBJECTS)),
        )

    def item_table(self, items: pd.Index) -> pd.DataFrame:
        """What logs say of some items."""
        return self._book.table(items)

    def _current(self) -> list[bool]:
        """Which of the runs of the store and of those taken count."""
        runs = [*self._earlier, *self.runs]
        if self._rule.runs == "all":
            return [True] * len(runs)
        return current_runs(runs, self._keys(runs))

    def _keys(self, runs: Sequence[Run]) -> list[tuple[object, ...]]:
        return [(run.model, run.task, *self.qualifiers(run).items()) for run in runs]

    def qualifiers(self, run: Run) -> dict[str, str]:
        """Those of a run that tell items apart."""
        return {k: v for k, v in run.qualifiers.items() if k not in self._rule.pool}

    def _in_standing_order(self, run: Run, parts: Sequence[Samples]) -> Iterator[Samples]:
        """All samples of a run, so that of documents of equal content the one that counts is first.

        The run is held in memory for it.
        """
        if not parts or any(part.contents is None for part in parts):
            yield from parts
            return
        whole = together(parts)
        order = self._book.standing(
            run.task, self.qualifiers(run), whole.documents, whole.contents or ()
        )
        yield whole.of(order)

    def _batch(self, run: Run, samples: Samples, seen: dict[str, str]) -> Batch:
        """Some samples as records; `seen` is the document that stood for each item of the run."""
        documents, numbers, correct = samples.documents, samples.numbers, samples.correct
        trials = samples.trials
        _check_documents(run, samples)
        items = self._book.enter(
            run.task, self.qualifiers(run), run.source, documents, samples.contents
        )
        if self._rule.repeated == "first":
            kept = [
                seen.setdefault(item, document) == document
                for item, document in zip(items, documents, strict=True)
            ]
            self._repeated += kept.count(False)
            items, numbers, correct = (
                list(compress(each, kept)) for each in (items, numbers, correct)
            )
            trials = None if trials is None else list(compress(trials, kept))
        rows = Rows(run.source, np.array(numbers, np.int64), samples.unit)
        columns = {
            "model_id": _one_id(run.model, len(correct), rows, "model_id"),
            "item_id": encode_object_ids(items, rows, "item_id"),
            "domain": _one_id(run.task, len(correct), rows, "domain"),
            "correct": object_values(correct, rows, "correct"),
        }
        if trials is not None:
            columns["trials"] = pa.array(trials, pa.int64())
        return Batch(pa.RecordBatch.from_pydict(columns), rows)


def _check_texts(run: Run) -> None:
    """Refuse texts that no report can hold."""
    for field in ("model", "task", *QUALIFIERS, "partial"):
        text = getattr(run, field)
        if text is not None and not is_unicode(text):
            raise InputError(
                f"{run.source}: {field} is {show(text)}, not Unicode text "
                "(half of a surrogate pair)"
            )


def _check_documents(run: Run, samples: Samples) -> None:
    """Refuse documents without an id, and hashes of their content that are no text."""
    if not all(map(str.strip, samples.documents)):
        number, blank = next(
            (number, document)
            for number, document in zip(samples.numbers, samples.documents, strict=True)
            if not document.strip()
        )
        raise InputError(
            f"{run.source} {samples.unit} {number}: document is {show(blank)}, expected an id"
        )
    for number, content in zip(samples.numbers, samples.contents or (), strict=False):
        if content is not None and not is_unicode(content):
            raise InputError(
                f"{run.source} {samples.unit} {number}: its content's hash is {show(content)}, "
                "not Unicode text (half of a surrogate pair)"
            )


def _one_id(name: str, count: int, rows: Rows, field: str) -> pa.Array[Any]:
    """One id for all records."""
    one = encode_object_ids([name], rows, field)
    return one.take(np.zeros(count, np.int32))


def _earlier_run(count: RunCount) -> Run:
    """A run of the store, whose samples are no longer at hand."""
    return Run(
        source=count.source,
        model=count.model,
        task=count.task,
        samples=lambda: iter(()),
        time=None if count.time is None else datetime.fromisoformat(count.time),
        partial=count.partial,
        **count.qualifiers,
    )


def _run_count(run: Run, records: int, *, superseded: bool) -> RunCount:
    return RunCount(
        source=run.source,
        model=run.model,
        task=run.task,
        qualifiers=run.qualifiers,
        time=None
        if run.time is None
        else run.time.astimezone(UTC).isoformat(timespec="microseconds"),
        partial=run.partial,
        superseded=superseded,
        records=records,
    )
