"""A fit on a cluster, from S3 to S3, while the server fails."""

import os
import signal
import time

import pytest
import s3fs

from mtlirt.cluster.launch import local_cluster
from tests.storage.faults import faulty_proxy, refuse

FOREVER = float("inf")
INTERNAL_ERROR = refuse(500, "InternalError")
SLOW_DOWN = refuse(503, "SlowDown")
READ = "/store/data/"


def slow(exchange):
    """Take a while to answer."""
    time.sleep(0.3)
    exchange.answer(*exchange.forward())


@pytest.fixture(scope="module")
def module_proxy(s3_endpoint, shared_bucket):
    with faulty_proxy(s3_endpoint) as proxy, pytest.MonkeyPatch.context() as patch:
        patch.setenv("AWS_ENDPOINT_URL", proxy.url)
        patch.setenv("AWS_MAX_ATTEMPTS", "3")
        s3fs.S3FileSystem.clear_instance_cache()
        yield proxy
    s3fs.S3FileSystem.clear_instance_cache()


@pytest.fixture
def proxy(module_proxy):
    """What the S3 endpoint of this process and of the workers is."""
    module_proxy.faults.clear()
    yield module_proxy
    module_proxy.faults.clear()


@pytest.fixture(scope="module")
def remote(module_proxy, shared_bucket, write_store):
    url = f"{shared_bucket}/store"
    write_store(url)
    return url


@pytest.fixture(scope="module")
def cluster(module_proxy):
    """A client of two workers that read through the proxy."""
    with local_cluster(2, 1) as client:
        yield client


@pytest.fixture
def fit(cluster, remote, shared_bucket, disturbed_fit, request):
    snapshots = f"{shared_bucket}/{request.node.name}/snapshots"

    def fit(*options, after=None):
        cluster.wait_for_workers(2, timeout=60)
        place = [cluster.scheduler.address, *options]
        return disturbed_fit(*place, after=after, responses=remote, snapshots=snapshots)

    return fit


@pytest.fixture
def lose_a_worker(cluster):
    """Kills a worker, so that what it held is read again."""

    def act():
        victim = next(iter(cluster.run(os.getpid).values()))
        return lambda: os.kill(victim, signal.SIGKILL)

    return act


def test_a_server_that_fails_for_a_while_changes_nothing(proxy, fit, undisturbed, lose_a_worker):
    proxy.fail(INTERNAL_ERROR, "GET", READ, times=2)
    proxy.fail(slow, "GET", READ, times=3)
    proxy.fail(SLOW_DOWN, "PUT", "/checkpoints/", after=2, times=2)
    proxy.fail(slow, "PUT", "/checkpoints/", after=3)
    proxy.fail(INTERNAL_ERROR, "PUT", "/snapshots/data/", times=2)
    proxy.fail(SLOW_DOWN, "PUT", "/snapshots/manifests/", times=2)

    def reads_fail_again():
        proxy.fail(SLOW_DOWN, "GET", READ, times=2)
        proxy.fail(slow, "GET", READ, times=3)
        return lose_a_worker()

    fit(after={5: reads_fail_again}).assert_equals(undisturbed)
    assert all(fault.times < 1 for fault in proxy.faults)


@pytest.mark.parametrize(
    ("fault", "path", "told"),
    [
        (SLOW_DOWN, "/checkpoints/", "cannot write checkpoints/"),
        (SLOW_DOWN, "/snapshots/data/", "cannot write data/"),
        (INTERNAL_ERROR, "/snapshots/manifests/", "cannot write manifests/"),
    ],
)
def test_a_server_that_takes_nothing_gets_no_version(proxy, fit, fault, path, told):
    proxy.fail(fault, "PUT", path, times=FOREVER)
    done = fit("--max-rounds", "2")
    proxy.faults.clear()
    done.assert_failed(told)
    assert "the S3 server fails: run again later" in done.told


@pytest.mark.slow
def test_reads_that_fail_on_once_a_worker_was_lost_leave_no_version(proxy, fit, lose_a_worker):
    def reads_fail():
        proxy.fail(SLOW_DOWN, "GET", READ, times=FOREVER)
        return lose_a_worker()

    done = fit(after={5: reads_fail})
    proxy.faults.clear()
    done.assert_failed("cannot read data/")
    assert done.rounds[-1] >= 5
