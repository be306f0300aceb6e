"""SWE-bench: reports of its harness, and the file of its leaderboards.

A report lists the instances of one model by what became of them; it does not name the model, but
its file is called after it with ``/`` written ``__``. ``leaderboards.json`` has, for some of the
submissions to each leaderboard, whether each instance was resolved.
"""

from __future__ import annotations

import re
from collections.abc import Iterator

import msgspec

from mtlirt.errors import InputError
from mtlirt.ingest.decoding import read_document
from mtlirt.ingest.formats.swebench_report import Report
from mtlirt.ingest.formats.times import read_time
from mtlirt.ingest.ids import show
from mtlirt.ingest.locations import Location
from mtlirt.ingest.runs import Choices, Role, Run, Samples, choose, named_model

_OPENS = rb"(?:\xef\xbb\xbf)?\s*\{\s*"
_LOG = re.compile(
    _OPENS
    + rb'(?:"(?:total|submitted|completed|resolved)_(?:instances|ids)"\s*:'
    + rb'|"leaderboards"\s*:\s*\['
    + rb'|"[^"]*"\s*:\s*\{\s*"(?:resolved|no_of)_submissions"\s*:)'
)
_PERCENT_APART = 1.0
_OF_ONE_INSTANCE = re.compile(_OPENS + rb'"[^"]*"\s*:\s*\{\s*"patch_is_None"\s*:')


class _Instance(msgspec.Struct):
    resolved: bool | None = None


class _Submission(msgspec.Struct):
    name: str
    date: str | None = None
    resolved: float | None = None
    per_instance_details: dict[str, _Instance] | None = None


class _Leaderboard(msgspec.Struct):
    name: str
    results: list[_Submission]


class _Document(Report):
    leaderboards: list[_Leaderboard] | None = None


class SweBench:
    """Reads reports, a run each, and leaderboards, a run a submission."""

    name = "swebench"

    def role(self, path: Location, head: bytes) -> Role | None:
        """Told by the first key; reports of single instances lie beside."""
        if not path.name.endswith((".json", ".json.gz")):
            return None
        if _LOG.match(head):
            return "log"
        return "companion" if _OF_ONE_INSTANCE.match(head) else None

    def runs(self, path: Location, choices: Choices) -> Iterator[Run]:
        """The run of a report, or those of one leaderboard."""
        source = str(path)
        document = read_document(path, _Document)
        if document.leaderboards is not None:
            yield from _submissions(document.leaderboards, source, choices)
        elif document.resolved_ids is not None:
            yield _report(document, source, choices)
        else:
            raise InputError(
                f"{source}: neither a report of the harness (no resolved_ids) nor its leaderboards "
                "(no leaderboards). Who resolved an instance does not tell who failed at it: leave "
                "the file out, and give reports or leaderboards.json"
            )


def _report(report: Report, source: str, choices: Choices) -> Run:
    outcomes = report.outcomes(source)
    return Run(
        source=source,
        model=report.model_name_or_path
        or named_model(choices, source, "and its file's name has / as __"),
        task=choices.task,
        samples=lambda: iter([outcomes.samples()]),
        partial=outcomes.partial,
    )


def _submissions(boards: list[_Leaderboard], source: str, choices: Choices) -> Iterator[Run]:
    detailed = [
        board.name for board in boards if any(each.per_instance_details for each in board.results)
    ]
    if not detailed:
        raise InputError(f"{source}: no submission has per_instance_details, results of instances")
    name = choose(choices.split, list(dict.fromkeys(detailed)), "split", source)
    for board in boards:
        if board.name == name:
            for submission in board.results:
                yield _submission(submission, name, source)


def _submission(submission: _Submission, board: str, source: str) -> Run:
    details = submission.per_instance_details or {}

    def samples() -> Iterator[Samples]:
        if not details:
            return
        correct = [instance.resolved for instance in details.values()]
        yield Samples(
            list(details),
            correct,
            range(1, len(details) + 1),
            outcomes={"unscored": correct.count(None)},
            unit="entry",
        )

    return Run(
        source=source,
        model=submission.name,
        task=board,
        samples=samples,
        time=None
        if submission.date is None
        else read_time(submission.date, f"{source}: date of {show(submission.name)}"),
        partial=_lacking(submission),
    )


def _lacking(submission: _Submission) -> str:
    """Why the details are not the whole of a submission."""
    details = submission.per_instance_details
    if not details:
        return "no results of instances"
    share = 100 * sum(instance.resolved is True for instance in details.values()) / len(details)
    if submission.resolved is None or abs(share - submission.resolved) < _PERCENT_APART:
        return ""
    return f"{share:.1f}% of its instances are resolved, {submission.resolved}% by its own count"
