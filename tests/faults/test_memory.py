"""Many items, few answered, on workers with little memory."""

import re
from contextlib import contextmanager
from pathlib import Path

import dask
import dask.array as da
import numpy as np
import pytest
from distributed import Client, LocalCluster

from mtlirt.cluster.launch import OWN_SCHEDULER
from mtlirt.responses.arrays import from_arrays
from mtlirt.responses.store import write_responses

ANSWERED = 0.05
ITEMS_AT_ONCE = 1000
"""Drawn together."""


@contextmanager
def cluster_of(workers, memory, **options):
    """A client of workers that have no more memory than that."""
    options = {f"distributed.scheduler.{name}": value for name, value in options.items()}
    with (
        dask.config.set(OWN_SCHEDULER | options),
        LocalCluster(
            n_workers=workers,
            threads_per_worker=1,
            memory_limit=memory,
            dashboard_address="127.0.0.1:0",
        ) as cluster,
        Client(cluster, set_as_default=False) as client,
    ):
        yield client


def drawn(models, items, block_info=None):
    """Some items' responses of all models."""
    (_, (first, last)) = block_info[None]["array-location"]
    rng = np.random.default_rng([1, first])
    trait = np.random.default_rng(1).normal(size=(models, 1))
    eta = trait * rng.normal(1.0, 0.3, last - first) + rng.normal(size=last - first)
    right = (rng.random(eta.shape) < 1 / (1 + np.exp(-eta))).astype(np.int8)
    return np.where(rng.random(eta.shape) < ANSWERED, right, np.int8(-1))


def peak_memory():
    """Bytes that this process had at most."""
    status = Path("/proc/self/status").read_text()
    return int(re.search(r"VmHWM:\s+(\d+) kB", status)[1]) * 1024


@pytest.mark.skipif(not Path("/proc/self/status").exists(), reason="needs /proc of Linux")
@pytest.mark.parametrize(
    ("workers", "models", "items", "rounds", "chunks"),
    [
        (1, 100, 4_000, 2, (100, 1_000)),
        pytest.param(4, 2_000, 50_000, 20, None, marks=pytest.mark.slow),
    ],
)
def test_many_items_of_which_few_are_answered(
    disturbed_fit, tmp_path, workers, models, items, rounds, chunks
):
    """No large graph, of which Dask would warn, and memory to spare in 1 GiB."""
    array = da.map_blocks(
        drawn,
        models,
        items,
        dtype=np.int8,
        chunks=((models,), (ITEMS_AT_ONCE,) * (items // ITEMS_AT_ONCE)),
        meta=np.empty((0, 0), np.int8),
    )
    store = str(tmp_path / "store")
    write_responses(from_arrays({"all": array}), store, history={}, chunks=chunks)
    with cluster_of(workers, "1GiB") as client:
        endless = ["--tolerance", "1e-300", "--max-rounds", str(rounds)]
        done = disturbed_fit(client.scheduler.address, *endless, responses=store)
        peaks = client.run(peak_memory)
    assert done.status == 0
    assert done.rounds == [*range(1, rounds + 1)]
    assert len(peaks) == workers
    assert max(peaks.values()) < 2**30


def test_too_little_memory_is_told_with_what_there_is_and_what_is_needed(disturbed_fit):
    with cluster_of(1, "160MB", **{"allowed-failures": 0}) as client:
        done = disturbed_fit(client.scheduler.address)
    done.assert_failed("workers died again and again at the same work, most often for want of mem")
    assert "a worker has 152.59 MiB, the largest chunk of the responses is 120 x 110" in done.told
    assert "--memory-limit of `dask worker`" in done.told
