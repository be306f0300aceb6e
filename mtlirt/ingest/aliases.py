"""Other names of models and tasks: a table of the user's, and the subjects of MMLU."""

from __future__ import annotations

import re
from collections.abc import Mapping
from dataclasses import dataclass, field, replace
from typing import Any

import pyarrow as pa

from mtlirt.errors import InputError
from mtlirt.ingest.ids import ID, show
from mtlirt.ingest.locations import Location
from mtlirt.ingest.metadata_files import read_metadata
from mtlirt.ingest.reader import Batch

KINDS = ("model", "task")

MMLU_SUBJECTS = frozenset(
    [
        "abstract_algebra",
        "anatomy",
        "astronomy",
        "business_ethics",
        "clinical_knowledge",
        "college_biology",
        "college_chemistry",
        "college_computer_science",
        "college_mathematics",
        "college_medicine",
        "college_physics",
        "computer_security",
        "conceptual_physics",
        "econometrics",
        "electrical_engineering",
        "elementary_mathematics",
        "formal_logic",
        "global_facts",
        "high_school_biology",
        "high_school_chemistry",
        "high_school_computer_science",
        "high_school_european_history",
        "high_school_geography",
        "high_school_government_and_politics",
        "high_school_macroeconomics",
        "high_school_mathematics",
        "high_school_microeconomics",
        "high_school_physics",
        "high_school_psychology",
        "high_school_statistics",
        "high_school_us_history",
        "high_school_world_history",
        "human_aging",
        "human_sexuality",
        "international_law",
        "jurisprudence",
        "logical_fallacies",
        "machine_learning",
        "management",
        "marketing",
        "medical_genetics",
        "miscellaneous",
        "moral_disputes",
        "moral_scenarios",
        "nutrition",
        "philosophy",
        "prehistory",
        "professional_accounting",
        "professional_law",
        "professional_medicine",
        "professional_psychology",
        "public_relations",
        "security_studies",
        "sociology",
        "us_foreign_policy",
        "virology",
        "world_religions",
    ]
)

_MMLU = re.compile(
    r"(?:hendrycksTest[-_]|hendrycks_test[-_]|mmlu[-_]|mmlu:(?:subject=)?)(?P<subject>.+)"
)


@dataclass(frozen=True)
class Aliases:
    """What models and tasks are called instead; names that are not listed stay."""

    models: Mapping[str, str] = field(default_factory=dict)
    tasks: Mapping[str, str] = field(default_factory=dict)

    def model(self, name: str) -> str:
        """The name of a model."""
        return self.models.get(name, name)

    def task(self, name: str) -> str:
        """The name of a task: the user's, else a subject's of MMLU, else as it stands."""
        if name in self.tasks:
            return self.tasks[name]
        subject = mmlu_subject(name)
        return subject if subject in MMLU_SUBJECTS else name


NO_ALIASES = Aliases()


def renamed(batch: Batch, aliases: Aliases) -> Batch:
    """A batch of a table with the models and domains that the user's table renames."""
    records = batch.records
    for column, names in (("model_id", aliases.models), ("domain", aliases.tasks)):
        if names and column in records.schema.names:
            ids: Any = records[column]
            dictionary = [names.get(name, name) for name in ids.dictionary.to_pylist()]
            texts = pa.array(dictionary, pa.large_string()).take(ids.indices)
            place = records.schema.get_field_index(column)
            records = records.set_column(place, column, texts.dictionary_encode().cast(ID))
    return replace(batch, records=records)


def mmlu_subject(task: str) -> str | None:
    """What harnesses write behind a name of MMLU, a known subject or not; None for other tasks.

    ``hendrycksTest-anatomy``, ``mmlu_anatomy`` and ``mmlu:subject=anatomy`` are all ``anatomy``.
    """
    match = _MMLU.fullmatch(task)
    return match["subject"] if match else None


def read_aliases(path: Location) -> Aliases:
    """Read a table with columns ``kind`` (model or task), ``from`` and ``to``.

    Raises
    ------
    InputError
        Names file, row and value: an unknown kind, a name that is to become two, or one that is
        itself another's new name and moves on.
    """
    table = read_metadata(path, required=("kind", "from", "to"))
    found: dict[str, dict[str, str]] = {kind: {} for kind in KINDS}
    columns = (table.ids[name] for name in ("kind", "from", "to"))
    for position, (kind, old, new) in enumerate(zip(*columns, strict=True)):
        place = table.rows.place(position)
        if kind not in found:
            raise InputError(f"{place}: kind is {show(kind)}, expected {' or '.join(KINDS)}")
        if found[kind].setdefault(old, new) != new:
            raise InputError(
                f"{place}: {kind} {show(old)} is to be {show(new)}, and {show(found[kind][old])} "
                "in a row before"
            )
    for kind, names in found.items():
        for old, new in names.items():
            if names.get(new, new) != new:
                raise InputError(
                    f"{path}: {kind} {show(old)} is to be {show(new)}, which is itself to be "
                    f"{show(names[new])}: name the last one"
                )
    return Aliases(found["model"], found["task"])
