"""Fits of responses that are not kept in memory: the same fits, read again in each round."""

import tracemalloc

import dask.array as da
import numpy as np
import pandas as pd
import pytest

from mtlirt.cluster.local import local_executor
from mtlirt.engine import placement
from mtlirt.engine.fit import fit
from mtlirt.engine.placement import place
from mtlirt.responses import load
from mtlirt.responses.arrays import from_arrays
from mtlirt.responses.store import open_responses, write_responses
from mtlirt.simulate.generate import simulate

TABLES = ("items", "domains", "models", "traits", "representation")


@pytest.fixture(autouse=True)
def nothing_is_small(monkeypatch):
    monkeypatch.setattr(placement, "ALWAYS_KEPT", 0)


def blocks_of(missing):
    responses = simulate("demo", models=60, seed=2, missing=missing).responses
    blocks = {name: np.asarray(part.array) for name, part in responses.domains.items()}
    lacking = next(iter(blocks))
    blocks[lacking] = np.where(np.arange(60)[:, None] % 3 == 0, np.int8(-1), blocks[lacking])
    return blocks


@pytest.fixture(params=["whole", "split"])
def chunks(request):
    return {"whole": (60, 1000), "split": (25, 40)}[request.param]


@pytest.mark.parametrize(("missing", "threads"), [(0.0, 2), (0.3, 1)])
def test_it_is_the_same_fit_to_the_bit(tmp_path, chunks, missing, threads):
    responses = from_arrays({name: da.from_array(b) for name, b in blocks_of(missing).items()})
    write_responses(responses, tmp_path / "store", history={}, chunks=chunks)
    stored = open_responses(tmp_path / "store")
    kept = fit(stored, threads=threads, max_rounds=4)
    streamed = fit(stored, threads=threads, max_rounds=4, memory_limit=1)
    for table in TABLES:
        pd.testing.assert_frame_equal(getattr(kept, table), getattr(streamed, table))


def test_a_cluster_streams_to_the_same_fit(tmp_path, process_cluster, chunks):
    responses = from_arrays({name: da.from_array(b) for name, b in blocks_of(0.0).items()})
    write_responses(responses, tmp_path / "store", history={}, chunks=chunks)
    stored = open_responses(tmp_path / "store")
    kept = fit(stored, client=process_cluster, max_rounds=3)
    streamed = fit(stored, client=process_cluster, max_rounds=3, memory_limit=1)
    for table in TABLES:
        pd.testing.assert_frame_equal(
            getattr(kept, table), getattr(streamed, table), rtol=0, atol=1e-8
        )


def test_every_task_reads_its_blocks_and_a_kept_one_is_read_once(tmp_path, monkeypatch):
    write_responses(simulate("demo", models=40, seed=3).responses, tmp_path / "store", history={})
    stored = open_responses(tmp_path / "store")
    reads = []
    decode = load.decode_chunk
    monkeypatch.setattr(load, "decode_chunk", lambda *args: (reads.append(1), decode(*args))[1])
    with local_executor(1) as executor:
        for memory, after in ((None, 0), (1, 2)):
            domains = place(executor, stored, memory=memory)
            reads.clear()
            for _ in range(2):
                executor.submit(len, domains[0].blocks)
            assert len(reads) == after


def test_memory_holds_a_block_a_thread_and_not_the_responses(tmp_path):
    rng = np.random.default_rng(1)
    models, items, domains = 2000, 1000, 12
    traits = rng.normal(size=(models, 1))
    blocks = {
        f"d{t:02d}": da.from_array(
            (rng.random((models, items)) < 1 / (1 + np.exp(-traits))).astype(np.int8)
        )
        for t in range(domains)
    }
    write_responses(from_arrays(blocks), tmp_path / "store", history={})
    del blocks
    stored = open_responses(tmp_path / "store")
    peaks = {}
    for name, limit in (("kept", None), ("streamed", 2**20)):
        tracemalloc.start()
        fit(stored, threads=1, max_rounds=2, adapt=False, memory_limit=limit)
        peaks[name] = tracemalloc.get_traced_memory()[1]
        tracemalloc.stop()
    assert peaks["kept"] - peaks["streamed"] > 0.8 * models * items * (domains - 1)
