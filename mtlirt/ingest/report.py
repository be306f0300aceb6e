"""What an ingest read, kept, passed over and noticed."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import asdict, dataclass, field
from typing import Any

from mtlirt.ingest.ids import show

ItemId = tuple[str, str]
"""Domain and item id."""

_SHOWN = 10


@dataclass(frozen=True)
class FileCount:
    """How many records one file held: rows of a tidy file, cells of a wide one."""

    name: str
    records: int


@dataclass(frozen=True)
class DomainCount:
    """How many models answered anything in one domain, its items and its cells."""

    name: str
    models: int
    items: int
    cells: int


@dataclass(frozen=True)
class RunCount:
    """One run of a model on a task, as a tool's log tells of it.

    Attributes
    ----------
    source
        The file.
    model, task
        After aliases.
    qualifiers
        What the log says of version, shots, split, filter and metric.
    time
        When it ran: UTC, ISO 8601; None where the log does not say.
    partial
        Why it is not a whole run; empty for a whole one.
    superseded
        Whether another run of the model on the task counts instead; its samples were not read.
    records
        How many it gave.
    """

    source: str
    model: str
    task: str
    qualifiers: Mapping[str, str]
    time: str | None
    partial: str
    superseded: bool
    records: int


@dataclass(frozen=True)
class TakenFile:
    """A file that an ingest read.

    Attributes
    ----------
    name
        What it was called.
    sha256
        Of its bytes.
    as_what
        Of what besides them says which responses they are: options that name domains and models,
        or the runs of a log, whose model may be named elsewhere. A file of equal bytes that stands
        for something else is another.
    """

    name: str
    sha256: str
    as_what: str

    @property
    def content(self) -> tuple[str, str]:
        """What is equal for a file taken in again, whatever it is called."""
        return self.sha256, self.as_what


@dataclass(frozen=True)
class Growth:
    """What an ingest did to the store that it added to.

    Attributes
    ----------
    parent
        The version before.
    new_models, new_items, new_domains
        How many the store did not have.
    models, items, domains
        How many it has now.
    replaced_runs
        Model and task of runs of the store instead of which later ones count.
    replaced_cells
        Cells that held responses of those.
    """

    parent: int
    new_models: int
    new_items: int
    new_domains: int
    models: int
    items: int
    domains: int
    replaced_runs: tuple[tuple[str, str], ...] = ()
    replaced_cells: int = 0

    def lines(self) -> Iterator[str]:
        """What it says, as short lines of text."""
        yield (
            f"added to version {self.parent}: {self.new_models:,} new models, "
            f"{self.new_items:,} new items, {self.new_domains:,} new domains; now "
            f"{self.models:,} models, {self.items:,} items, {self.domains:,} domains"
        )
        if self.replaced_runs:
            yield (
                f"{len(self.replaced_runs):,} runs of the store gave way to later or whole ones, "
                f"with {self.replaced_cells:,} cells"
            )


@dataclass(frozen=True)
class IngestReport:
    """Counts of an ingest, which add up, and lists of what deserves a look.

    Of an ingest that adds to a store, all is about its sources, but for `growth` and what is told
    of ids. What only the whole can tell, what is constant or empty, is left out.

    Attributes
    ----------
    files
        Every file read, in order.
    skipped_files
        Files of folders that are of no format asked for.
    domains
        The size of every domain.
    models, items
        How many there are.
    records
        Records read: ``cells + missing + duplicates + conflicts``.
    numbered_files
        Files without a header, whose models and items are numbered from 1.
    runs
        Every run of a tool's log, those that counted and those superseded.
    companions
        Files read beside the logs.
    outcomes
        Samples without a plain score, by reason; they are among the records.
    repeated
        Samples left out, and not counted as records, because the run has had an item of equal
        content.
    copied_items
        Groups of items of equal content.
    differing_items
        Items whose content is not the same in all runs.
    unused_choices
        Options that name what no log has.
    unknown_subjects
        Tasks named as subjects of MMLU are, which it has not.
    cells
        Cells of the matrix that hold a response; that a store gained.
    missing
        Records without a value.
    duplicates, conflicts
        Records that gave way to, or merged with, an equal or a differing one in their cell.
    blank_rows
        Rows passed over, and not counted as records, because they were empty.
    without_domain
        Records of files whose domains are all blank or absent; they got the default domain.
    coerced
        Values in other spellings than 1 and 0, by spelling.
    ignored_columns
        Columns of the files that were not read.
    constant_domains, constant_items
        Those with the same response from every model.
    threshold_constant_items
        Constant items whose values differed before a threshold cut them.
    empty_models, empty_items
        Those without any response.
    shared_items
        Item ids that are in more than one domain, where they are different items.
    same_folded_models, same_folded_items
        Groups of ids, of items within a domain, that differ only in the case of letters.
    unknown_models, unknown_items
        Ids of the metadata tables that no response has.
    models_without_metadata, items_without_metadata
        How many ids of the responses their metadata table lacks.
    taken
        The files read, by what they hold.
    taken_before
        Files passed over because the store has what they hold.
    growth
        What became of the store that the responses were added to.
    """

    files: tuple[FileCount, ...]
    domains: tuple[DomainCount, ...]
    models: int
    items: int
    records: int
    cells: int
    missing: int
    duplicates: int
    conflicts: int
    blank_rows: int = 0
    without_domain: int = 0
    skipped_files: tuple[str, ...] = ()
    numbered_files: tuple[str, ...] = ()
    runs: tuple[RunCount, ...] = ()
    companions: tuple[str, ...] = ()
    outcomes: Mapping[str, int] = field(default_factory=dict)
    repeated: int = 0
    copied_items: tuple[tuple[ItemId, ...], ...] = ()
    differing_items: tuple[ItemId, ...] = ()
    unknown_subjects: tuple[str, ...] = ()
    unused_choices: tuple[str, ...] = ()
    coerced: Mapping[str, int] = field(default_factory=dict)
    ignored_columns: tuple[str, ...] = ()
    constant_domains: tuple[str, ...] = ()
    constant_items: tuple[ItemId, ...] = ()
    threshold_constant_items: tuple[ItemId, ...] = ()
    empty_models: tuple[str, ...] = ()
    empty_items: tuple[ItemId, ...] = ()
    shared_items: tuple[str, ...] = ()
    same_folded_models: tuple[tuple[str, ...], ...] = ()
    same_folded_items: tuple[tuple[ItemId, ...], ...] = ()
    unknown_models: tuple[str, ...] = ()
    unknown_items: tuple[ItemId, ...] = ()
    models_without_metadata: int = 0
    items_without_metadata: int = 0
    taken: tuple[TakenFile, ...] = ()
    taken_before: tuple[str, ...] = ()
    growth: Growth | None = None

    def __post_init__(self) -> None:
        assert self.records == sum(file.records for file in self.files)
        assert self.cells == sum(domain.cells for domain in self.domains)
        assert self.records == self.cells + self.missing + self.duplicates + self.conflicts

    @property
    def empty_files(self) -> tuple[str, ...]:
        """Files that held no record."""
        return tuple(file.name for file in self.files if file.records == 0)

    def to_dict(self) -> dict[str, Any]:
        """All of it as JSON takes it."""
        return asdict(self) | {"coerced": dict(self.coerced), "empty_files": self.empty_files}

    def lines(self) -> list[str]:
        """All of it that is not nothing, as short lines of text."""
        kept = f"{self.cells:,} cells, {self.missing:,} missing"
        gave_way = f"{self.duplicates:,} duplicates, {self.conflicts:,} conflicts"
        return [
            f"{self.models:,} models, {self.items:,} items, {len(self.domains):,} domains",
            f"{self.records:,} records in {len(self.files):,} files: {kept}, {gave_way}",
            *(f"{count:,} values written as {word}" for word, count in self.coerced.items()),
            *(f"{count:,} samples {reason}" for reason, count in self.outcomes.items()),
            *([] if self.growth is None else self.growth.lines()),
            *self._forms(),
            *self._counts(),
            *self._lists(),
        ]

    @property
    def _superseded_runs(self) -> tuple[tuple[str, str, str], ...]:
        return tuple((run.model, run.task, run.source) for run in self.runs if run.superseded)

    @property
    def _partial_runs(self) -> tuple[tuple[str, str, str], ...]:
        counted = (run for run in self.runs if run.partial and not run.superseded)
        return tuple((run.model, run.task, run.partial) for run in counted)

    def _forms(self) -> Iterator[str]:
        """The forms of each task that has several: version, shots, ..., and how many models."""
        forms: dict[str, dict[str, set[str]]] = {}
        for run in self.runs:
            if not run.superseded:
                form = ", ".join(f"{name} {value}" for name, value in run.qualifiers.items())
                forms.setdefault(run.task, {}).setdefault(form, set()).add(run.model)
        for task, found in sorted(forms.items()):
            if len(found) > 1:
                told = "; ".join(
                    f"{form or 'no details'}: {len(models):,} models"
                    for form, models in sorted(found.items())
                )
                yield f"task {show(task)} in {len(found)} forms: {told}"

    def _counts(self) -> Iterator[str]:
        for count, label in (
            (self.blank_rows, "blank rows"),
            (len(self.companions), "files beside logs"),
            (self.repeated, "samples of items that the run has had, left out"),
            (self.without_domain, "records without a domain got the default one"),
            (self.models_without_metadata, "models without metadata"),
            (self.items_without_metadata, "items without metadata"),
        ):
            if count:
                yield f"{count:,} {label}"

    def _lists(self) -> Iterator[str]:
        """One line a list that is not empty: its length and its first members."""
        lists: tuple[tuple[str, Sequence[Any]], ...] = (
            ("empty files", self.empty_files),
            ("files passed over", self.skipped_files),
            ("files without a header, models and items numbered from 1", self.numbered_files),
            ("files taken in before", self.taken_before),
            ("columns not read", self.ignored_columns),
            ("options that no log was read by", self.unused_choices),
            ("runs that are not whole", self._partial_runs),
            ("runs superseded by later or whole ones", self._superseded_runs),
            ("groups of items of equal content", self.copied_items),
            ("items whose content differs between runs", self.differing_items),
            ("tasks that are no subject of MMLU", self.unknown_subjects),
            ("domains with the same response everywhere", self.constant_domains),
            ("items with the same response from every model", self.constant_items),
            ("items constant only after thresholding", self.threshold_constant_items),
            ("models without a response", self.empty_models),
            ("items without a response", self.empty_items),
            ("item ids in more than one domain", self.shared_items),
            ("groups of models, same but for upper and lower case", self.same_folded_models),
            ("groups of items, same but for upper and lower case", self.same_folded_items),
            ("unknown models in the model table", self.unknown_models),
            ("unknown items in the item table", self.unknown_items),
        )
        for label, members in lists:
            if members:
                first = ", ".join(_member(member) for member in members[:_SHOWN])
                more = ", ..." if len(members) > _SHOWN else ""
                yield f"{len(members):,} {label}: {first}{more}"


def _member(member: str | tuple[Any, ...]) -> str:
    if isinstance(member, str):
        return show(member)
    return f"({', '.join(_member(part) for part in member)})"
