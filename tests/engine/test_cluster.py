"""A fit on Dask clusters: the same numbers everywhere, blocks at home, nothing piling up."""

import os
import signal
import threading

import dask.array as da
import numpy as np
import pandas as pd
import psutil
import pytest

from mtlirt.cluster.launch import connected, local_cluster
from mtlirt.engine.fit import fit, score
from mtlirt.responses.arrays import from_arrays
from mtlirt.responses.store import open_responses, write_responses

TABLES = ("items", "domains", "models", "traits", "representation")
CLOSE = 1e-8
MODELS = 400


def simulated():
    """Four domains, one larger than the others together, two with missing cells and models."""
    rng = np.random.default_rng(5)
    factor = rng.normal(size=MODELS)
    out = {}
    for name, items in (("algebra", 110), ("biology", 40), ("chess", 25), ("drama", 30)):
        trait = 0.8 * factor + 0.6 * rng.normal(size=MODELS)
        eta = trait[:, None] * rng.normal(1.0, 0.4, items) + rng.normal(size=items)
        block = (rng.random(eta.shape) < 1 / (1 + np.exp(-eta))).astype(np.int8)
        if name in {"biology", "drama"}:
            block[rng.random(block.shape) < 0.2] = -1
            block[rng.random(MODELS) < 0.2] = -1
        out[name] = block
    return out


@pytest.fixture(scope="module", params=["whole", "split"])
def store(request, tmp_path_factory):
    """A response store: every domain a block, or all split both ways."""
    url = str(tmp_path_factory.mktemp("cluster") / "store")
    responses = from_arrays({name: da.from_array(block) for name, block in simulated().items()})
    chunks = (MODELS, 110) if request.param == "whole" else (250, 60)
    write_responses(responses, url, history={}, chunks=chunks)
    return url


@pytest.fixture(scope="module")
def expected(store):
    """The fit in this process."""
    return fit(open_responses(store), threads=1)


def assert_same(one, other):
    for table in TABLES:
        pd.testing.assert_frame_equal(
            getattr(one, table), getattr(other, table), check_exact=False, rtol=0, atol=CLOSE
        )
    assert one.info["rounds"] == other.info["rounds"]
    assert one.info["log_likelihood"] == pytest.approx(other.info["log_likelihood"], rel=1e-12)


def test_a_threaded_cluster_gives_the_same(store, expected, threaded_cluster):
    assert_same(expected, fit(open_responses(store), client=threaded_cluster))


def test_a_cluster_of_two_processes_gives_the_same(store, expected, process_cluster):
    assert_same(expected, fit(open_responses(store), client=process_cluster))


def test_a_separate_scheduler_with_two_workers_gives_the_same(store, expected, separate_scheduler):
    with connected(separate_scheduler) as client:
        client.wait_for_workers(2, timeout=60)
        assert_same(expected, fit(open_responses(store), client=client))


@pytest.mark.parametrize("workers", [1, 3])
def test_the_number_of_workers_does_not_matter(store, expected, workers):
    with local_cluster(workers, 1, processes=False) as client:
        assert_same(expected, fit(open_responses(store), client=client))


def test_scores_are_the_same(store, expected, process_cluster):
    responses = open_responses(store)
    here, there = score(expected, responses), score(expected, responses, client=process_cluster)
    for table in ("models", "traits"):
        pd.testing.assert_frame_equal(getattr(here, table), getattr(there, table), atol=CLOSE)


def test_arrays_in_memory_and_persisted_ones_give_the_same(process_cluster):
    arrays = {name: da.from_array(block) for name, block in simulated().items()}
    expected = fit(arrays, threads=1)
    assert_same(expected, fit(arrays, client=process_cluster))
    persisted = dict(zip(arrays, process_cluster.persist(list(arrays.values())), strict=True))
    assert_same(expected, fit(persisted, client=process_cluster))


def test_a_bad_response_is_told_from_the_worker(process_cluster):
    arrays = {"odd": da.full((4, 3), 7, dtype="int8"), "fine": da.ones((4, 3), dtype="int8")}
    with pytest.raises(ValueError, match="domain 'odd': responses are other than"):
        fit(arrays, client=process_cluster)


def test_a_worker_killed_in_mid_round_changes_nothing(store, expected):
    with local_cluster(2, 1) as client:
        victims = list(client.run(os.getpid).values())
        killed = []

        def kill(event):
            if event.number == 2:
                threading.Timer(
                    0.01, lambda: killed.append(os.kill(victims[0], signal.SIGKILL))
                ).start()

        assert_same(expected, fit(open_responses(store), client=client, listener=kill))
        assert killed == [None]
        assert victims[0] not in client.run(os.getpid).values()


def test_blocks_stay_at_home(store, process_cluster, watch_strays):
    strays = watch_strays(process_cluster)
    fit(open_responses(store), client=process_cluster)
    assert strays.placed > 20
    assert strays.strays == []


@pytest.mark.parametrize("store", ["whole"], indirect=True)
def test_nothing_piles_up_over_fifty_rounds(store):
    """Tasks on the scheduler, and memory of the process that holds scheduler and client."""

    def scheduler_tasks(dask_scheduler):
        return len(dask_scheduler.tasks)

    with local_cluster(2, 1) as client:
        tasks, memory = [], []

        def watch(event):
            # what was let go of is still there until the scheduler hears of it
            tasks.append(min(client.run_on_scheduler(scheduler_tasks) for _ in range(3)))
            memory.append(psutil.Process().memory_info().rss)

        options = {"estimator": "separate", "tolerance": 1e-300, "max_rounds": 50}
        fit(open_responses(store), **options, client=client, listener=watch)
    assert len(tasks) == 50
    assert max(tasks[10:]) <= max(tasks[:10])
    assert memory[-1] - memory[9] < 5 * 2**20
