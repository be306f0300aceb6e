"""A fit on Dask clusters: the same numbers everywhere, blocks at home, nothing piling up."""

import os
import signal
import threading

import dask.array as da
import numpy as np
import pandas as pd
import pytest

from mtlirt.cluster.launch import connected, local_cluster
from mtlirt.engine.fit import fit, score
from mtlirt.responses.arrays import from_arrays
from mtlirt.responses.store import open_responses, write_responses

TABLES = ("items", "domains", "models", "traits", "representation")
CLOSE = 1e-8


def simulated(missing, models=400):
    """Four domains, one of them larger than the others together."""
    rng = np.random.default_rng(5)
    factor = rng.normal(size=models)
    out = {}
    for name, items in (("algebra", 110), ("biology", 40), ("chess", 25), ("drama", 30)):
        trait = 0.8 * factor + 0.6 * rng.normal(size=models)
        eta = trait[:, None] * rng.normal(1.0, 0.4, items) + rng.normal(size=items)
        block = (rng.random(eta.shape) < 1 / (1 + np.exp(-eta))).astype(np.int8)
        if missing:
            block[rng.random(block.shape) < 0.2] = -1
            block[rng.random(models) < 0.2] = -1
        out[name] = block
    return out


@pytest.fixture(scope="module", params=["complete", "missing", "split"])
def store(request, tmp_path_factory):
    """A response store: every domain a block, complete or not; or all split both ways."""
    arrays = simulated(missing=request.param != "complete")
    chunks = (250, 60) if request.param == "split" else (400, 110)
    url = str(tmp_path_factory.mktemp("cluster") / "store")
    responses = from_arrays({name: da.from_array(block) for name, block in arrays.items()})
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
        assert len(client.nthreads()) == 2
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
    arrays = {name: da.from_array(block) for name, block in simulated(missing=False).items()}
    expected = fit(arrays, threads=1)
    assert_same(expected, fit(arrays, client=process_cluster))
    persisted = dict(zip(arrays, process_cluster.persist(list(arrays.values())), strict=True))
    assert_same(expected, fit(persisted, client=process_cluster))


def test_a_bad_response_is_told_from_the_worker(process_cluster):
    arrays = {"odd": da.full((4, 3), 7, dtype="int8"), "fine": da.ones((4, 3), dtype="int8")}
    with pytest.raises(ValueError, match="domain 'odd': responses are other than"):
        fit(arrays, client=process_cluster)


@pytest.mark.parametrize("store", ["complete", "split"], indirect=True)
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
