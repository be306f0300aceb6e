"""Several processes at one root: races, writers that die, readers that live long."""

import multiprocessing
import os
import signal
from concurrent.futures import ProcessPoolExecutor
from uuid import uuid4

import pytest

from mtlirt.storage.errors import StorageError
from mtlirt.storage.root import open_root
from tests.storage import writers
from tests.storage.faults import faulty_proxy

SPAWN = multiprocessing.get_context("spawn")


@pytest.fixture(params=["local", "s3"])
def url(request, tmp_path):
    if request.param == "local":
        return str(tmp_path / "root")
    return f"{request.getfixturevalue('shared_bucket')}/{uuid4().hex}/root"


def start(function, *arguments):
    process = SPAWN.Process(target=function, args=arguments)
    process.start()
    return process


def race(url, deaths):
    """Let writers race: how many versions each writes, and how it then dies, if it does."""
    processes = [
        start(writers.write_and_die, url, writer, times, death)
        for writer, (times, death) in enumerate(deaths)
    ]
    for process in processes:
        process.join()
    assert [process.exitcode for process in processes] == [0, 0, 0, -signal.SIGKILL, writers.DIED]


def test_racing_writers_of_which_some_die_leave_contiguous_whole_versions(url):
    deaths = [(8, None), (8, None), (8, None), (3, "before the manifest"), (5, "between two files")]
    race(url, deaths)

    root = open_root(url)
    assert root.versions() == list(range(1, 33))
    manifests = [root.manifest(version) for version in root.versions()]
    read = {(root.read(each, "first"), root.read(each, "second")) for each in manifests}
    assert read == {
        (f"{writer} {number} first".encode(), f"{writer} {number} second".encode())
        for writer, (times, _) in enumerate(deaths)
        for number in range(times)
    }
    orphans = set(root.names("data")) - {str(manifest.run_id) for manifest in manifests}
    assert len(orphans) == 2


def test_a_local_writer_killed_while_it_commits_leaves_no_version(tmp_path):
    url = str(tmp_path / "root")
    process = start(writers.die_while_committing_locally, url)
    process.join()
    assert process.exitcode == -signal.SIGKILL
    assert len(open_root(url).names("manifests")) == 1
    assert open_root(url).versions() == []
    assert writers.commit_at(url, b"of the living") == 1


@pytest.mark.parametrize("arrives", [False, True])
def test_an_s3_writer_killed_while_it_commits_leaves_none_or_all(
    s3_endpoint, bucket, monkeypatch, arrives
):
    def kill(exchange):
        os.kill(process.pid, signal.SIGKILL)
        process.join()
        if arrives:
            exchange.forward()
        exchange.drop()

    with faulty_proxy(s3_endpoint) as proxy:
        proxy.fail(kill, "PUT", "manifests/")
        with monkeypatch.context() as patch:
            patch.setenv("AWS_ENDPOINT_URL", proxy.url)
            process = start(writers.commit_at, bucket, b"of the dead")
        process.join()
    assert process.exitcode == -signal.SIGKILL
    root = open_root(bucket)
    assert root.versions() == [1] * arrives
    assert writers.commit_at(bucket, b"of the living") == 1 + arrives
    assert [list(root.damaged(root.manifest(version))) for version in root.versions()] == [
        [] for _ in range(1 + arrives)
    ]


def test_a_long_lived_reader_sees_what_another_process_writes(url):
    reader = open_root(url)
    first = writers.commit(reader, b"first")
    assert (reader.versions(), reader.read(first, "table")) == ([1], b"first")
    with ProcessPoolExecutor(1, SPAWN) as other:
        other.submit(writers.commit_at, url, b"second").result()
        assert reader.versions() == [1, 2]
        assert reader.read(reader.manifest(), "table") == b"second"

        other.submit(writers.overwrite, url, 1, b"fir5t").result()
        with pytest.raises(StorageError, match=r"table .*was altered"):
            reader.read(first, "table")
        other.submit(writers.overwrite, url, 1, b"first and more").result()
        with pytest.raises(StorageError, match=r"table .*has 14 bytes, 5 were written"):
            reader.read(first, "table")
        assert [problem for _, problem in reader.damaged(first)] == ["has 14 bytes, 5 were written"]
        other.submit(writers.overwrite, url, 1, b"first").result()
        assert list(reader.damaged(first)) == []


def test_a_forked_process_reads_and_writes_too(url):
    root = open_root(url)
    writers.commit(root, b"of the parent")
    process = multiprocessing.get_context("fork").Process(
        target=writers.commit, args=(root, b"of the child")
    )
    process.start()
    process.join()
    assert process.exitcode == 0
    assert root.read(root.manifest(2), "table") == b"of the child"
