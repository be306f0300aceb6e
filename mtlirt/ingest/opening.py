"""Find the files of a source and open them, plain or gzipped, with errors that name the file."""

from __future__ import annotations

import gzip
import io
import zlib
from collections.abc import Iterable, Iterator
from contextlib import contextmanager
from csv import Error as CsvError
from pathlib import Path
from typing import BinaryIO, cast

import pyarrow as pa
from upath import UPath

from mtlirt.errors import InputError
from mtlirt.ingest.ids import is_unicode, show
from mtlirt.ingest.locations import Location, files_in, kind_at
from mtlirt.ingest.remote import RemoteFile
from mtlirt.ingest.web import HTTP


def candidates(source: Location) -> list[Location]:
    """The files that a source means: itself, or all of a folder and its folders, in order.

    Hidden files are passed over.

    Raises
    ------
    InputError
        If there is nothing, or a name is not UTF-8, which no report could hold.
    """
    kind = kind_at(source)
    if kind is None:
        raise InputError(f"{source}: no such file or folder")
    found = [source] if kind == "file" else files_in(source)
    for path in found:
        if not is_unicode(str(path)):
            raise InputError(f"{show(path.name)}: its name is not UTF-8 text: rename it")
    return found


def first_file(folder: Location, names: Iterable[str]) -> Location | None:
    """The first of some files that is in a folder, plain or gzipped; None if none is."""
    for name in names:
        for path in (folder / name, folder / f"{name}.gz"):
            if kind_at(path) == "file":
                return path
    return None


def bare_suffix(path: Location) -> str:
    """The suffix of a file in lower case, without ``.gz``."""
    return Path(_name(path).removesuffix(".gz")).suffix


def is_gzipped(path: Location) -> bool:
    """Whether the name of a file ends in ``.gz``."""
    return _name(path).endswith(".gz")


def _name(path: Location) -> str:
    """The name of a file in lower case, without the query of a URL."""
    name = path.name.lower()
    return name.partition("?")[0] if isinstance(path, UPath) and path.protocol in HTTP else name


def open_plain(path: Location) -> BinaryIO:
    """Open a file as it is; a remote one is read block by block."""
    if isinstance(path, Path):
        return path.open("rb")
    return io.BufferedReader(RemoteFile(path))


@contextmanager
def open_bytes(path: Location) -> Iterator[BinaryIO]:
    """Open a file for reading, decompressed where its name ends in ``.gz``."""
    with open_plain(path) as file:
        if is_gzipped(path):
            with gzip.open(file) as content:
                yield cast(BinaryIO, content)
        else:
            yield file


@contextmanager
def naming(path: Location) -> Iterator[None]:
    """Turn what a library says about broken content into an error that names the file."""
    try:
        yield
    except UnicodeDecodeError as error:
        raise InputError(f"{path}: not UTF-8 text ({error.reason})") from error
    except (pa.ArrowException, CsvError, EOFError, zlib.error) as error:
        raise InputError(f"{path}: {_one_line(error)}") from error
    except OSError as error:
        if error.errno is not None:
            raise
        raise InputError(f"{path}: {_one_line(error)}") from error


def _one_line(error: Exception) -> str:
    text = " ".join(str(error).split())
    return text if len(text) <= 300 else f"{text[:300]}..."
