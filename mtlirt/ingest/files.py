"""Responses from files."""

from __future__ import annotations

import os
from collections.abc import Sequence
from dataclasses import replace
from typing import Literal

from mtlirt.errors import InputError
from mtlirt.ingest import delimited, parquet
from mtlirt.ingest.assemble import Assembler
from mtlirt.ingest.cells import CellRule
from mtlirt.ingest.domains import PoorDomains
from mtlirt.ingest.locations import Location, is_empty, locate
from mtlirt.ingest.metadata import Unknown, join_items, join_models
from mtlirt.ingest.opening import bare_suffix, find_files
from mtlirt.ingest.reader import Reader
from mtlirt.ingest.report import IngestReport
from mtlirt.ingest.tidy import TidyReader
from mtlirt.ingest.values import ValueRule
from mtlirt.ingest.wide import Layout, WideReader
from mtlirt.responses.matrix import Responses

_FORMATS = ("auto", "tidy", "wide")
_READ_AS_WIDE = "(read as a wide table; a tidy one has columns model_id, item_id and correct)"


def ingest(
    sources: Sequence[str | os.PathLike[str]],
    *,
    format: Literal["auto", "tidy", "wide"] = "auto",  # noqa: A002
    models: str | os.PathLike[str] | None = None,
    items: str | os.PathLike[str] | None = None,
    domain_column: str | None = None,
    domain: str = "default",
    model_column: str | None = None,
    transpose: bool = False,
    fractions: Literal["error", "keep"] = "error",
    threshold: float | None = None,
    duplicates: Literal["error", "first", "attempts"] = "error",
    conflicts: Literal["error", "first", "last", "attempts"] = "error",
    unknown: Unknown = "error",
    poor_domains: PoorDomains = "error",
) -> tuple[Responses, IngestReport]:
    """Make responses of files.

    Parameters
    ----------
    sources
        Files, and folders whose files are read in the order of their paths: local paths, or URLs
        that `mtlirt.ingest.locations.locate` knows.
    format
        How the files are laid out; ``auto`` tells by their columns: a file with a column
        ``item_id`` or ``correct`` is tidy, another wide. JSON lines are tidy; with
        `model_column` or `transpose` all are wide.
    models, items
        Files with metadata of models and of items.
    domain_column
        The column of the domains in tidy files and in the item table; None for ``domain``, in
        files that have it.
    domain
        The domain of records whose file names none.
    model_column
        The column of the models in wide files; None for the first.
    transpose
        Whether the rows of wide files are items; `model_column` then names the items' column.
    fractions, threshold, duplicates, conflicts, poor_domains
        As for `mtlirt.ingest.frames.from_tidy`.
    unknown
        Whether ids in `models` and `items` that the responses lack are an error or listed.

    Returns
    -------
    responses, report
        Models, domains and items in the order of their ids; and what was read and noticed.

    Raises
    ------
    InputError
        Names file, row, field and value.
    """
    if format not in _FORMATS:
        raise InputError(f"format is {format!r}, expected {', '.join(_FORMATS)}")
    if unknown not in ("error", "report"):
        raise InputError(f"unknown is {unknown!r}, expected error or report")
    if transpose or model_column is not None:
        if format == "tidy":
            raise InputError("format is tidy, but transpose and model column are of wide files")
        format = "wide"  # noqa: A001
    tidy, wide = TidyReader(domain_column), WideReader(Layout(model_column, transpose))
    suffixes = wide.suffixes if format == "wide" else tidy.suffixes
    found = [find_files(locate(source), suffixes) for source in sources]
    rules = ValueRule(fractions, threshold), CellRule(duplicates, conflicts)
    assembler = Assembler(domain, *rules, poor_domains)
    for path in (path for files, _ in found for path in files):
        is_wide = format == "wide" or (format == "auto" and _looks_wide(path))
        try:
            _add_file(assembler, wide if is_wide else tidy, path)
        except InputError as error:
            if format == "auto" and is_wide:
                raise InputError(f"{error} {_READ_AS_WIDE}") from error
            raise
    responses, report = assembler.finish()
    report = replace(report, skipped_files=tuple(str(path) for _, paths in found for path in paths))
    if models is not None:
        joined = join_models(locate(models), responses.models, unknown)
        responses = replace(responses, models=joined.table)
        report = replace(
            report, unknown_models=joined.unknown, models_without_metadata=joined.absent
        )
    if items is not None:
        known = join_items(locate(items), responses.items, unknown, domain_column)
        responses = replace(responses, items=known.table)
        report = replace(report, unknown_items=known.unknown, items_without_metadata=known.absent)
    return responses, report


def _add_file(assembler: Assembler, reader: Reader, path: Location) -> None:
    for batch in reader.read(path):
        assembler.add(batch)


def _looks_wide(path: Location) -> bool:
    """Whether a file has columns, and none of a tidy file's own."""
    suffix = bare_suffix(path)
    names: list[str] = []
    if suffix in parquet.SUFFIXES and not is_empty(path):
        names = parquet.read_schema(path).names
    elif suffix in delimited.SUFFIXES:
        names = delimited.read_header(path).names
    return bool(names) and {"item_id", "correct"}.isdisjoint(names)
