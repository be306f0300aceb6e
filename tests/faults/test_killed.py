"""Workers, clients and schedulers killed in the middle of a round."""

import os
import signal
import subprocess
import sys
import time
from functools import partial

import dask
import pytest

from mtlirt.cluster import distributed
from mtlirt.cluster.launch import connected, local_cluster
from mtlirt.storage.root import open_root
from tests.faults.conftest import OPTIONS

PROGRAM = "from mtlirt.cli.app import main; main()"


@pytest.fixture(scope="module")
def cluster():
    """A client of two workers whose nannies put others in their place."""
    with local_cluster(2, 1) as client:
        yield client


def killer(client, count):
    """Kills so many workers; what it returns kills them, what it calls takes time before."""

    def act():
        victims = sorted(client.run(os.getpid).values())[:count]
        assert len(victims) == count
        act.killed += victims
        return lambda: [os.kill(victim, signal.SIGKILL) for victim in victims]

    act.killed = []
    return act


def test_a_worker_killed_in_two_rounds(cluster, disturbed_fit, undisturbed):
    kill = killer(cluster, 1)
    done = disturbed_fit(cluster.scheduler.address, after={2: kill, 9: kill})
    done.assert_equals(undisturbed)
    assert len(set(kill.killed)) == 2


def test_all_workers_killed_at_once(cluster, disturbed_fit, undisturbed):
    cluster.wait_for_workers(2, timeout=60)
    kill = killer(cluster, 2)
    disturbed_fit(cluster.scheduler.address, after={4: kill}).assert_equals(undisturbed)
    assert set(kill.killed).isdisjoint(cluster.run(os.getpid).values())


def test_a_worker_that_is_away_when_the_cluster_looks_for_it_comes_back():
    with (
        dask.config.set({"distributed.deploy.lost-worker-timeout": "100ms"}),
        local_cluster(1, 1) as client,
    ):
        (pid,) = client.run(os.getpid).values()
        os.kill(pid, signal.SIGKILL)
        while client.nthreads():
            time.sleep(0.01)
        client.wait_for_workers(1, timeout=60)
        assert pid not in client.run(os.getpid).values()


@pytest.mark.slow
def test_a_worker_stopped_for_a_moment_stays(cluster, disturbed_fit, undisturbed):
    cluster.wait_for_workers(2, timeout=60)
    pid = min(cluster.run(os.getpid).values())

    def for_a_moment():
        os.kill(pid, signal.SIGSTOP)
        return lambda: os.kill(pid, signal.SIGCONT)

    disturbed_fit(cluster.scheduler.address, after={3: for_a_moment}).assert_equals(undisturbed)
    assert pid in cluster.run(os.getpid).values()


def test_all_workers_killed_and_none_to_come(
    disturbed_fit, separate_cluster, tmp_path, monkeypatch
):
    monkeypatch.setattr(distributed, "ANOTHER_WORKER_SECONDS", 1)
    with (
        separate_cluster(tmp_path, 1, "--no-nanny") as (address, _),
        connected(address) as client,
    ):
        client.wait_for_workers(1, timeout=60)
        done = disturbed_fit(address, after={3: killer(client, 1)})
    done.assert_failed("no worker for too long: start one with `dask worker SCHEDULER` (1 s)")
    assert done.rounds == [1, 2, 3]


def test_a_client_killed_and_another_that_goes_on(
    cluster, store, disturbed_fit, undisturbed, tmp_path
):
    cluster.wait_for_workers(2, timeout=60)
    snapshots = str(tmp_path / "snapshots")
    place = ["--scheduler", cluster.scheduler.address, "--snapshots", snapshots, *OPTIONS]
    command = [sys.executable, "-c", PROGRAM, "fit", store, *place]
    with subprocess.Popen(command, stderr=subprocess.PIPE, text=True) as process:
        while not (line := process.stderr.readline()).startswith("round 6:"):
            assert line
        process.kill()
    assert open_root(snapshots).versions() == []
    done = disturbed_fit(cluster.scheduler.address, "--resume", snapshots=snapshots)
    done.assert_equals(undisturbed)
    assert done.resumed >= 5
    assert done.rounds[0] == done.resumed + 1
    deadline = time.monotonic() + 20
    while left := cluster.run_on_scheduler(lambda dask_scheduler: list(dask_scheduler.tasks)):
        assert time.monotonic() < deadline, left
        time.sleep(0.1)


@pytest.mark.parametrize(
    "sign", [signal.SIGKILL, pytest.param(signal.SIGTERM, marks=pytest.mark.slow)]
)
def test_a_scheduler_killed_and_another_to_go_on_with(
    cluster, disturbed_fit, undisturbed, separate_cluster, tmp_path, sign
):
    with separate_cluster(tmp_path, 1, "--no-nanny") as (address, _):
        with connected(address) as client:
            client.wait_for_workers(1, timeout=60)
            pid = client.run_on_scheduler(os.getpid)
        done = disturbed_fit(address, after={5: lambda: partial(os.kill, pid, sign)})
    done.assert_failed("see that it runs, then run again")
    assert done.rounds == [1, 2, 3, 4, 5]
    again = disturbed_fit(cluster.scheduler.address, "--resume")
    again.assert_equals(undisturbed)
    assert again.resumed == 5
    assert again.rounds[0] == 6
