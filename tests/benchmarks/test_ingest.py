"""Ingest of tidy Parquet, 4,272 models x 13,232 items in 56 domains, complete, in random order; and
of a harness's log of one run, 32 MiB, or 1 GiB with ``make bench-xl``.

Run by ``make bench``; not part of the test suite. Every round is ``mtlirt ingest`` in a process of
its own, its start included. Ratios to the floor (one read of the columns) are printed with the
times.
"""

import hashlib
import json
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


@pytest.fixture
def ingest_alone(tmp_path):
    """Runs ``mtlirt ingest`` in a process of its own: what it prints, CPU seconds, peak MiB."""

    def ingest_alone(source, *options):
        before = cpu_seconds()
        verb = ["ingest", str(source), "--out", str(tmp_path / "store"), "--overwrite", *options]
        done = subprocess.run(
            [sys.executable, "-c", INGEST, *verb],
            capture_output=True,
            text=True,
            check=True,
        )
        *_, peak = done.stdout.split()
        return done.stdout, cpu_seconds() - before, int(peak) // 1024

    return ingest_alone


def test_ingest(benchmark, table, ingest_alone):
    folder, rows = table
    peaks, cpu = [], []

    def ingest():
        printed, seconds, peak = ingest_alone(folder)
        cpu.append(seconds)
        peaks.append(peak)
        counts = f"{rows:,} cells, 0 missing, 0 duplicates, 0 conflicts"
        assert f"{rows:,} records in {FILES} files: {counts}" in printed

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


STAMP = "2024-06-01T21-45-00.000000"


def sample(document, prompt):
    """A line of 5 kB as the lm-evaluation-harness writes it."""
    digest = hashlib.sha256(str(document).encode()).hexdigest()
    request = {"arg_0": f"{prompt}\n\nQ: {digest}\nA:", "arg_1": ' (A) the "first"'}
    return {
        "doc_id": document,
        "doc": {"question": digest, "choices": ["é", "b\\c", "d", "e"], "answer": document % 4},
        "target": str(document % 4),
        "arguments": {f"gen_args_{k}": request for k in range(4)},
        "resps": [[["-1.5", "False"]]] * 4,
        "filtered_resps": [["-1.5", "False"]] * 4,
        "filter": "none",
        "metrics": ["acc"],
        "doc_hash": digest,
        "prompt_hash": digest,
        "target_hash": digest,
        "acc": float(document % 3 == 0),
    }


@pytest.fixture(
    params=[32, pytest.param(1024, marks=pytest.mark.slow)], ids=lambda size: f"MiB={size}"
)
def log(request, tmp_path):
    """A folder with the log of one run of so many MiB, and how many samples it has."""
    folder, documents = tmp_path / "log", 0
    folder.mkdir()
    told = {"results": {"t": {"acc,none": 0.5}}, "versions": {"t": 1}, "model_name": "org/model"}
    (folder / f"results_{STAMP}.json").write_text(json.dumps(told))
    prompt = "Which of these is right? None of it.\n" * 25
    with (folder / f"samples_t_{STAMP}.jsonl").open("w") as file:
        while file.tell() < request.param << 20:
            lines = [sample(documents + k, prompt) for k in range(1000)]
            file.write("".join(f"{json.dumps(line, ensure_ascii=False)}\n" for line in lines))
            documents += len(lines)
    yield folder, documents
    shutil.rmtree(folder)


def test_ingest_of_a_log(benchmark, log, ingest_alone):
    folder, documents = log
    size = sum(path.stat().st_size for path in folder.iterdir())
    peaks, cpu = [], []

    def ingest():
        printed, seconds, peak = ingest_alone(folder, "--poor-domains", "keep")
        cpu.append(seconds)
        peaks.append(peak)
        assert f"{documents:,} records in 1 files: {documents:,} cells, 0 missing" in printed

    benchmark.pedantic(ingest, rounds=3)
    seconds = benchmark.stats.stats.median
    benchmark.extra_info.update(
        mb=size // 10**6,
        samples=documents,
        mb_per_second=int(size / 1e6 / seconds),
        cpu_seconds=round(sorted(cpu)[1], 2),
        peak_mib=max(peaks),
    )
    print(f"\ningest of a log: {seconds:.2f} s, {benchmark.extra_info}")
