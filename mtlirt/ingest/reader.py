"""What a reader of one format hands over: batches of records that know where they came from."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from typing import Literal, Protocol

import numpy as np
import numpy.typing as npt
import pyarrow as pa

from mtlirt.ingest.locations import Location

Unit = Literal["row", "line", "sample", "entry"]


@dataclass(frozen=True)
class Rows:
    """Where the records of a batch stand in their source.

    Attributes
    ----------
    source
        Name of the file, as messages give it.
    numbers
        The number of the first record's row when rows follow one another, else the numbers of the
        rows. A person counts them: the header of a CSV file is row 1.
    unit
        What is counted.
    repeats
        How many records in turn each number stands for. After the last number comes the first.
    """

    source: str
    numbers: int | npt.NDArray[np.int64]
    unit: Unit = "row"
    repeats: int = 1

    def place(self, position: int) -> str:
        """Name the place of one record of the batch."""
        if isinstance(self.numbers, int):
            return f"{self.source} {self.unit} {self.numbers + position}"
        row = position // self.repeats % len(self.numbers)
        return f"{self.source} {self.unit} {self.numbers[row]}"


@dataclass(frozen=True)
class Batch:
    """Some records of one file.

    Attributes
    ----------
    records
        Columns ``model_id`` and ``item_id``, as `mtlirt.ingest.ids.encode_ids` returns them;
        ``domain`` likewise, left out where the format has none; ``correct`` of any type that
        `mtlirt.ingest.values.read_values` reads; ``trials`` where attempts repeat.
    rows
        Where they stand.
    ignored
        Columns of the file that were not read.
    blank
        Blank rows that were passed over.
    """

    records: pa.RecordBatch
    rows: Rows
    ignored: frozenset[str] = frozenset()
    blank: int = 0


class Reader(Protocol):
    """Reads the files of one format."""

    @property
    def suffixes(self) -> tuple[str, ...]:
        """How the names of files end that the reader takes from a folder."""
        ...

    def read(self, path: Location) -> Iterator[Batch]:
        """Read one file: at least one batch, without records where the file holds none."""
        ...


def no_records(path: Location) -> Batch:
    """The batch of a file that holds no record."""
    ids = pa.array([], pa.dictionary(pa.int32(), pa.large_string()))
    records = pa.RecordBatch.from_arrays(
        [ids, ids, pa.nulls(0)], names=["model_id", "item_id", "correct"]
    )
    return Batch(records, Rows(str(path), 1))
