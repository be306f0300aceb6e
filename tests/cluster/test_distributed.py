"""Where work goes on a Dask cluster, what travels, and what is lost."""

import gc
import operator
import os
import signal
import socket
import time
import warnings

import dask
import dask.array as da
import numpy as np
import pytest
from distributed import Client
from distributed.comm.core import CommClosedError

from mtlirt.cluster import distributed, launch, workers
from mtlirt.cluster.bundle import Reference, filled, packed, run_calls
from mtlirt.cluster.distributed import Cluster
from mtlirt.cluster.errors import ClusterError
from mtlirt.cluster.launch import connected, local_cluster
from mtlirt.cluster.local import Inline
from mtlirt.cluster.placing import Home
from mtlirt.cluster.tasks import Handle, Task, homes
from mtlirt.errors import InputError


@pytest.fixture
def cluster(process_cluster):
    return Cluster(process_cluster, Inline())


def loaded(cluster, *sizes):
    """Blocks of these sizes, each a group of its own."""
    calls = [[(da.full(size, size, chunks=-1),)] for size in sizes]
    return [handle for (handle,) in cluster.load(np.copy, calls)]


def whereabouts(_):
    return os.getpid()


def test_blocks_are_spread_by_size_largest_first(cluster):
    handles = loaded(cluster, 1, 2, 3, 4, 5, 9)
    held = {}
    for size, handle in zip([1, 2, 3, 4, 5, 9], handles, strict=True):
        held[handle.task.home] = held.get(handle.task.home, 0) + size
    assert sorted(held.values()) == [12, 12]


def test_groups_stay_together_unless_larger_than_their_share(cluster):
    def calls(*sizes):
        return [(da.full(size, size, chunks=-1),) for size in sizes]

    large, *small = cluster.load(np.copy, [calls(6, 5), calls(2, 2), calls(1, 3), calls(1)])
    assert not cluster.together(large)
    assert all(map(cluster.together, small))
    homes_of_small = {handle.task.home for group in small for handle in group}
    assert len(homes_of_small) == 2


def test_threads_of_all_workers_come_before_a_second_thread_of_any(threaded_cluster):
    cluster = Cluster(threaded_cluster, Inline())
    first, second = loaded(cluster, 1, 1)
    assert first.task.home.worker == second.task.home.worker
    assert {first.task.home.thread, second.task.home.thread} == {0, 1}


def test_work_goes_where_its_first_block_is(cluster):
    one, two = loaded(cluster, 5, 4)
    assert one.task.home != two.task.home
    places = cluster.gather([cluster.submit(whereabouts, block) for block in [one, two, one, two]])
    assert places == [places[0], places[1]] * 2
    assert places[0] != places[1]
    derived = cluster.submit(operator.add, two, one)
    assert derived.task.home == two.task.home
    assert cluster.submit(operator.add, 1, 2).task.home is None


def test_calls_with_one_home_are_one_task(cluster):
    blocks = loaded(cluster, 1, 2, 3, 4, 5, 6)
    handles = cluster.submit_all(np.sum, [(block,) for block in blocks])
    assert len({handle.task.future.key for handle in handles}) == 2
    assert cluster.gather(handles) == [size**2 for size in range(1, 7)]


def test_a_large_argument_travels_by_a_task_of_its_own(cluster):
    large = np.arange(2_000_000.0)  # 16 MB; the client warns of tasks beyond 10
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        handle = cluster.submit(np.sum, large)
        many = cluster.submit_all(np.sum, [(np.full(200_000, k, float),) for k in range(12)])
        nested = cluster.submit(lambda parts: sum(map(np.sum, parts[0])), [[large, handle], 1])
    assert cluster.gather([handle, *many]) == [large.sum(), *(200_000.0 * k for k in range(12))]
    assert cluster.gather([nested]) == [2 * large.sum()]


def test_references_are_filled():
    handed = [[10, 20], "x"]
    assert filled([Reference(0, 1), (Reference(1, None), 3)], handed) == [20, ("x", 3)]


@pytest.mark.parametrize("size", [1, 7, 10**6])
def test_arguments_are_packed_in_parts_and_arrays_come_out_writable(size):
    array = np.arange(3.0)
    array.flags.writeable = False
    data = packed([(array, 1), (array, 2)])
    sent, *parcels = [data[k : k + size] for k in range(0, len(data), size)]

    def writable(values, number):
        return values.flags.writeable, values.sum() + number

    assert run_calls(writable, sent, parcels, []) == [(True, 4.0), (True, 5.0)]


def test_a_persisted_array_is_read_from_the_cluster(cluster, process_cluster):
    array = process_cluster.persist(da.arange(6, chunks=3))
    (blocks,) = cluster.load(np.copy, [[(array.blocks[0],), (array.blocks[1],)]])
    parts = cluster.gather(blocks)
    assert [part.tolist() for part in parts] == [[0, 1, 2], [3, 4, 5]]


