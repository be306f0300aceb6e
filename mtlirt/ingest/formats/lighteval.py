"""Details of lighteval: ``details/MODEL/TIME/details_TASK_TIME.parquet``."""

from __future__ import annotations

import re
from collections.abc import Iterator

from mtlirt.ingest.formats.details import read_run
from mtlirt.ingest.formats.details_results import parse_name
from mtlirt.ingest.formats.openllm_details import SUITE, is_results
from mtlirt.ingest.formats.times import STAMP
from mtlirt.ingest.locations import Location
from mtlirt.ingest.runs import Choices, Role, Run

_TABLE_OF_RESULTS = re.compile(rf"results_{STAMP}\.parquet")


class Lighteval:
    """Reads the details of all suites but the leaderboard's; no metric is its headline."""

    name = "lighteval"

    def role(self, path: Location, head: bytes) -> Role | None:
        """Told by the name of Parquet files, and by the first key of results."""
        if head.startswith(b"PAR1"):
            if _TABLE_OF_RESULTS.fullmatch(path.name):
                return "companion"
            name = parse_name(path.name)
            return "log" if name is not None and name.suite != SUITE else None
        return "companion" if is_results(path, head, leaderboard=False) else None

    def runs(self, path: Location, choices: Choices) -> Iterator[Run]:
        """The one run of a file."""
        yield read_run(path, choices, {})
