"""Which of the metrics of a log is read."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from mtlirt.ingest.runs import Choices, choose
from mtlirt.ingest.values import reads_as_value


def choose_metric(
    choices: Choices, found: Sequence[str], source: str, headline: str | None = None
) -> str:
    """The metric to read: the user's where the log has it, else the only one, else the headline.

    So one choice serves folders of several tasks, of which some have other metrics.

    Raises
    ------
    InputError
        Lists the metrics if none of these says which.
    """
    asked = None if headline in found and choices.metric not in found else choices.metric
    return choose(asked, found, "metric", source, headline)


def is_score(value: Any) -> bool:
    """Whether a value is one number, truth value or nothing, as itself or as text."""
    if isinstance(value, str):
        return reads_as_value(value)
    return value is None or isinstance(value, (int, float))