def test_the_scheduler_keeps_nothing_of_what_is_done(cluster, process_cluster):
    def tasks(dask_scheduler):
        return len(dask_scheduler.tasks)

    blocks = loaded(cluster, 3, 4)
    cluster.gather(blocks)
    gc.collect()  # what tests before this one left behind
    before, last = process_cluster.run_on_scheduler(tasks), None
    while before != last:
        time.sleep(0.5)
        before, last = process_cluster.run_on_scheduler(tasks), before
    for _ in range(20):
        cluster.gather(cluster.submit_all(np.add, [(block, np.ones(1)) for block in blocks]))
    deadline = time.monotonic() + 10
    while process_cluster.run_on_scheduler(tasks) > before and time.monotonic() < deadline:
        time.sleep(0.05)
    assert process_cluster.run_on_scheduler(tasks) == before


def test_lost_blocks_are_loaded_again_and_work_follows_them(watch_strays):
    with local_cluster(2, 1) as client:
        cluster = Cluster(client, Inline())
        blocks = loaded(cluster, 1, 2, 3, 4, 5, 6)
        before = cluster.gather(cluster.submit_all(np.sum, [(block,) for block in blocks]))
        places = cluster.gather(cluster.submit_all(whereabouts, [(block,) for block in blocks]))
        lost = blocks[0].task.home.worker
        os.kill(places[0], signal.SIGKILL)
        while lost in client.nthreads():
            time.sleep(0.05)
        time.sleep(distributed.LOOK_SECONDS)
        again = cluster.submit_all(np.sum, [(block,) for block in blocks])
        assert cluster.gather(again) == before
        assert {block.task.home.worker for block in blocks} <= set(client.nthreads())
        strays = watch_strays(client)
        assert cluster.gather(cluster.submit_all(np.sum, [(block,) for block in blocks])) == before
        assert strays.placed > 0
        assert strays.strays == []


def slowly(block):
    time.sleep(1)
    return block.sum()


def test_work_goes_on_when_all_workers_were_lost_at_once():
    """Dask by itself would leave tasks that asked for a lost worker alone for ever."""
    with local_cluster(2, 1) as client:
        cluster = Cluster(client, Inline())
        blocks = loaded(cluster, 1, 2, 3, 4)
        doubled = cluster.submit_all(np.multiply, [(block, 2) for block in blocks])
        sums = cluster.submit_all(slowly, [(block,) for block in doubled])
        single = cluster.submit(slowly, blocks[0])
        time.sleep(0.5)
        for pid in client.run(os.getpid).values():
            os.kill(pid, signal.SIGKILL)
        assert cluster.gather([*sums, single]) == [2, 8, 18, 32, 1]
        assert {block.task.home.worker for block in blocks} <= set(client.nthreads())


def test_results_lost_before_they_were_fetched_are_made_again(monkeypatch):
    monkeypatch.setattr(distributed, "FETCH_SECONDS", 1.0)
    with local_cluster(1, 1) as client:
        cluster = Cluster(client, Inline())
        (block,) = loaded(cluster, 4)
        done = cluster.submit(np.sum, block)
        assert cluster.gather([done]) == [16]
        (pid,) = client.run(os.getpid).values()
        os.kill(pid, signal.SIGKILL)
        answers = iter([True])  # done, as it was found before the worker was lost
        monkeypatch.setattr(
            cluster, "_done", lambda tasks: next(answers, False) or Cluster._done(cluster, tasks)
        )
        assert cluster.gather([done]) == [16]


def die(_):
    os._exit(1)


def test_work_that_kills_its_workers_is_told_so():
    with local_cluster(1, 1) as client:
        client.cluster.scheduler.allowed_failures = 0
        cluster = Cluster(client, Inline())
        (block,) = loaded(cluster, 3)
        told = r"died .* memory \(a worker has .*iB, the largest chunk .* is 3, 24 B\): give"
        with pytest.raises(ClusterError, match=told):
            cluster.gather([cluster.submit(die, block)])


def test_workers_that_pause_for_want_of_memory_are_told_so(monkeypatch):
    """Dask would let their work wait for ever."""
    monkeypatch.setattr(distributed, "PAUSE_SECONDS", 1.0)
    with (
        dask.config.set({"distributed.worker.memory.pause": 1e-6}),
        local_cluster(1, 1, processes=False) as client,
    ):
        while {w["status"] for w in client.scheduler_info()["workers"].values()} != {"paused"}:
            time.sleep(0.05)
        cluster = Cluster(client, Inline())
        told = r"worker inproc.* has paused .* memory.* \(a worker has .*is 3, 24 B\): give"
        with pytest.raises(ClusterError, match=told):
            cluster.gather(loaded(cluster, 3))


