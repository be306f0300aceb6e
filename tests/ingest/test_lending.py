"""No thread of Arrow reads a file that was taken back."""

import io
import subprocess
import sys
import threading
import time

import pyarrow as pa
import pyarrow.csv as pacsv
import pytest

from mtlirt.ingest.lending import read_csv_lent

OPTIONS = pacsv.ReadOptions(block_size=1 << 12), pacsv.ParseOptions(), pacsv.ConvertOptions()
ROWS = b"1,2\n" * 50_000


class SlowFile(io.RawIOBase):
    """Counts who is reading."""

    def __init__(self, data):
        self.data = io.BytesIO(data)
        self.reads, self.reading = 0, threading.Semaphore()

    def readable(self):
        return True

    def readinto(self, buffer):
        with self.reading:
            self.reads += 1
            time.sleep(0.02)
            return self.data.readinto(buffer)


def test_all_of_it():
    batches = list(read_csv_lent(io.BytesIO(b"a,b\n" + ROWS), False, OPTIONS))
    assert sum(map(len, batches)) == 50_000
    assert len(batches) > 10


@pytest.mark.parametrize("data", [b"a,b\n" + ROWS, b"a,b\n1,2\n3\n" + ROWS, b""])
def test_given_up_it_is_back(monkeypatch, data):
    monkeypatch.setattr("mtlirt.ingest.lending._BUFFER", 1 << 12)
    file = SlowFile(data)
    batches = read_csv_lent(io.BufferedReader(file, 1 << 12), False, OPTIONS)
    if data.startswith(b"a,b\n1,2\n1"):
        next(batches)
        batches.close()
    else:
        with pytest.raises(pa.ArrowInvalid):
            list(batches)
    reads = file.reads
    assert file.reading.acquire(blocking=False)
    time.sleep(0.1)
    assert file.reads == reads


def test_a_process_that_gives_up_ends():
    code = """
import io, sys, time
import pyarrow.csv as pacsv
from mtlirt.ingest.lending import read_csv_lent

class Slow(io.BytesIO):
    def read(self, size=-1):
        time.sleep(0.05)
        return super().read(1 << 12)

options = pacsv.ReadOptions(block_size=1 << 12), pacsv.ParseOptions(), pacsv.ConvertOptions()
for batch in read_csv_lent(Slow(b"a,b\\n" + b"1,2\\n" * 50_000), False, options):
    raise SystemExit(7)
"""
    done = subprocess.run(
        [sys.executable, "-c", code], capture_output=True, timeout=60, check=False
    )
    assert (done.returncode, done.stderr) == (7, b"")
