"""A second S3 server, SeaweedFS, which is no imitation: `make test-seaweedfs` installs it."""

import json
import shutil
import signal
import socket
import subprocess
import time
from uuid import uuid4

import pytest
import s3fs
from botocore.exceptions import BotoCoreError

import mtlirt
from mtlirt.cli.app import run
from mtlirt.cluster.launch import ClusterOptions
from mtlirt.engine.events import silent
from mtlirt.engine.options import FitOptions
from mtlirt.jobs.refit import refit
from mtlirt.storage.backend import open_backend
from mtlirt.storage.root import open_root
from mtlirt.storage.s3 import S3Backend
from tests.conftest import give_access, new_bucket
from tests.storage.conformance import ODD_FOLDER, SharedBackendTests
from tests.storage.test_processes import race

pytestmark = [
    pytest.mark.seaweedfs,
    pytest.mark.skipif(shutil.which("weed") is None, reason="SeaweedFS is not installed"),
]

PATIENCE = 60.0
"""Seconds in which the server must answer."""


def free_port():
    """A port that is free, and so is the one that SeaweedFS derives from it for gRPC."""
    while True:
        with socket.socket() as first, socket.socket() as second:
            first.bind(("127.0.0.1", 0))
            port = first.getsockname()[1]
            if port > 55_000:
                continue
            try:
                second.bind(("127.0.0.1", port + 10_000))
            except OSError:
                continue
            return port


@pytest.fixture(scope="module")
def seaweedfs(tmp_path_factory):
    """The environment of a process that may use the server."""
    folder = tmp_path_factory.mktemp("seaweedfs")
    ports = {name: free_port() for name in ("s3", "master", "volume", "filer")}
    with pytest.MonkeyPatch.context() as patch:
        access = give_access(patch, f"http://127.0.0.1:{ports['s3']}")
        key = {
            "accessKey": access["AWS_ACCESS_KEY_ID"],
            "secretKey": access["AWS_SECRET_ACCESS_KEY"],
        }
        identity = {"name": "test", "credentials": [key], "actions": ["Admin", "Read", "Write"]}
        (folder / "s3.json").write_text(json.dumps({"identities": [identity]}))
        command = ["weed", "server", "-ip=127.0.0.1", "-ip.bind=127.0.0.1", f"-dir={folder}"]
        command += ["-filer", "-s3", f"-s3.config={folder / 's3.json'}", "-volume.max=200"]
        command += ["-master.volumeSizeLimitMB=64", "-volume.preStopSeconds=0"]
        command += [f"-{name}.port={port}" for name, port in ports.items()]
        with (folder / "log").open("wb") as log:
            server = subprocess.Popen(command, stdout=log, stderr=subprocess.STDOUT, cwd=folder)
        s3fs.S3FileSystem.clear_instance_cache()
        try:
            wait_for(server)
            yield access
        finally:
            server.send_signal(signal.SIGTERM)
            server.wait()
            s3fs.S3FileSystem.clear_instance_cache()


def wait_for(server):
    """Until a bucket can be written to."""
    end = time.monotonic() + PATIENCE
    while True:
        assert server.poll() is None, "the server ended"
        try:
            open_backend(f"{new_bucket()}/probe").put("name", b"data")
        except (OSError, BotoCoreError):
            assert time.monotonic() < end, "the server does not answer"
            time.sleep(0.2)
        else:
            return


@pytest.fixture(scope="module")
def weed_bucket(seaweedfs):
    return new_bucket()


class TestSeaweedFS(SharedBackendTests):
    @pytest.fixture
    def backend(self, weed_bucket):
        backend = open_backend(f"{weed_bucket}/{uuid4().hex}/{ODD_FOLDER}")
        assert isinstance(backend, S3Backend)
        return backend


def test_racing_writers_of_which_some_die_leave_contiguous_whole_versions(weed_bucket):
    url = f"{weed_bucket}/{uuid4().hex}"
    deaths = [(6, None), (6, None), (6, None), (3, "before the manifest"), (4, "between two files")]
    race(url, deaths)
    root = open_root(url)
    assert root.versions() == list(range(1, 26))
    for version in root.versions():
        manifest = root.manifest(version)
        assert [problem for _, problem in root.damaged(manifest)] == []
        assert root.read(manifest, "first")[:-6] == root.read(manifest, "second")[:-7]


def test_a_refit_from_bucket_to_bucket_on_worker_processes(weed_bucket, capsys):
    store, snapshots = f"{weed_bucket}/{uuid4().hex}", f"{weed_bucket}/{uuid4().hex}"
    assert run(["simulate", store, "--design", "demo", "--seed", "2"]) == 0
    here = refit(store, snapshots, FitOptions(), ClusterOptions(threads=1), silent)
    assert run(["fit", store, "--snapshots", snapshots, "--workers", "2", "--threads", "1"]) == 0
    assert run(["snapshots", "verify", snapshots]) == 0
    there = mtlirt.load(snapshots, 2)
    assert abs(there.items["slope"] - here.fitted.items["slope"]).max() <= 1e-8
    assert "test-secret" not in capsys.readouterr().out
