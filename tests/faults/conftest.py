"""A small store, the fit of it that nothing disturbs, and a way to disturb others in mid-fit."""

import sys
import threading
from contextlib import contextmanager
from dataclasses import dataclass, field

import pandas as pd
import pytest

import mtlirt
from mtlirt.cli.app import run
from mtlirt.engine.events import ResumeEvent
from mtlirt.responses.store import write_responses
from mtlirt.simulate.generate import simulate
from mtlirt.storage.root import open_root
from tests.conftest import separate_cluster, start

CLOSE = 1e-8
TABLES = ("items", "domains", "models", "traits", "representation")
MIDWAY = 0.01
"""Seconds into a round, which takes some times that."""

OPTIONS = ["--tolerance", "1e-4"]


@pytest.fixture(scope="session", name="write_store")
def write_store_fixture():
    return write_store


def write_store(url):
    """Six domains, all of their responses split both ways, with missing cells."""
    responses = simulate("demo", seed=3, missing=0.1).responses
    write_responses(responses, url, history={}, chunks=(120, 110))


@pytest.fixture(scope="session")
def store(tmp_path_factory):
    url = str(tmp_path_factory.mktemp("faults") / "store")
    write_store(url)
    return url


@pytest.fixture(scope="session")
def undisturbed(store, tmp_path_factory):
    """The snapshot of the fit in this process."""
    snapshots = str(tmp_path_factory.mktemp("undisturbed") / "snapshots")
    assert run(["fit", store, "--snapshots", snapshots, "--threads", "1", *OPTIONS]) == 0
    return mtlirt.load(snapshots)


@pytest.fixture(scope="session", name="worker_of")
def worker_of_fixture():
    return worker_of


@contextmanager
def worker_of(scheduler, folder, *options, within=()):
    """A process ``dask worker`` of one thread, run by another command if one is given."""
    dask = [sys.executable, "-m", "dask", "worker", scheduler, "--nthreads", "1"]
    place = ["--no-dashboard", "--local-directory", str(folder)]
    process = start([*within, *dask, *place, *options], folder)
    try:
        yield process
    finally:
        process.kill()
        process.wait(30)


@pytest.fixture(scope="module", name="separate_cluster")
def separate_cluster_fixture():
    return separate_cluster


@dataclass
class Disturbed:
    """A run of ``mtlirt fit``.

    Attributes
    ----------
    snapshots
        Where it publishes.
    rounds
        The numbers of the rounds it did.
    resumed
        How many rounds an earlier run had done, where it went on with one.
    status, told
        Its exit status, and what it printed on standard error.
    """

    snapshots: str
    rounds: list[int] = field(default_factory=list)
    resumed: int | None = None
    status: int | None = None
    told: str = ""

    def assert_equals(self, fit):
        """It has published the same fit."""
        assert self.status == 0, self.told
        assert open_root(self.snapshots).versions() == [1]
        published = mtlirt.load(self.snapshots)
        for name in TABLES:
            pd.testing.assert_frame_equal(
                getattr(published, name), getattr(fit, name), check_exact=False, rtol=0, atol=CLOSE
            )
        assert published.info["rounds"] == fit.info["rounds"] == self.rounds[-1]

    def assert_failed(self, told):
        """It has failed in one line that tells so, and published nothing."""
        assert self.status == 1
        assert "Traceback" not in self.told
        (line,) = (line for line in self.told.splitlines() if line.startswith("mtlirt: "))
        assert line.startswith("mtlirt: error: ")
        assert told in line
        assert open_root(self.snapshots).versions() == []


@pytest.fixture
def disturbed_fit(store, tmp_path, monkeypatch, capfd):
    """Runs ``mtlirt fit`` on a scheduler, with actions in the middle of the rounds after some."""

    def fit(scheduler, *options, after=None, responses=store, snapshots=None):
        done = Disturbed(snapshots or str(tmp_path / "snapshots"))
        timers = []

        def listener(event):
            if isinstance(event, ResumeEvent):
                done.resumed = event.rounds
                return
            done.rounds.append(event.number)
            if act := (after or {}).get(event.number):
                timers.append(threading.Timer(MIDWAY, act()))
                timers[-1].start()

        @contextmanager
        def progress():
            yield listener

        monkeypatch.setattr("mtlirt.cli.fit.fit_progress", progress)
        arguments = ["fit", responses, "--snapshots", done.snapshots, "--scheduler", scheduler]
        capfd.readouterr()
        done.status = run([*arguments, *OPTIONS, *options])
        done.told = capfd.readouterr().err
        for timer in timers:
            timer.join()
        return done

    return fit
