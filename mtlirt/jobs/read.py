"""Read a job file."""

from __future__ import annotations

import difflib
import tomllib
from pathlib import Path
from typing import Any

from pydantic import BaseModel, ValidationError

from mtlirt.errors import InputError
from mtlirt.jobs.schema import JOBS, DistillJob, RefitJob


def read_job(path: Path) -> RefitJob | DistillJob:
    """Read a job from a TOML file.

    Raises
    ------
    InputError
        If it is no TOML, or a key is unknown or missing, or its value is not one it may have;
        names the file, the key and the value.
    """
    try:
        content = tomllib.loads(path.read_text(encoding="utf-8-sig"))
    except FileNotFoundError:
        raise InputError(f"{path}: no such file") from None
    except IsADirectoryError:
        raise InputError(f"{path}: is a folder, expected a job file") from None
    except OSError as error:
        raise InputError(f"{path}: cannot be read: {error.strerror}") from None
    except RecursionError:
        raise InputError(f"{path}: is nested too deeply") from None
    except (UnicodeDecodeError, tomllib.TOMLDecodeError) as error:
        raise InputError(f"{path}: is no TOML: {error}") from None
    kind = content.get("kind", "refit")
    if kind not in JOBS:
        raise InputError(f"{path}: kind: {kind!r}: expected {' or '.join(map(repr, JOBS))}")
    try:
        return JOBS[kind].model_validate(content)
    except ValidationError as error:
        errors = [told(JOBS[kind], dict(each)) for each in error.errors(include_url=False)]
        raise InputError(f"{path}: {'; '.join(errors)}") from None


def told(job: type[BaseModel], error: dict[str, Any]) -> str:
    """What one error of pydantic says, led by its key."""
    *tables, key = map(str, error["loc"])
    place = ".".join([*tables, key])
    if error["type"] == "extra_forbidden":
        known = keys_of(job, tables)
        near = difflib.get_close_matches(key, known, 1)
        hint = f"did you mean {near[0]}?" if near else f"known are {', '.join(known)}"
        return f"{place}: unknown key; {hint}"
    if error["type"] == "missing":
        return f"{place}: is missing"
    if error["type"] == "value_error":
        return f"{place}: {error['ctx']['error']}"
    if error["type"] == "model_type":
        return f"{place}: {error['input']!r}: expected a table, [{place}]"
    return f"{place}: {error['input']!r}: {error['msg']}"


def keys_of(model: type[BaseModel], tables: list[str]) -> list[str]:
    """The keys of a table inside a job."""
    for table in tables:
        inner = model.model_fields[table].annotation
        if isinstance(inner, type) and issubclass(inner, BaseModel):
            model = inner
    return list(model.model_fields)
