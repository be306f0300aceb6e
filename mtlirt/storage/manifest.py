"""The manifest: what one version of a root is made of."""

from __future__ import annotations

import re
from datetime import UTC, datetime
from functools import cached_property
from typing import Annotated, Literal, Self
from uuid import UUID

from pydantic import (
    AfterValidator,
    AwareDatetime,
    BaseModel,
    ConfigDict,
    Field,
    JsonValue,
    field_serializer,
    model_validator,
)

Kind = Literal["responses", "snapshot", "distilled"]

SCHEMA_VERSION = 1
"""The version of the stored formats that this package writes and reads."""

FOLDER = "manifests"


def manifest_path(version: int) -> str:
    """Where the manifest of a version lies in its root."""
    return f"{FOLDER}/{version:012d}.json"


def manifest_version(name: str) -> int | None:
    """The version of a file in the manifest folder, None if it is no manifest."""
    match = re.fullmatch(r"([0-9]{12})\.json", name)
    return int(match[1]) if match and int(match[1]) > 0 else None


def check_path(path: str) -> str:
    """Refuse a path that is not plain, relative and inside its root."""
    parts = path.split("/")
    if not all(re.fullmatch(r"[A-Za-z0-9_.-]+", part) and part.strip(".") for part in parts):
        raise ValueError(f"{path!r} is not a plain relative path")
    return path


class StoredFile(BaseModel):
    """One data file of a version.

    Attributes
    ----------
    path
        ``data/<uuid>/<name>``, relative to the root.
    bytes, sha256
        Size and SHA-256 of the content, checked at every read.
    rows
        Rows, where the file is a table.
    """

    model_config = ConfigDict(frozen=True, extra="forbid", strict=True)

    path: Annotated[str, Field(pattern=r"^data/[^/]+/."), AfterValidator(check_path)]
    bytes: Annotated[int, Field(ge=0)]
    sha256: Annotated[str, Field(pattern=r"^[0-9a-f]{64}$")]
    rows: Annotated[int, Field(ge=0)] | None = None

    @property
    def name(self) -> str:
        """The path below the ``data/<uuid>/`` folder of the write that made the file."""
        return self.path.split("/", 2)[2]


class Manifest(BaseModel):
    """One committed version; never changed once written.

    Attributes
    ----------
    kind
        What the root holds.
    schema_version
        Version of the stored formats.
    version, parent
        Its number, counting from 1; the version it was made from, None if independent.
    run_id
        Identifies the write that made it.
    created
        When it was committed, UTC.
    files
        Its data files, ordered by path.
    info
        Whatever else the kind records, as JSON.
    """

    model_config = ConfigDict(frozen=True, extra="forbid", strict=True, allow_inf_nan=False)

    kind: Kind
    schema_version: int = SCHEMA_VERSION
    version: Annotated[int, Field(ge=1)]
    parent: Annotated[int, Field(ge=1)] | None
    run_id: UUID
    created: AwareDatetime = Field(default_factory=lambda: datetime.now(UTC))
    files: tuple[StoredFile, ...]
    info: dict[str, JsonValue]

    @model_validator(mode="after")
    def _check_files(self) -> Self:
        names = [file.name for file in self.files]
        if len(set(names)) < len(names):
            raise ValueError("two files have one name")
        return self

    @field_serializer("created")
    def _write_created(self, created: datetime) -> str:
        return created.astimezone(UTC).isoformat(timespec="microseconds")

    @cached_property
    def by_name(self) -> dict[str, StoredFile]:
        """The data files by the names they were written under."""
        return {file.name: file for file in self.files}

    def to_json(self) -> bytes:
        """The content of the manifest's file."""
        return self.model_dump_json(indent=1).encode() + b"\n"
