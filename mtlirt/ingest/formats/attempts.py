"""Several attempts of one model at one document: successes of trials, or their mean."""

from __future__ import annotations

from collections import Counter
from collections.abc import Mapping
from dataclasses import dataclass, field

from mtlirt.errors import InputError
from mtlirt.ingest.ids import show
from mtlirt.ingest.reader import Unit
from mtlirt.ingest.runs import Samples


@dataclass
class _Document:
    """One document: where it was met first, its content, and the scores of its attempts."""

    name: str
    number: int
    content: str | None
    attempts: int = 0
    scores: list[float] = field(default_factory=list)

    @property
    def trials(self) -> int:
        """The attempts that count; one where none has a score, which is missing."""
        return max(1, len(self.scores))

    @property
    def successes(self) -> float | None:
        """The sum of the scores."""
        return sum(self.scores) if self.scores else None

    @property
    def mean(self) -> float | None:
        """The mean of the scores."""
        return sum(self.scores) / len(self.scores) if self.scores else None


class Attempts:
    """Takes the samples of a run, then puts those of one document together.

    Parameters
    ----------
    source
        Names the file in errors.
    noun
        What the log calls attempts.
    unit
        What the numbers of samples count.
    """

    def __init__(self, source: str, noun: str, unit: Unit = "sample") -> None:
        self._source, self._noun = source, noun
        self._unit: Unit = unit
        self._met: Counter[tuple[str, int]] = Counter()
        self._documents: dict[tuple[str, int], _Document] = {}

    def add(
        self,
        document: str,
        score: float | None,
        number: int,
        *,
        attempt: int | None = None,
        content: str | None = None,
    ) -> None:
        """Take one sample.

        Parameters
        ----------
        score
            None where there is none: no attempt, but the document stays a record.
        number
            Where it stands in the file; that of the first attempt stands for the document.
        attempt
            Which it is, where the log says. Where a document has one attempt twice it becomes two
            records, and the rule for several responses in one cell says what becomes of them.
        """
        met = 0
        if attempt is not None:
            met = self._met[document, attempt]
            self._met[document, attempt] += 1
        group = self._documents.setdefault((document, met), _Document(document, number, content))
        group.attempts += 1
        if score is not None:
            group.scores.append(score)

    def samples(self, outcomes: Mapping[str, int]) -> Samples:
        """One record a document.

        Where attempts repeat it is successes of trials if all scores of the run are 0 or 1, else
        the mean of its attempts.

        Raises
        ------
        InputError
            If an attempt of several has a score outside [0, 1], which a mean would hide.
        """
        documents = list(self._documents.values())
        counts = self._are_counts(documents)
        for each in documents:
            self._check(each)
        return Samples(
            [each.name for each in documents],
            [each.successes if counts else each.mean for each in documents],
            [each.number for each in documents],
            trials=[each.trials for each in documents] if counts else None,
            contents=[each.content for each in documents],
            outcomes=outcomes,
            unit=self._unit,
        )

    @staticmethod
    def _are_counts(documents: list[_Document]) -> bool:
        """Whether attempts repeat, and all are right or wrong."""
        repeat = any(len(each.scores) > 1 for each in documents)
        return repeat and all(score in (0, 1) for each in documents for score in each.scores)

    def _check(self, document: _Document) -> None:
        for score in document.scores:
            if document.attempts > 1 and not 0 <= score <= 1:
                raise InputError(
                    f"{self._source} {self._unit} {document.number}: {show(document.name)} has "
                    f"{document.attempts} {self._noun}, one with score {score}: expected 0 to 1; "
                    "choose another metric (--metric)"
                )
