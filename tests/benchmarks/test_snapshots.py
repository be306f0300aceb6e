"""Publishing a fit and loading it again, and the same of the responses, each verified in full."""

from pathlib import Path

import pytest

from mtlirt.engine.fit import fit
from mtlirt.responses.store import open_responses, write_responses
from mtlirt.snapshots.load import load
from mtlirt.snapshots.publish import publish

TITLE = "Storing and reading on a local disk"


@pytest.fixture
def told(table):
    """Adds a row on what was done to a folder."""

    def add(data, what, done, seconds, folder):
        size = sum(path.stat().st_size for path in Path(folder).rglob("*") if path.is_file())
        table(
            TITLE,
            size=data.name,
            what=what,
            done=done,
            milliseconds=f"{1e3 * seconds:.1f}",
            stored=f"{size / 2**20:.2f} MiB",
            floor_ms=f"{1e3 * data.floor:.2f}",
            plain_reads=data.reads(seconds),
        )

    return add


@pytest.mark.parametrize("size", ["S", "M", "L"])
@pytest.mark.parametrize("done", ["written", "read"])
def test_snapshot(benchmark, drawn, told, tmp_path, size, done):
    data = drawn(size)
    fitted = fit(data.responses, rank=data.rank, max_rounds=2)
    folders = (str(tmp_path / str(k)) for k in range(100))
    if done == "written":
        setup, call = lambda: ((fitted, next(folders)), {}), publish
    else:
        publish(fitted, tmp_path / "0")
        setup, call = lambda: ((tmp_path / "0",), {}), load
    benchmark.pedantic(call, setup=setup, rounds=5, warmup_rounds=1)
    told(data, "snapshot", done, benchmark.stats.stats.min, tmp_path / "0")


@pytest.mark.parametrize("size", ["S", "M", "L"])
@pytest.mark.parametrize("done", ["written", "read"])
def test_responses(benchmark, drawn, told, tmp_path, size, done):
    data = drawn(size)
    folders = (str(tmp_path / str(k)) for k in range(100))
    if done == "written":

        def call(folder):
            write_responses(data.responses, folder, history={})

        def setup():
            return (next(folders),), {}

    else:
        write_responses(data.responses, tmp_path / "0", history={})

        def call(folder):
            for part in open_responses(folder).domains.values():
                part.array.compute(scheduler="threads", num_workers=2)

        def setup():
            return (tmp_path / "0",), {}

    benchmark.pedantic(call, setup=setup, rounds=3, warmup_rounds=1)
    told(data, "responses", done, benchmark.stats.stats.min, tmp_path / "0")
