"""The samples of a file of the lm-evaluation-harness, those of one filter."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from typing import Any

import msgspec

from mtlirt.errors import InputError
from mtlirt.ingest.decoding import numbered_lines, read_document, read_documents
from mtlirt.ingest.formats.batches import Batch
from mtlirt.ingest.ids import show
from mtlirt.ingest.jsonlines import without_mark
from mtlirt.ingest.locations import Location
from mtlirt.ingest.opening import naming, open_bytes
from mtlirt.ingest.runs import Samples


class _Filtered(msgspec.Struct):
    filter: str | None = None


@dataclass(frozen=True)
class SampleFile:
    """JSON lines, or one JSON array, of samples."""

    path: Location
    is_array: bool

    @classmethod
    def at(cls, path: Location) -> SampleFile:
        """The file at a place, told by its first character."""
        with naming(path), open_bytes(path) as file:
            return cls(path, without_mark(file.read(100)).lstrip().startswith(b"["))

    def first(self) -> dict[str, Any] | None:
        """The first sample, all of it; None if there is none."""
        return next((line for _, line in self.decoded(dict[str, Any])), None)

    def count(self) -> int:
        """How many samples there are, of all filters; reads lines without decoding them."""
        if self.is_array:
            return sum(1 for _ in self.decoded(_Filtered))
        return sum(1 for _ in numbered_lines(self.path))

    def count_of(self, name: str | None) -> int:
        """How many samples there are of one filter."""
        return sum(line.filter == name for _, line in self.decoded(_Filtered))

    def filters(self) -> list[str]:
        """The filters of all samples."""
        names = (line.filter for _, line in self.decoded(_Filtered))
        return list(dict.fromkeys(name for name in names if name is not None))

    def decoded(self, kind: type[Any]) -> Iterator[tuple[int, Any]]:
        """All samples, with their numbers."""
        if self.is_array:
            return enumerate(read_document(self.path, list[kind]), 1)  # type: ignore[valid-type]
        return read_documents(self.path, kind)


@dataclass(frozen=True)
class SampleReader:
    """Reads the samples of one filter.

    Attributes
    ----------
    metric
        The key of the score.
    filter
        Whose samples are read.
    says_filter
        Whether samples say their filter.
    chosen
        Whether the user chose the filter; else there may be no other.
    """

    file: SampleFile
    metric: str
    filter: str | None
    says_filter: bool
    chosen: bool

    def count(self) -> int:
        """How many samples there are of the filter."""
        if self.says_filter and self.chosen:
            return self.file.count_of(self.filter)
        return self.file.count()

    def samples(self) -> Iterator[Samples]:
        """Batches of samples, those of other filters left out."""
        kind = msgspec.defstruct(
            "Line",
            [
                ("doc_id", int | str),
                ("score", Any, msgspec.field(name=self.metric)),
                ("filter", str | None, None),
                ("doc_hash", str | None, None),
            ],
            gc=False,
        )
        batch = Batch()
        seen: set[str] = set()
        for number, line in self.file.decoded(kind):
            if self.says_filter and line.filter != self.filter:
                if self.chosen and line.filter is not None:
                    continue
                raise self._other_filter(number, line.filter)
            document = str(line.doc_id)
            if not self.says_filter:
                if document in seen:
                    raise self._ambiguous(number, document)
                seen.add(document)
            batch.add(document, line.score, number, content=line.doc_hash)
            if batch.is_full:
                yield batch.samples()
                batch = Batch()
        yield batch.samples()

    def _other_filter(self, number: int, name: str | None) -> InputError:
        return InputError(
            f"{self.file.path} line {number}: filter is {show(name)}, and {show(self.filter)} in "
            "lines before: several filters; choose one with --filter"
        )

    def _ambiguous(self, number: int, document: str) -> InputError:
        return InputError(
            f"{self.file.path} line {number}: doc_id {show(document)} is there twice, and no line "
            "says its filter: ambiguous filter; keep the lines of one filter only"
        )
