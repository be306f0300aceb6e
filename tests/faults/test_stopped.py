"""Workers that fall silent in the middle of a round, and some that come back."""

import os

import psutil
import pytest

from mtlirt.cluster import launch
from mtlirt.cluster.launch import local_cluster

TTL = "6s"
"""Long enough for the scheduler to be held up on a busy machine, which looks the same."""


@pytest.fixture(scope="module")
def client():
    """Of a cluster of one worker that waits less than others for one that is silent."""
    with pytest.MonkeyPatch.context() as patch:
        patch.setitem(launch.OWN_SCHEDULER, "distributed.scheduler.worker-ttl", TTL)
        with local_cluster(1, 1) as client:
            yield client


def test_a_stopped_worker_is_killed_by_its_nanny(client, disturbed_fit, undisturbed):
    victim = psutil.Process(*client.run(os.getpid).values())
    done = disturbed_fit(client.scheduler.address, after={3: lambda: victim.suspend})
    done.assert_equals(undisturbed)
    assert not victim.is_running()


def test_a_worker_that_comes_back_finds_its_work_done_and_leaves(
    client, disturbed_fit, undisturbed, worker_of, tmp_path
):
    with worker_of(client.scheduler.address, tmp_path, "--no-nanny") as worker:
        client.wait_for_workers(2, timeout=60)
        victim = psutil.Process(worker.pid)

        def come_back():
            assert victim.status() == psutil.STATUS_STOPPED
            assert victim.pid not in client.run(os.getpid).values()
            return victim.resume

        after = {3: lambda: victim.suspend, 6: come_back}
        disturbed_fit(client.scheduler.address, after=after).assert_equals(undisturbed)
        assert worker.wait(60) is not None


@pytest.mark.slow
def test_a_machine_that_freezes_and_thaws(client, disturbed_fit, undisturbed, worker_of, tmp_path):
    """The scheduler asks the nanny in vain, for half a minute."""
    with worker_of(client.scheduler.address, tmp_path) as nanny:
        client.wait_for_workers(2, timeout=60)
        machine = [psutil.Process(nanny.pid), *psutil.Process(nanny.pid).children(recursive=True)]

        def act(what):
            return lambda: [getattr(process, what)() for process in machine]

        def thaw():
            assert {process.pid for process in machine}.isdisjoint(client.run(os.getpid).values())
            return act("resume")

        after = {3: lambda: act("suspend"), 6: thaw}
        disturbed_fit(client.scheduler.address, after=after).assert_equals(undisturbed)
        assert nanny.wait(60) is not None
