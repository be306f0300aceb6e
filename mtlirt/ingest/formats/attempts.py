"""Several attempts of one model at one document: successes of trials, or their mean."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field
from typing import Any

from mtlirt.errors import InputError
from mtlirt.ingest.ids import show
from mtlirt.ingest.runs import Samples


@dataclass
class _Document:
    """One document: where it was met first, its content, and the scores of its attempts."""

    number: int
    content: str | None
    scores: list[float | None] = field(default_factory=list)


class Attempts:
    """Takes the samples of a run, then puts those of one document together.

    Parameters
    ----------
    source
        Names the file in errors.
    noun
        What the log calls attempts.
    """

    def __init__(self, source: str, noun: str) -> None:
        self._source, self._noun = source, noun
        self._met: Counter[tuple[str, int]] = Counter()
        self._documents: dict[tuple[str, int], _Document] = {}

    def add(
        self, document: str, attempt: int, score: float | None, number: int, content: str | None
    ) -> None:
        """Take one sample.

        Parameters
        ----------
        attempt
            Which it is. Where a document has one attempt twice it becomes two records, and the
            rule for several responses in one cell says what becomes of them.
        score
            None where there is none.
        number
            Where it stands in the file.
        """
        met = self._met[document, attempt]
        self._met[document, attempt] += 1
        group = self._documents.setdefault((document, met), _Document(number, content))
        group.scores.append(score)

    def samples(self, outcomes: Mapping[str, int]) -> Iterator[Samples]:
        """One record a document.

        Where attempts repeat it is successes of trials if all scores of the run are 0 or 1, else
        the mean of its attempts.

        Raises
        ------
        InputError
            If an attempt of several has a score outside [0, 1], which a mean would hide.
        """
        once = {key: each for key, each in self._documents.items() if len(each.scores) == 1}
        more = {key: each for key, each in self._documents.items() if len(each.scores) > 1}
        yield _together(once, [each.scores[0] for each in once.values()], outcomes=outcomes)
        if more:
            scored = [self._scored(document, each) for (document, _), each in more.items()]
            sums = [sum(scores) if scores else None for scores in scored]
            counts = [len(scores) for scores in scored]
            if self._is_binary():
                yield _together(more, sums, trials=counts)
            else:
                pairs = zip(sums, counts, strict=True)
                yield _together(more, [None if s is None else s / count for s, count in pairs])

    def _is_binary(self) -> bool:
        scores = (score for each in self._documents.values() for score in each.scores)
        return all(score is None or score in (0, 1) for score in scores)

    def _scored(self, name: str, document: _Document) -> list[float]:
        scores = [score for score in document.scores if score is not None]
        for score in scores:
            if not 0 <= score <= 1:
                raise InputError(
                    f"{self._source} sample {document.number}: {show(name)} has "
                    f"{len(document.scores)} {self._noun}, one with score {score}: expected 0 "
                    "to 1; choose another metric (--metric)"
                )
        return scores


def _together(
    documents: Mapping[tuple[str, int], _Document], correct: list[float | None], **more: Any
) -> Samples:
    return Samples(
        [document for document, _ in documents],
        correct,
        [each.number for each in documents.values()],
        contents=[each.content for each in documents.values()],
        **more,
    )
