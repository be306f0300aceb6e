"""Results that a user asks for by name: a local file that appears whole or not at all."""

from __future__ import annotations

import re
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from pathlib import Path

from mtlirt.errors import InputError
from mtlirt.storage.local import LocalBackend


def check_free(out: Path, endings: Sequence[str], overwrite: bool) -> None:
    """Refuse a place that cannot be written, before any work is done for it.

    Parameters
    ----------
    out
        The file.
    endings
        What its name may end in.
    overwrite
        Whether it may exist.

    Raises
    ------
    InputError
        If it is a URL, has another ending, is a folder or in none, or exists.
    """
    if _is_url(out):
        raise InputError(f"{out}: results go to a local file, not to a URL")
    if out.suffix not in endings:
        raise InputError(f"{out}: expected a name that ends in {' or '.join(endings)}")
    if not out.absolute().parent.is_dir():
        raise InputError(f"{out}: no folder to write it in")
    if out.is_dir():
        raise InputError(f"{out}: is a folder")
    if out.exists() and not overwrite:
        raise _taken(out)


def write_file(out: Path, data: bytes, overwrite: bool) -> None:
    """Write a file whole.

    Raises
    ------
    InputError
        If it exists and must not be replaced.
    """
    folder = LocalBackend(out.absolute().parent)
    if overwrite:
        folder.put(out.name, data)
        return
    try:
        folder.write_new(out.name, data)
    except FileExistsError:
        raise _taken(out) from None


def _is_url(path: Path) -> bool:
    return re.match(r"[A-Za-z][A-Za-z0-9+.-]+:/", str(path)) is not None


def _taken(out: Path) -> InputError:
    return InputError(f"{out}: exists already; give another place, or --overwrite")


@contextmanager
def new_folder(path: Path) -> Iterator[None]:
    """Make a folder of this machine for results that are still to be found, or take an empty one.

    Where that fails and nothing was written, a folder that was made is gone again.

    Raises
    ------
    InputError
        If the path is a URL, or something is there already.
    OSError
        If it cannot be made.
    """
    if _is_url(path):
        raise InputError(f"{path}: results go to a folder of this machine; give a path")
    if path.exists() and (not path.is_dir() or any(path.iterdir())):
        raise InputError(f"{path}: exists already; give a new folder")
    made = not path.exists()
    path.mkdir(parents=True, exist_ok=True)
    try:
        yield
    except BaseException:
        if made and not any(path.iterdir()):
            path.rmdir()
        raise
