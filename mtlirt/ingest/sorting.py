"""Sort the files of a source by how they are read."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass, field

from mtlirt.errors import InputError
from mtlirt.ingest import delimited, parquet
from mtlirt.ingest.ids import show
from mtlirt.ingest.locations import Location, is_empty
from mtlirt.ingest.opening import bare_suffix, candidates
from mtlirt.ingest.reader import Batch, Reader, no_records
from mtlirt.ingest.registry import formats, recognise
from mtlirt.ingest.runs import Format
from mtlirt.ingest.tidy import TidyReader
from mtlirt.ingest.wide import WideReader

_READ_AS_WIDE = "(read as a wide table; a tidy one has columns model_id, item_id and correct)"


@dataclass
class Sorted:
    """The files of one source.

    Attributes
    ----------
    logs
        Of tools, each with its format.
    tables
        Tidy and wide tables, each with its reader.
    companions
        Files beside logs, which their formats read as they need them.
    skipped
        Files of folders that are of no format asked for.
    """

    logs: list[tuple[Location, Format]] = field(default_factory=list)
    tables: list[tuple[Location, Reader]] = field(default_factory=list)
    companions: list[Location] = field(default_factory=list)
    skipped: list[Location] = field(default_factory=list)


@dataclass(frozen=True)
class Sorter:
    """Tells how files are read.

    Attributes
    ----------
    format
        ``auto``, ``tidy``, ``wide`` or the name of a tool's format.
    tidy, wide
        The readers of tables.
    """

    format: str
    tidy: TidyReader
    wide: WideReader

    def __post_init__(self) -> None:
        known = ["auto", "tidy", "wide", *formats()]
        if self.format not in known:
            raise InputError(
                f"format is {show(self.format)}, expected {', '.join(known)} ('--format')"
            )

    def sort(self, source: Location) -> Sorted:
        """Sort the files of a source; those of a folder that none can read are passed over.

        A file that lies beside logs may be a source by itself, as the names of a shell's pattern
        are.

        Raises
        ------
        InputError
            If a folder has no file that can be read.
        """
        found = Sorted()
        files = candidates(source)
        alone = files == [source]
        for path in files:
            self._sort_file(path, found, alone=alone)
        if not (found.logs or found.tables or (alone and found.companions)):
            raise InputError(f"{source}: {self._nothing()}")
        return found

    def _nothing(self) -> str:
        """What a folder without a file to read lacks."""
        if self.format in formats():
            return f"no log of {self.format}"
        suffixes = self.wide.suffixes if self.format == "wide" else self.tidy.suffixes
        logs = f", and no log of {', '.join(formats())}" if self.format == "auto" else ""
        return f"no file whose name ends in {' '.join(suffixes)}{logs}"

    def hint(self, reader: Reader) -> str:
        """What to add to errors of a reader: that nobody called a wide table one."""
        return f" {_READ_AS_WIDE}" if self.format == "auto" and reader is self.wide else ""

    def _sort_file(self, path: Location, found: Sorted, *, alone: bool) -> None:
        if is_empty(path):
            found.tables.append((path, NothingThere()))
            return
        if self.format not in ("tidy", "wide"):
            name = None if self.format == "auto" else self.format
            told = recognise(path, name)
            if told is None and name is not None and alone:
                told = formats()[name], "log"
            if told is not None:
                log, role = told
                if role == "log":
                    found.logs.append((path, log))
                else:
                    found.companions.append(path)
                return
            if name is not None:
                found.skipped.append(path)
                return
        reader = self._table_reader(path)
        if alone or path.name.lower().endswith(reader.suffixes):
            found.tables.append((path, reader))
        else:
            found.skipped.append(path)

    def _table_reader(self, path: Location) -> Reader:
        if self.format == "wide":
            return self.wide
        return self.wide if self.format == "auto" and _looks_wide(path) else self.tidy


class NothingThere:
    """Reads files of no bytes."""

    suffixes = ()

    def read(self, path: Location) -> Iterator[Batch]:
        """Give a batch without records."""
        yield no_records(path)


def _looks_wide(path: Location) -> bool:
    """Whether a file has columns, and none of a tidy file's own, in whatever case and blanks."""
    suffix = bare_suffix(path)
    names: list[str] = []
    if suffix in parquet.SUFFIXES:
        names = parquet.read_schema(path).names
    elif suffix in delimited.SUFFIXES:
        names = delimited.read_header(path).names
    plain = {name.strip().casefold() for name in names}
    return bool(names) and {"item_id", "correct"}.isdisjoint(plain)
