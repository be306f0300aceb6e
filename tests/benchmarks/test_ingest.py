"""Ingest of tidy Parquet: 4,272 models x 13,232 items in 56 domains, complete, in random order.

Run by ``make bench``; not part of the test suite. Every round is ``mtlirt ingest`` in a process of
its own, its start included. Ratios to the floor (one read of the columns) are printed with the
times.
"""

import hashlib
import resource
import shutil
import subprocess
import sys
import time

import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq
import pytest

MODELS, ITEMS, DOMAINS, FILES = 4272, 13232, 56, 8
ROW_GROUP = 1 << 20
IDS = ["model_id", "item_id", "domain"]
SCHEMA = pa.schema([*((name, pa.string()) for name in IDS), ("correct", pa.int64())])

INGEST = """
import atexit, re
from pathlib import Path
from mtlirt.cli.app import main

status = Path("/proc/self/status")
atexit.register(lambda: print("kB", re.search(r"VmHWM:\\s+(\\d+)", status.read_text())[1]))
main()
"""


@pytest.fixture(scope="module", params=[ITEMS // 10, ITEMS], ids="items={}".format)
def table(request, tmp_path_factory):
    """A folder of Parquet files as pyarrow writes them, and how many rows they have."""
    folder = tmp_path_factory.mktemp("tidy")
    items, rng = request.param, np.random.default_rng(1)
    owners = np.sort(np.append(np.arange(DOMAINS), rng.integers(0, DOMAINS, items - DOMAINS)))
    domain_ids = [f"subject-of-domain-{k:02d}" for k in range(DOMAINS)]
    digests = [hashlib.sha256(str(k).encode()).hexdigest()[:12] for k in range(items)]
    item_ids = pa.array(
        [f"{domain_ids[owners[k]]}/{digest}-{k:05d}" for k, digest in enumerate(digests)]
    )
    model_ids = pa.array([f"org-{k % 17}/model-name-{k:04d}" for k in range(MODELS)])
    cells = rng.permutation(np.arange(MODELS * items, dtype=np.int32))
    for number, part in enumerate(np.array_split(cells, FILES)):
        with pq.ParquetWriter(folder / f"part-{number}.parquet", SCHEMA) as writer:
            for begin in range(0, len(part), ROW_GROUP):
                model, item = np.divmod(part[begin : begin + ROW_GROUP], items)
                columns = [
                    model_ids.take(pa.array(model)),
                    item_ids.take(pa.array(item)),
                    pa.array(domain_ids).take(pa.array(owners[item])),
                    pa.array(rng.integers(0, 2, len(model))),
                ]
                writer.write_batch(pa.record_batch(columns, schema=SCHEMA))
    yield folder, len(cells)
    shutil.rmtree(folder)


def floor_seconds(folder):
    """Wall seconds of one read of the columns."""
    began = time.perf_counter()
    for path in sorted(folder.iterdir()):
        with pq.ParquetFile(path, read_dictionary=IDS) as parquet:
            for _ in parquet.iter_batches(ROW_GROUP):
                pass
    return time.perf_counter() - began


def cpu_seconds():
    """What processes that have ended used."""
    usage = resource.getrusage(resource.RUSAGE_CHILDREN)
    return usage.ru_utime + usage.ru_stime


def test_ingest(benchmark, table, tmp_path):
    folder, rows = table
    peaks, cpu = [], []

    def ingest():
        before = cpu_seconds()
        verb = ["ingest", str(folder), "--out", str(tmp_path / "store"), "--overwrite"]
        done = subprocess.run(
            [sys.executable, "-c", INGEST, *verb],
            capture_output=True,
            text=True,
            check=True,
        )
        cpu.append(cpu_seconds() - before)
        *_, peak = done.stdout.split()
        peaks.append(int(peak) // 1024)
        counts = f"{rows:,} cells, 0 missing, 0 duplicates, 0 conflicts"
        assert f"{rows:,} records in {FILES} files: {counts}" in done.stdout

    benchmark.pedantic(ingest, rounds=3)
    seconds = benchmark.stats.stats.median
    floor = min(floor_seconds(folder) for _ in range(3))
    benchmark.extra_info.update(
        rows=rows,
        rows_per_second=int(rows / seconds),
        cpu_seconds=round(sorted(cpu)[1], 2),
        peak_mib=max(peaks),
        floor_seconds=round(floor, 2),
        times_the_floor=round(seconds / floor, 1),
    )
    print(f"\ningest: {seconds:.2f} s, {benchmark.extra_info}")