@pytest.mark.parametrize(
    ("status", "tasks", "expected"),
    [
        ("paused", {"ready": 2, "memory": 1}, ["a"]),
        ("paused", {"fetch": 1}, ["a"]),
        ("paused", {"ready": 2, "executing": 1}, []),
        ("paused", {"memory": 4}, []),
        ("running", {"ready": 2}, []),
    ],
)
def test_a_worker_is_stuck_that_has_paused_with_work_and_runs_none(status, tasks, expected):
    told = {
        "a": {"status": status, "metrics": {"task_counts": tasks}},
        "b": {"status": "running", "metrics": {"task_counts": {"executing": 1}}},
    }
    assert workers.stuck(told) == expected


def test_workers_are_stuck_when_all_have_paused():
    paused = {"status": "paused", "metrics": {"task_counts": {"memory": 1}}}
    assert workers.stuck({"a": paused, "b": paused}) == ["a", "b"]


def test_a_scheduler_that_goes_away_is_told_so():
    with local_cluster(1, 1, processes=False) as client:
        cluster = Cluster(client, Inline())
        handle = cluster.submit(time.sleep, 2)
        client.close()
        with pytest.raises(ClusterError, match=r"cluster lost the work"):
            cluster.gather([handle])


def test_without_a_worker_it_says_how_to_start_one(monkeypatch):
    monkeypatch.setattr(distributed, "FIRST_WORKER_SECONDS", 0.2)
    with (
        local_cluster(0, 1, processes=False) as client,
        pytest.raises(ClusterError, match=r"no worker for too long: .*\(0.2 s\)"),
    ):
        Cluster(client, Inline())


def test_workers_of_another_version_are_refused(threaded_cluster, monkeypatch):
    versions = iter(["9.9", "0.0"])
    monkeypatch.setattr(workers, "package_version", lambda: next(versions))
    with pytest.raises(
        ClusterError, match=r"worker inproc.*mtlirt is 0\.0, in this process it is 9\.9"
    ):
        Cluster(threaded_cluster, Inline())


def test_a_worker_that_cannot_run_it_is_refused(threaded_cluster, monkeypatch):
    def broken():
        broken.calls += 1
        if broken.calls > 1:
            raise ModuleNotFoundError("No module named 'mtlirt'")
        return "1"

    broken.calls = 0
    monkeypatch.setattr(workers, "package_version", broken)
    with pytest.raises(ClusterError, match=r"cannot be run .*No module named"):
        Cluster(threaded_cluster, Inline())


def test_a_worker_lost_while_it_is_asked_for_its_version_is_none(threaded_cluster, monkeypatch):
    def lost():
        lost.calls += 1
        if lost.calls > 1:
            raise CommClosedError("lost")
        return "1"

    lost.calls = 0
    monkeypatch.setattr(workers, "package_version", lost)
    Cluster(threaded_cluster, Inline())


@pytest.mark.parametrize("client", ["tcp://127.0.0.1:8786", 3])
def test_what_is_no_client_is_bad_use(client):
    with pytest.raises(InputError, match=r"is not a .* Client"):
        Cluster(client, Inline())


def test_a_closed_client_is_bad_use():
    with local_cluster(1, 1, processes=False) as client:
        pass
    with pytest.raises(InputError, match=r"is closed; give one that is connected"):
        Cluster(client, Inline())


@pytest.mark.parametrize("address", ["nonsense", "127.0.0.1"])
def test_what_is_no_address_is_bad_use(address):
    with pytest.raises(InputError, match=r"scheduler .*give an address"), connected(address):
        pass


def test_an_address_without_a_scheduler_is_told_so(monkeypatch):
    with (
        dask.config.set({"distributed.comm.timeouts.connect": "0.3s"}),
        pytest.raises(ClusterError, match=r"cannot reach a scheduler at tcp://127.0.0.1:1"),
        connected("tcp://127.0.0.1:1"),
    ):
        pass


def test_what_is_no_dask_scheduler_is_told_so(monkeypatch):
    monkeypatch.setattr(launch, "GREETING_SECONDS", 0.3)
    with (
        socket.create_server(("127.0.0.1", 0)) as server,
        pytest.raises(ClusterError, match=r"listens at tcp://.* is no Dask scheduler"),
        connected(f"tcp://127.0.0.1:{server.getsockname()[1]}"),
    ):
        pass


def test_a_separate_scheduler_is_reached_by_its_address(separate_scheduler):
    with connected(separate_scheduler) as client:
        assert isinstance(client, Client)
        cluster = Cluster(client, Inline())
        assert cluster.gather([cluster.submit(operator.add, 1, 2)]) == [3]
    with connected(separate_scheduler) as client:  # it lives on
        assert len(client.nthreads()) >= 1


def test_homes_are_found_in_order():
    one, two = Home("a", 0), Home("b", 1)
    tasks = [Task(0, home, int, []) for home in (None, one, two)]
    handles = [Handle(task, 0) for task in tasks]
    assert list(homes([1, [handles[0], (handles[2],)], handles[1]])) == [two, one]
