"""Berkeley Function Calling Leaderboard: ``CATEGORY_score.json``, JSON lines.

The first line counts, the others are the failures. The passed ones are the rest: of 1 to the
total where entries are numbered, else of the ids in the file of answers that the tool keeps under
``result`` as it keeps scores under ``score``. A file without failures does not name its model,
which its neighbours in the folder, one folder a model, do.
"""

from __future__ import annotations

import re
from collections.abc import Iterator
from dataclasses import dataclass
from itertools import islice
from typing import Any

import msgspec

from mtlirt.errors import InputError
from mtlirt.ingest.decoding import decode, numbered_lines, read_documents
from mtlirt.ingest.ids import show
from mtlirt.ingest.locations import Location, files_in, kind_at
from mtlirt.ingest.runs import Choices, Role, Run, Samples, named_model

_SCORES = re.compile(r"(?:BFCL_(?P<version>v\d+)_)?(?P<category>.+)_score\.json(?:\.gz)?")
_ANSWERS = re.compile(r".+_result\.json(?:\.gz)?")
_HEADER = re.compile(rb'(?:\xef\xbb\xbf)?\s*\{\s*"accuracy"\s*:')
_WHERE = "model_name of failures"


class _Header(msgspec.Struct):
    correct_count: int
    total_count: int


class _Failure(msgspec.Struct):
    id: int | str
    model_name: str | None = None
    test_category: str | None = None
    valid: bool = False
    prompt: Any = None


class _Answer(msgspec.Struct):
    id: str


class Bfcl:
    """Reads one file as a run; its task is the category."""

    name = "bfcl"

    def role(self, path: Location, head: bytes) -> Role | None:
        """Told by the name and the first key; answers lie beside."""
        if _SCORES.fullmatch(path.name) and _HEADER.match(head):
            return "log"
        is_answers = _ANSWERS.fullmatch(path.name) and b'"id"' in head and b'"result"' in head
        return "companion" if is_answers else None

    def runs(self, path: Location, choices: Choices) -> Iterator[Run]:
        """The one run of a file."""
        log = _read(path)
        first = log.failures[0][1] if log.failures else None
        named = _SCORES.fullmatch(path.name)
        yield Run(
            source=str(path),
            model=(first.model_name if first else _model_beside(path, choices))
            or named_model(choices, str(path), _WHERE),
            task=(first.test_category if first else None)
            or (named["category"] if named else choices.task),
            samples=lambda: iter([log.samples()]),
            version=named["version"] if named else None,
        )


@dataclass(frozen=True)
class _Log:
    """A file of scores: its counts, and its failures with their lines."""

    path: Location
    total: int
    failures: list[tuple[int, _Failure]]

    def samples(self) -> Samples:
        """Failures, and the rest as passed ones; those have the line of the counts."""
        lines: dict[str, int] = {}
        for number, failure in self.failures:
            if lines.setdefault(str(failure.id), number) != number:
                raise InputError(f"{self.path} line {number}: id {show(str(failure.id))} again")
        if all(isinstance(failure.id, int) for _, failure in self.failures) and not self._is_named:
            known = self._numbers()
        else:
            known = self._names()
        for document, number in lines.items():
            if document not in known:
                raise InputError(
                    f"{self.path} line {number}: id {show(document)} is none of the {self.total} "
                    "that were scored"
                )
        return Samples(
            list(known),
            [int(document not in lines) for document in known],
            [lines.get(document, 1) for document in known],
            unit="line",
        )

    @property
    def _is_named(self) -> bool:
        """Whether the file is of a release that names entries, which its own name tells."""
        return self.path.name.startswith("BFCL_v")

    def _numbers(self) -> dict[str, None]:
        """1 to the total; a number is where an entry stood, so all must have been scored."""
        for number, failure in self.failures:
            named = failure.prompt.get("id") if isinstance(failure.prompt, dict) else None
            if named is not None and str(named).rpartition("_")[2] != str(int(failure.id) - 1):
                raise InputError(
                    f"{self.path} line {number}: id is {failure.id}, but the prompt is "
                    f"{show(str(named))}: only some were scored, and which cannot be known"
                )
        return dict.fromkeys(str(number) for number in range(1, self.total + 1))

    def _names(self) -> dict[str, None]:
        """The ids of the answers."""
        answers = _answers_to(self.path)
        if answers is None:
            raise InputError(
                f"{self.path}: lists failures only, so which of {self.total} passed cannot be "
                "known without the answers: expected them in folder 'result' as scores are in "
                "'score', in a file named _result.json for _score.json"
            )
        names = [answer.id for _, answer in read_documents(answers, _Answer)]
        if len(set(names)) != self.total:
            raise InputError(
                f"{self.path}: total_count is {self.total}, but {answers} has {len(set(names))} ids"
            )
        return dict.fromkeys(names)


def _read(path: Location) -> _Log:
    lines = numbered_lines(path)
    number, _, text = next(lines, (1, 0, b""))
    header = decode(text, _Header, f"{path} line {number}")
    failures = [
        (number, decode(text, _Failure, f"{path} line {number}")) for number, _, text in lines
    ]
    for number, failure in failures:
        if failure.valid:
            raise InputError(f"{path} line {number}: valid is true, expected failures only")
        for field in ("model_name", "test_category"):
            told, before = getattr(failure, field), getattr(failures[0][1], field)
            if told != before:
                raise InputError(
                    f"{path} line {number}: {field} is {show(told)}, but {show(before)} in the "
                    "lines before"
                )
    if len(failures) != header.total_count - header.correct_count:
        raise InputError(
            f"{path}: {header.correct_count} of {header.total_count} passed, but it lists "
            f"{len(failures)} failures"
        )
    return _Log(path, header.total_count, failures)


def _model_beside(path: Location, choices: Choices) -> str | None:
    """The only model that the other files of a folder name; None where none or several do.

    Raises
    ------
    InputError
        If one of them is broken, or several name models and the user does not.
    """
    models: dict[str, str] = {}
    for file in files_in(path.parent):
        if file != path and file.parent == path.parent and _SCORES.fullmatch(file.name):
            try:
                lines = islice(numbered_lines(file), 1, 2)
                named = [
                    decode(line, _Failure, f"{file} line {n}").model_name for n, _, line in lines
                ]
            except InputError as error:
                raise InputError(
                    f"{path}: it does not name its model ({_WHERE}), and one beside it is broken: "
                    f"{error}"
                ) from error
            models |= {model: file.name for model in named if model is not None}
    if len(models) > 1 and choices.model is None:
        told = ", ".join(f"{file} {show(model)}" for model, file in list(models.items())[:2])
        raise InputError(
            f"{path}: it does not name its model ({_WHERE}), and those beside it name several: "
            f"{told}; name it with --model"
        )
    return models.popitem()[0] if len(models) == 1 else None


def _answers_to(path: Location) -> Location | None:
    """The file of answers that a file of scores is about."""
    name = path.name.replace("_score.json", "_result.json")
    between: list[str] = []
    for folder in path.parents:
        if folder.name == "score":
            answers = folder.parent / "result"
            for part in [*reversed(between), name]:
                answers = answers / part
            return answers if kind_at(answers) == "file" else None
        between.append(folder.name)
    return None
