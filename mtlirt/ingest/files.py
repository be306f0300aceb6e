"""Responses from files."""

from __future__ import annotations

import os
from collections.abc import Sequence
from dataclasses import replace
from typing import Literal

from mtlirt.errors import InputError
from mtlirt.ingest.aliases import NO_ALIASES, read_aliases, renamed
from mtlirt.ingest.assemble import Assembler
from mtlirt.ingest.cells import CellRule
from mtlirt.ingest.current import WhichRuns
from mtlirt.ingest.domains import PoorDomains
from mtlirt.ingest.growing import add
from mtlirt.ingest.identity import OnContent, Repeated
from mtlirt.ingest.locations import locate
from mtlirt.ingest.metadata import Unknown, join_items, join_models
from mtlirt.ingest.native import RunLedger, RunRule
from mtlirt.ingest.opening import naming
from mtlirt.ingest.report import IngestReport
from mtlirt.ingest.runs import NO_CHOICES, Choices, unused_choices
from mtlirt.ingest.sorting import Sorter
from mtlirt.ingest.stored import Before
from mtlirt.ingest.taken import Shelf, log_file, table_file
from mtlirt.ingest.tidy import TidyReader
from mtlirt.ingest.values import ValueRule
from mtlirt.ingest.wide import Layout, WideReader
from mtlirt.responses.matrix import Responses


def ingest(
    sources: Sequence[str | os.PathLike[str]],
    *,
    format: str = "auto",  # noqa: A002
    models: str | os.PathLike[str] | None = None,
    items: str | os.PathLike[str] | None = None,
    domain_column: str | None = None,
    domain: str = "default",
    model_column: str | None = None,
    transpose: bool = False,
    header: bool = True,
    fractions: Literal["error", "keep"] = "error",
    threshold: float | None = None,
    duplicates: Literal["error", "first", "attempts"] = "error",
    conflicts: Literal["error", "first", "last", "attempts"] = "error",
    unknown: Unknown = "error",
    poor_domains: PoorDomains = "error",
    choices: Choices = NO_CHOICES,
    aliases: str | os.PathLike[str] | None = None,
    pool: Sequence[str] = (),
    runs: WhichRuns = "latest",
    content: OnContent = "error",
    repeated: Repeated = "report",
    before: Before | None = None,
) -> tuple[Responses, IngestReport]:
    """Make responses of files.

    Parameters
    ----------
    sources
        Files, and folders whose files are read in the order of their paths: local paths, or URLs
        that `mtlirt.ingest.locations.locate` knows.
    format
        ``auto``, ``tidy``, ``wide``, or one of `mtlirt.ingest.registry.formats`. ``auto`` asks
        each of these whether a file is one of its logs; of what is left, a table with a column
        ``item_id`` or ``correct`` is tidy, another wide, and JSON lines are tidy. With
        `model_column`, `transpose` or no `header` all files are wide.
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
    header
        Whether the first row of wide files names the columns, and a column the rows; if not,
        models and items are numbered from 1.
    fractions, threshold, duplicates, conflicts, poor_domains
        As for `mtlirt.ingest.frames.from_tidy`.
    unknown
        Whether ids in `models` and `items` that the responses lack are an error or listed.
    choices
        What to read where logs leave a choice, and the task of those that name none.
    aliases
        A table of other names of models and tasks, see `mtlirt.ingest.aliases.read_aliases`.
    pool
        Which of `mtlirt.ingest.runs.QUALIFIERS` do not tell items of logs apart.
    runs
        Whether the latest whole run of a model on a task counts, or all.
    content
        Whether items whose content differs between logs are an error or listed.
    repeated
        Whether items of equal content are listed, or count as the first of them.
    before
        A store that the responses are added to, as if what it has had been read first; see
        `mtlirt.ingest.append.append`.

    Returns
    -------
    responses, report
        Models, domains and items in the order of their ids, new ones behind those of the store;
        and what was read and noticed.

    Raises
    ------
    InputError
        Names file, row, field and value.
    """
    if unknown not in ("error", "report"):
        raise InputError(f"unknown is {unknown!r}, expected error or report")
    if transpose or model_column is not None or not header:
        if format not in ("auto", "wide"):
            raise InputError(
                f"format is {format}, but transpose, model column and no header are of wide files"
            )
        format = "wide"  # noqa: A001
    names = NO_ALIASES if aliases is None else read_aliases(locate(aliases))
    ledger = RunLedger(RunRule(names, tuple(pool), runs, content, repeated), before)
    shelf = Shelf(frozenset() if before is None else before.taken)
    as_what = domain, domain_column, model_column, transpose, header
    wide = WideReader(Layout(model_column, transpose, header))
    sorter = Sorter(format, TidyReader(domain_column), wide)
    sorted_out = [sorter.sort(locate(source)) for source in sources]
    rules = ValueRule(fractions, threshold), CellRule(duplicates, conflicts)
    assembler = Assembler(domain, *rules, poor_domains)
    for files in sorted_out:
        for path, reader in files.tables:
            if not shelf.takes(table_file(path, as_what)):
                continue
            try:
                with naming(path):
                    for batch in reader.read(path):
                        assembler.add(renamed(batch, names))
            except InputError as error:
                raise InputError(f"{error}{sorter.hint(reader)}") from error
        for path, log in files.logs:
            found = list(log.runs(path, choices))
            if shelf.takes(log_file(path, found)):
                for run in found:
                    ledger.add(run)
    for batch in ledger.batches():
        assembler.add(batch)
    if before is None:
        responses, report = assembler.finish()
        responses = replace(responses, items=ledger.item_table(responses.items.index))
    else:
        responses, report = add(before, assembler, ledger)
    report = replace(
        report,
        taken=tuple(shelf.taken),
        taken_before=tuple(shelf.before),
        skipped_files=tuple(str(path) for files in sorted_out for path in files.skipped),
        companions=tuple(str(path) for files in sorted_out for path in files.companions),
        numbered_files=tuple(
            str(path)
            for files in sorted_out
            for path, reader in files.tables
            if reader is wide and not header
        ),
        unused_choices=unused_choices(choices, ledger.runs),
        **vars(ledger.notices()),
    )
    if models is not None:
        joined = join_models(locate(models), responses.models, unknown)
        responses = replace(responses, models=joined.beside(responses.models))
        report = replace(
            report, unknown_models=joined.unknown, models_without_metadata=joined.absent
        )
    if items is not None:
        known = join_items(locate(items), responses.items, unknown, domain_column)
        responses = replace(responses, items=known.beside(responses.items))
        report = replace(report, unknown_items=known.unknown, items_without_metadata=known.absent)
    return responses, report
