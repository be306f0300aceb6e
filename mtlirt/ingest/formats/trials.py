"""Repeated attempts at documents, as one sample a document."""

from __future__ import annotations

from collections.abc import Mapping

from mtlirt.errors import InputError
from mtlirt.ingest.ids import show
from mtlirt.ingest.reader import Unit
from mtlirt.ingest.runs import Samples


class Trials:
    """Gathers the attempts of one run.

    Parameters
    ----------
    source
        Names the file in errors.
    unit
        What the numbers of attempts count.
    """

    def __init__(self, source: str, unit: Unit) -> None:
        self._source = source
        self._unit: Unit = unit
        self._scores: dict[str, list[float]] = {}
        self._numbers: dict[str, int] = {}

    def add(self, document: str, score: float | None, number: int) -> None:
        """Take one attempt; a score of None is no attempt, but the document stays a sample.

        Parameters
        ----------
        number
            Where it stands; that of the first attempt stands for the document.
        """
        scores = self._scores.setdefault(document, [])
        self._numbers.setdefault(document, number)
        if score is not None:
            scores.append(score)

    def samples(self, outcomes: Mapping[str, int]) -> Samples:
        """One sample a document: its only score, or successes of trials.

        Raises
        ------
        InputError
            If attempts are several and one is neither 0 nor 1.
        """
        documents, numbers = list(self._scores), list(self._numbers.values())
        scores = list(self._scores.values())
        if all(len(some) < 2 for some in scores):
            values = [some[0] if some else None for some in scores]
            return Samples(documents, values, numbers, outcomes=outcomes, unit=self._unit)
        for document, number, some in zip(documents, numbers, scores, strict=True):
            strange = [score for score in some if score not in (0, 1)]
            if strange and len(some) > 1:
                raise InputError(
                    f"{self._source} {self._unit} {number}: {len(some)} attempts at "
                    f"{show(document)}, one of them scored {strange[0]!r}: several attempts are "
                    "counted only where each is 0 or 1; choose another metric with --metric"
                )
        return Samples(
            documents,
            [int(sum(some)) if some else None for some in scores],
            numbers,
            trials=[max(1, len(some)) for some in scores],
            outcomes=outcomes,
            unit=self._unit,
        )
