"""py-irt's JSON lines: a model a line, with its responses by item."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

from mtlirt.errors import InputError
from mtlirt.ingest.ids import show
from mtlirt.ingest.jsonlines import read_lines
from mtlirt.ingest.locations import Location
from mtlirt.ingest.runs import Choices, Role, Run, Samples


class PyIrt:
    """Reads ``{"subject_id": ..., "responses": {item: 0 or 1}}``; the task is the user's domain."""

    name = "py-irt"

    def role(self, path: Location, head: bytes) -> Role | None:  # noqa: ARG002
        """Told by the two keys of the first line."""
        line = head.split(b"\n", 1)[0]
        return "log" if b'"subject_id"' in line and b'"responses"' in line else None

    def runs(self, path: Location, choices: Choices) -> Iterator[Run]:
        """A run a line."""
        for number, line in read_lines(path):
            if line is not None:
                yield _run(str(path), number, line, choices)


def _run(source: str, number: int, line: dict[str, Any], choices: Choices) -> Run:
    model, responses = line.get("subject_id"), line.get("responses")
    if not isinstance(model, str) or not isinstance(responses, dict):
        raise InputError(
            f"{source} line {number}: expected subject_id, a text, and responses by item; found "
            f"{show(str(line))}"
        )
    samples = Samples(
        list(responses), list(responses.values()), [number] * len(responses), unit="line"
    )
    return Run(source, model, choices.task, lambda: iter([samples]))
