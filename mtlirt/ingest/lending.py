"""Lend open files to Arrow, and get them back."""

from __future__ import annotations

import threading
import weakref
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from typing import Any, BinaryIO, cast

import pyarrow as pa
import pyarrow.csv as pacsv

CsvOptions = tuple[pacsv.ReadOptions, pacsv.ParseOptions, pacsv.ConvertOptions]

_BUFFER = 1 << 20


@dataclass(eq=False)
class _Loan:
    """What Arrow holds of a file: once it is gone, no thread of Arrow reads again."""

    read: Callable[[int], bytes]
    closed: bool = False

    def close(self) -> None:
        """Take note; the lender closes the file."""
        self.closed = True


def read_csv_lent(file: BinaryIO, gzipped: bool, options: CsvOptions) -> Iterator[pa.RecordBatch]:
    """Yield the batches of a CSV file that Python has open.

    Threads of Arrow read ahead, and go on when their reader is given up. One that enters Python
    while the interpreter ends hangs or aborts the process; so this ends when none will any more.
    """
    given_up, returned = threading.Event(), threading.Event()

    def read(size: int) -> bytes:
        return b"" if given_up.is_set() else file.read(size)

    loan = _Loan(read)
    weakref.finalize(loan, returned.set)
    # buffered: what Arrow copied is not Python's to free
    stream: Any = pa.BufferedInputStream(pa.PythonFile(cast(Any, loan), mode="r"), _BUFFER)
    reader = None
    del loan
    try:
        if gzipped:
            stream = pa.CompressedInputStream(stream, "gzip")
        reader = pacsv.open_csv(stream, *options)
        yield from reader
    finally:
        given_up.set()
        del stream, reader
        returned.wait()
