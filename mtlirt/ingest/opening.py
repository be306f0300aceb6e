"""Find the files of a source and open them, plain or gzipped, with errors that name the file."""

from __future__ import annotations

import gzip
import zlib
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from csv import Error as CsvError
from pathlib import Path
from typing import BinaryIO, cast

import pyarrow as pa

from mtlirt.errors import InputError


def find_files(source: Path, suffixes: Sequence[str]) -> tuple[list[Path], list[Path]]:
    """Split a source into the files to read and the files of a folder to pass over.

    Parameters
    ----------
    source
        A file, read whatever its name, or a folder, searched with all its folders.
    suffixes
        How the names of files to read end, in lower case. Hidden files are passed over.

    Returns
    -------
    files, skipped
        Both in the order of their paths.
    """
    if not source.exists():
        raise InputError(f"{source}: no such file or folder")
    if not source.is_dir():
        return [source], []
    files: list[Path] = []
    skipped: list[Path] = []
    for path in sorted(source.rglob("*")):
        inside = path.relative_to(source).parts
        if path.is_file() and not any(part.startswith(".") for part in inside):
            (files if path.name.lower().endswith(tuple(suffixes)) else skipped).append(path)
    if not files:
        raise InputError(f"{source}: no file whose name ends in {' '.join(suffixes)}")
    return files, skipped


def bare_suffix(path: Path) -> str:
    """The suffix of a file in lower case, without ``.gz``."""
    name = path.name.lower().removesuffix(".gz")
    return Path(name).suffix


def open_bytes(path: Path) -> BinaryIO:
    """Open a file for reading, decompressed where its name ends in ``.gz``."""
    if path.name.lower().endswith(".gz"):
        return cast(BinaryIO, gzip.open(path, "rb"))
    return path.open("rb")


def open_arrow(path: Path) -> BinaryIO:
    """The same for Arrow, which decompresses faster."""
    return cast(BinaryIO, pa.input_stream(str(path)))


@contextmanager
def naming(path: Path) -> Iterator[None]:
    """Turn what a library says about broken content into an error that names the file."""
    try:
        yield
    except UnicodeDecodeError as error:
        raise InputError(f"{path}: not UTF-8 text ({error.reason})") from error
    except (pa.ArrowInvalid, pa.ArrowKeyError, CsvError, EOFError, zlib.error) as error:
        raise InputError(f"{path}: {_one_line(error)}") from error
    except OSError as error:
        if error.errno is not None:
            raise
        raise InputError(f"{path}: {_one_line(error)}") from error


def _one_line(error: Exception) -> str:
    text = " ".join(str(error).split())
    return text if len(text) <= 300 else f"{text[:300]}..."
