"""An S3 server and Dask clusters for the tests that need them."""

import functools
import json
import os
import subprocess
import sys
import time
import uuid
from contextlib import contextmanager

import pytest
import s3fs
from botocore.loaders import JSONFileLoader
from distributed.diagnostics.plugin import SchedulerPlugin

from mtlirt.cluster.launch import local_cluster


@pytest.fixture(scope="session")
def s3_endpoint():
    """The URL of an S3 server of this test run."""
    from moto.server import ThreadedMotoServer

    server = ThreadedMotoServer(ip_address="127.0.0.1", port=0, verbose=False)
    server.start()
    host, port = server.get_host_and_port()
    yield f"http://{host}:{port}"
    server.stop()


@pytest.fixture
def s3_access(s3_endpoint, monkeypatch):
    """What an environment says that may use the server, and none other."""
    access = give_access(monkeypatch, s3_endpoint)
    s3fs.S3FileSystem.clear_instance_cache()
    yield access
    s3fs.S3FileSystem.clear_instance_cache()


@pytest.fixture
def bucket(s3_access):
    """The URL of an empty bucket."""
    return new_bucket()


@pytest.fixture(scope="module")
def shared_bucket(s3_endpoint):
    """The URL of a bucket for all tests of a module, each of which takes a folder of its own."""
    with pytest.MonkeyPatch.context() as patch:
        give_access(patch, s3_endpoint)
        s3fs.S3FileSystem.clear_instance_cache()
        yield new_bucket()
    s3fs.S3FileSystem.clear_instance_cache()


def give_access(patch, endpoint):
    access = {
        "AWS_ENDPOINT_URL": endpoint,
        "AWS_ACCESS_KEY_ID": "test-access-key",
        "AWS_SECRET_ACCESS_KEY": "test-secret-key-that-nothing-may-show",
        "AWS_DEFAULT_REGION": "us-east-1",
        "AWS_EC2_METADATA_DISABLED": "true",
    }
    for name in list(os.environ):
        if name.startswith("AWS_"):
            patch.delenv(name)
    for name, value in access.items():
        patch.setenv(name, value)
    patch.setattr(JSONFileLoader, "load_file", lambda _, path: read_once(path))
    return access


read_once = functools.cache(JSONFileLoader().load_file)
"""Most of the time it takes to make an S3 client goes into reading botocore's own files."""


def new_bucket():
    name = f"bucket-{uuid.uuid4().hex}"
    s3fs.S3FileSystem(skip_instance_cache=True).mkdir(name)
    return f"s3://{name}"


@pytest.fixture(scope="session")
def threaded_cluster():
    """A client of a cluster inside this process: one worker of two threads."""
    with local_cluster(1, 2, processes=False) as client:
        yield client


@pytest.fixture(scope="session")
def process_cluster():
    """A client of a cluster of two worker processes."""
    with local_cluster(2, 1) as client:
        yield client


@pytest.fixture(scope="session")
def separate_scheduler(tmp_path_factory):
    """The address of a scheduler with two workers, all started from the command line."""
    with separate_cluster(tmp_path_factory.mktemp("dask"), workers=2) as (address, _):
        yield address


class Strays(SchedulerPlugin):
    """Counts the tasks that asked for a worker, and lists those that ran elsewhere."""

    name = "strays"

    def __init__(self, scheduler):
        self.scheduler = scheduler
        self.placed, self.strays = 0, []

    def transition(self, key, start, finish, *args, worker=None, **kwargs):
        task = self.scheduler.tasks.get(key)
        if (start, finish) == ("processing", "memory") and task and task.worker_restrictions:
            self.placed += 1
            if worker not in task.worker_restrictions:
                self.strays.append(key)


@pytest.fixture
def watch_strays():
    """Starts to watch the scheduler of a local cluster's client."""
    watched = []

    def watch(client):
        scheduler = client.cluster.scheduler
        strays = Strays(scheduler)
        scheduler.add_plugin(strays)
        watched.append(scheduler)
        return strays

    yield watch
    for scheduler in watched:
        if Strays.name in scheduler.plugins:
            scheduler.remove_plugin(Strays.name)


@contextmanager
def separate_cluster(folder, workers, *options):
    """A scheduler and workers as processes of their own: its address and the workers."""
    file = folder / "scheduler.json"
    dask = [sys.executable, "-m", "dask"]
    place = ["--scheduler-file", str(file), "--no-dashboard"]
    started = [start([*dask, "scheduler", "--host", "127.0.0.1", "--port", "0", *place], folder)]
    try:
        for k in range(workers):
            extra = ["--nthreads", "1", "--name", f"w{k}", "--local-directory", str(folder)]
            extra += options
            started.append(start([*dask, "worker", *place, *extra], folder))
        for _ in range(600):
            if file.exists() and file.stat().st_size:
                break
            time.sleep(0.1)
        yield json.loads(file.read_text())["address"], started[1:]
    finally:
        for process in reversed(started):
            process.terminate()
        for process in started:
            process.wait(30)


def start(command, folder):
    with (folder / "log").open("ab") as log:
        return subprocess.Popen(command, stdout=log, stderr=subprocess.STDOUT)
