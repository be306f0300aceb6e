"""Samples of a log as they are met, line by line."""

from __future__ import annotations

import math
from collections import Counter
from typing import Any

from mtlirt.ingest.runs import Samples

BATCH = 10_000
"""Samples that are handed over at once."""


class Batch:
    """Takes samples one by one."""

    def __init__(self) -> None:
        self._documents: list[str] = []
        self._scores: list[Any] = []
        self._numbers: list[int] = []
        self._contents: list[str | None] = []
        self._outcomes: Counter[str] = Counter()

    def add(
        self,
        document: str,
        score: Any,
        line: int,
        *,
        content: str | None = None,
        outcome: str | None = None,
    ) -> None:
        """Take one sample.

        Parameters
        ----------
        score
            None and NaN are no score: `outcome` says why, else it counts as unscored.
        outcome
            What to count besides the score.
        """
        if is_missing(score):
            score = None
            outcome = outcome or "unscored"
        if outcome is not None:
            self._outcomes[outcome] += 1
        self._documents.append(document)
        self._scores.append(score)
        self._numbers.append(line)
        self._contents.append(content)

    @property
    def is_full(self) -> bool:
        """Whether it is time to hand the samples over."""
        return len(self._documents) >= BATCH

    def samples(self) -> Samples:
        """All taken."""
        return Samples(
            self._documents,
            self._scores,
            self._numbers,
            contents=self._contents if any(self._contents) else None,
            outcomes=self._outcomes,
            unit="line",
        )


def is_missing(score: Any) -> bool:
    """Whether a value says that there is no score."""
    return score is None or (isinstance(score, float) and math.isnan(score))
