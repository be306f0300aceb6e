"""Which of several runs of one model on one task count."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Sequence
from datetime import UTC, datetime
from typing import Literal

from mtlirt.ingest.runs import Run

WhichRuns = Literal["latest", "all"]

_NEVER = datetime.min.replace(tzinfo=UTC)


def current_runs(runs: Sequence[Run], keys: Sequence[tuple[object, ...]]) -> list[bool]:
    """For each run whether it counts: of those with one key the latest whole one.

    Where none is whole the latest of them counts. Of runs that do not say when they were each
    counts as the earliest; where the latest are several, all of those count, and what becomes of
    their responses is a matter of the rule for duplicates and conflicts.

    Parameters
    ----------
    keys
        What says which runs are of the same thing.
    """
    groups: defaultdict[tuple[object, ...], list[int]] = defaultdict(list)
    for position, key in enumerate(keys):
        groups[key].append(position)
    counts = [False] * len(runs)
    for members in groups.values():
        best = max(_rank(runs[member]) for member in members)
        for member in members:
            counts[member] = _rank(runs[member]) == best
    return counts


def _rank(run: Run) -> tuple[bool, datetime]:
    return not run.partial, run.time or _NEVER
