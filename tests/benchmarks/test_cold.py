"""A cold `mtlirt fit` of a stored L: a new process, from its start to the printed board."""

import os
import subprocess
import sys

import pytest


@pytest.mark.parametrize("compiled", [True, False], ids=["compiled", "first ever"])
def test_cold_fit(benchmark, drawn, stored, table, tmp_path, compiled):
    """With the kernels in numba's cache on disk, and without."""
    data = drawn("L")
    environment = dict(os.environ)
    if not compiled:
        environment["NUMBA_CACHE_DIR"] = str(tmp_path / "cache")
    code = "import sys; from mtlirt.cli.app import run; sys.exit(run(sys.argv[1:]))"
    arguments = ["fit", stored(), "--snapshots", str(tmp_path / "snapshots")]
    command = [sys.executable, "-c", code, *arguments, "--rank", str(data.rank)]

    def call():
        done = subprocess.run(command, env=environment, capture_output=True, text=True, check=False)
        assert done.returncode == 0, done.stderr
        return done.stdout

    told = benchmark.pedantic(call, rounds=3 if compiled else 1)
    best = benchmark.stats.stats.min
    (line,) = (line for line in told.splitlines() if "converged: " in line)
    table(
        "A cold `mtlirt fit` of a stored L, with publishing",
        kernels="compiled before" if compiled else "compiled now",
        seconds=f"{best:.2f}",
        the_fit_itself=line.split(",")[0],
        floor_seconds=f"{data.floor:.4f}",
        plain_reads=data.reads(best),
    )
