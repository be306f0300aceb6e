"""``mtlirt run``, and where ``mtlirt fit`` works."""

import json
import os
import signal
import subprocess
import sys
import time
from contextlib import suppress

import pandas as pd
import psutil
import pytest

from mtlirt.cli.app import run
from mtlirt.snapshots.load import load

JOB = """
kind = "refit"
[responses]
url = "{store}"
[fit]
rank = 1
max_rounds = 3
[cluster]
{cluster}
[snapshots]
url = "{snapshots}"
"""


@pytest.fixture
def job(store, tmp_path):
    def write(cluster="threads = 1"):
        path = tmp_path / "job.toml"
        place = tmp_path / "snapshots"
        path.write_text(JOB.format(store=store, cluster=cluster, snapshots=place))
        return str(path), str(place)

    return write


def assert_same(url, other):
    one, two = load(url), load(other)
    for table in ("items", "traits"):
        pd.testing.assert_frame_equal(
            getattr(one, table), getattr(two, table), check_exact=False, rtol=0, atol=1e-8
        )


@pytest.mark.parametrize(
    "cluster", ["threads = 1", "workers = 2\nprocesses = false", "workers = 1\nthreads = 2"]
)
def test_a_job_publishes_what_fit_publishes(job, snapshots, cluster, capsys):
    path, place = job(cluster)
    assert run(["run", path]) == 0
    out = capsys.readouterr().out
    assert f"wrote version 1 of {place}" in out
    assert "m00" in out
    assert_same(place, f"{snapshots}@1")


def test_a_job_prints_json(job, store, capsys):
    path, place = job()
    assert run(["run", path, "--json", "--top", "2"]) == 0
    told = json.loads(capsys.readouterr().out)
    assert (told["snapshots"], told["version"], told["store_version"]) == (place, 1, 1)
    assert len(told["leaderboard"]) == 2


def test_a_bad_job_is_bad_use_and_publishes_nothing(job, tmp_path, capsys):
    path, _ = job("workers = 0")
    assert run(["run", path]) == 2
    assert "cluster: workers 0" in capsys.readouterr().err
    assert not (tmp_path / "snapshots").exists()


def test_fit_on_worker_processes(store, snapshots, tmp_path, capsys):
    arguments = ["fit", store, "--rank", "1", "--max-rounds", "3", "--workers", "2"]
    assert run([*arguments, "--snapshots", str(tmp_path / "s")]) == 0
    assert_same(tmp_path / "s", f"{snapshots}@1")


def test_fit_on_a_scheduler(store, snapshots, tmp_path, separate_scheduler):
    arguments = ["fit", store, "--rank", "1", "--max-rounds", "3"]
    there = ["--scheduler", separate_scheduler, "--snapshots", str(tmp_path / "s")]
    assert run([*arguments, *there]) == 0
    assert_same(tmp_path / "s", f"{snapshots}@1")


@pytest.mark.parametrize(
    ("options", "status", "told"),
    [
        (["--scheduler", "nonsense"], 2, "scheduler 'nonsense'"),
        (["--scheduler", "tcp://h:1", "--workers", "2"], 2, "leave workers 2 out"),
        (["--workers", "0"], 2, "workers 0 is not a whole number"),
        (["--scheduler", "tcp://127.0.0.1:1"], 1, "cannot reach a scheduler"),
    ],
)
def test_a_cluster_that_cannot_be_is_told(
    store, tmp_path, options, status, told, capsys, monkeypatch
):
    import dask

    with dask.config.set({"distributed.comm.timeouts.connect": "0.3s"}):
        assert run(["fit", store, "--snapshots", str(tmp_path / "s"), *options]) == status
    error = capsys.readouterr().err
    assert told in error
    assert error.count("mtlirt: error") == 1
    assert not (tmp_path / "s").exists()


def test_an_interrupt_ends_workers_and_all_in_good_order(store, tmp_path):
    heed = "import signal; signal.signal(signal.SIGINT, signal.default_int_handler)"
    main = f"{heed}; from mtlirt.cli.app import main; main()"  # the tests may run in background
    program = [sys.executable, "-c", main, "fit", store, "--workers", "2"]
    endless = ["--tolerance", "1e-300", "--max-rounds", "1000000"]
    with subprocess.Popen(
        [*program, *endless, "--snapshots", str(tmp_path / "s")],
        stderr=subprocess.PIPE,
        text=True,
        start_new_session=True,
    ) as process:
        lines = [""]
        while "round 2" not in lines[-1]:
            lines.append(process.stderr.readline())
            assert lines[-1], lines
        os.killpg(process.pid, signal.SIGINT)
        rest = process.stderr.read()
        assert process.wait(60) == 130
    assert "Traceback" not in rest
    assert [path.name for path in (tmp_path / "s").iterdir()] == ["checkpoints"]
    deadline = time.monotonic() + 20
    while left := processes_of(process.pid):
        assert time.monotonic() < deadline, left
        time.sleep(0.1)


def processes_of(group):
    """The processes of a group that still run."""
    found = []
    for process in psutil.process_iter(["cmdline", "status"]):
        with suppress(ProcessLookupError):
            if process.info["status"] != psutil.STATUS_ZOMBIE and os.getpgid(process.pid) == group:
                found.append(process.info["cmdline"])
    return found
