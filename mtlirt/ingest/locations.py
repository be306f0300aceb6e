"""Where files are, local paths and URLs, and what is there."""

from __future__ import annotations

import os
import re
from pathlib import Path
from typing import Literal
from urllib.parse import unquote

from upath import UPath

from mtlirt.errors import InputError
from mtlirt.ingest.remote import reaching, s3_options
from mtlirt.ingest.web import HTTP, hf_url, http_url, is_absent

Location = Path | UPath
"""A local path is a `Path`; everything else is a `UPath`."""

SCHEMES = ("file", "hf", "http", "https", "memory", "s3")


def locate(source: str | os.PathLike[str]) -> Location:
    """The location that a local path or URL means.

    Parameters
    ----------
    source
        A URL has one of `SCHEMES`. What follows its bucket is a name as it stands.
    """
    text = os.fspath(source)
    url = re.fullmatch(r"([A-Za-z][A-Za-z0-9+.-]*)://([^/]*)/?(.*)", text, re.DOTALL)
    if url is None:
        return Path(text)
    scheme, bucket, name = url.groups()
    if scheme == "file":
        return Path(unquote(text.removeprefix("file://")))
    if scheme not in SCHEMES:
        known = ", ".join(f"{known}://" for known in SCHEMES)
        raise InputError(f"{text}: cannot read {scheme}://; give a local path, or one of {known}")
    if scheme in HTTP:
        return http_url(text)
    if scheme == "hf":
        return hf_url(text)
    if scheme == "s3":
        from mtlirt.storage.s3 import S3Backend

        S3Backend.at(text)  # refuses what names no bucket
    base: UPath = UPath(f"{scheme}://{bucket}", **(s3_options() if scheme == "s3" else {}))
    return base / name if name else base


def kind_at(location: Location) -> Literal["file", "folder"] | None:
    """What is at a location, None for nothing."""
    if isinstance(location, Path):
        if location.is_dir():
            return "folder"
        return "file" if location.exists() else None
    has_bucket = True
    with reaching(location):
        try:
            kind = location.fs.info(location.path)["type"]
        except FileNotFoundError as error:
            if not is_absent(error):
                raise
            kind = None
            has_bucket = (
                location.protocol != "s3"
                or not location.drive
                or location.fs.exists(location.drive)
            )
    if not has_bucket:
        raise InputError(f"{location}: there is no bucket {location.drive}")
    return "folder" if kind == "directory" else kind


def is_empty(file: Location) -> bool:
    """Whether a file has no bytes."""
    if isinstance(file, Path):
        return file.stat().st_size == 0
    with reaching(file):
        return bool(file.fs.size(file.path) == 0)


def files_in(folder: Location) -> list[Location]:
    """The files of a folder and of its folders in the order of their paths, without hidden ones."""
    inside: dict[tuple[str, ...], Location]
    if isinstance(folder, Path):
        paths = (path for path in folder.rglob("*") if path.is_file())
        inside = {path.relative_to(folder).parts: path for path in paths}
    else:
        base = f"{folder.path.rstrip('/')}/"
        with reaching(folder):
            names = [name.removeprefix(base) for name in folder.fs.find(folder.path)]
        inside = {tuple(name.split("/")): folder / name for name in names if name[-1:] != "/"}
    return [
        path
        for parts, path in sorted(inside.items())
        if not any(part.startswith(".") for part in parts)
    ]


def neighbours(file: Location) -> list[Location]:
    """What is in the folder of a file, in the order of its names."""
    if isinstance(file, Path):
        return sorted(file.parent.iterdir())
    with reaching(file):
        return sorted(file.parent.iterdir(), key=lambda path: path.name)
