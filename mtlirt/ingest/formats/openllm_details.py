"""Details of the first Open LLM Leaderboard: ``details_harness|TASK|SHOTS_TIME.parquet``.

The files of the second are those of the lm-evaluation-harness.
"""

from __future__ import annotations

import re
from collections.abc import Iterator

from mtlirt.ingest.aliases import MMLU_SUBJECTS
from mtlirt.ingest.formats.details import read_run
from mtlirt.ingest.formats.details_results import parse_name
from mtlirt.ingest.formats.times import STAMP
from mtlirt.ingest.locations import Location
from mtlirt.ingest.runs import Choices, Role, Run

SUITE = "harness"

HEADLINES = {
    "arc:challenge": "acc_norm",
    "hellaswag": "acc_norm",
    "truthfulqa:mc": "mc2",
    "winogrande": "acc",
    "gsm8k": "acc",
    "drop": "f1",
    **{f"hendrycksTest-{subject}": "acc" for subject in MMLU_SUBJECTS},
}
"""What the leaderboard counts by task."""

_RESULTS_NAME = re.compile(rf"results_{STAMP}\.json")
_RESULTS = re.compile(rb'\s*\{\s*"config_general"\s*:')


class OpenLlmDetails:
    """Reads the details of the leaderboard, by its own metrics."""

    name = "openllm-details"

    def role(self, path: Location, head: bytes) -> Role | None:
        """Told by the suite in the name, and in results."""
        if head.startswith(b"PAR1"):
            name = parse_name(path.name)
            return "log" if name is not None and name.suite == SUITE else None
        return "companion" if is_results(path, head, leaderboard=True) else None

    def runs(self, path: Location, choices: Choices) -> Iterator[Run]:
        """The one run of a file."""
        yield read_run(path, choices, HEADLINES)


def is_results(path: Location, head: bytes, *, leaderboard: bool) -> bool:
    """Whether a file holds the results of a run, of the leaderboard or of another suite."""
    if not (_RESULTS_NAME.fullmatch(path.name) and _RESULTS.match(head)):
        return False
    return (f'"{SUITE}|'.encode() in head) == leaderboard
