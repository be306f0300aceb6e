"""The scaling study as a whole, its resumption, and what it refuses."""

import importlib.util
from contextlib import contextmanager
from dataclasses import replace
from pathlib import Path

import numpy as np
import pytest

from mtlirt.errors import InputError
from mtlirt.storage.errors import StorageError
from mtlirt.storage.tables import from_parquet
from mtlirt.studies import scaling, scaling_measure
from mtlirt.studies.floor import READS, floor_seconds
from mtlirt.studies.scaling import run_scaling
from mtlirt.studies.scaling_options import ScalingOptions, powers_of_two
from mtlirt.studies.scaling_runs import BASE, GROUPS, MANY_ITEMS, SMALL, Place, Run, catalogue
from mtlirt.studies.study import Progress

OPTIONS = ScalingOptions(workers=(1,), threads=(1, 2), rounds=2, turns=2, small=True)
FILES = [
    "measurements.parquet", "costs.parquet", "table.md", "scaling.svg", "costs.svg", "model.svg"
]  # fmt: skip


@pytest.fixture(scope="module")
def program():
    path = Path(__file__).parents[2] / "jobs" / "scaling_study.py"
    spec = importlib.util.spec_from_file_location("scaling_study", path)
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    return module


@pytest.fixture
def in_threads(threaded_cluster, monkeypatch):
    """Clusters of worker processes are a cluster in this process; what they were asked for."""
    asked = []

    @contextmanager
    def opened(options):
        asked.append((options.workers, options.threads))
        yield threaded_cluster if options.workers else None

    monkeypatch.setattr(scaling, "open_client", opened)
    return asked


@pytest.fixture
def quick(in_threads, monkeypatch):
    """Fits are not run: their seconds depend on size and place alone; figures are empty."""
    fits = []

    def spent(responses, rounds, threads, client):
        fits.append(rounds)
        models, items = responses.shape
        cells = models * items * 1e-6
        return 0.3 + rounds * cells, 0.1 + rounds * cells / threads, 0.1

    names = [name for name in FILES if name.endswith(".svg")]
    monkeypatch.setattr(scaling_measure, "timed_fit", spent)
    monkeypatch.setattr(scaling, "draw_scaling", lambda *args: dict.fromkeys(names, b"<svg>"))
    return fits


def run(folder, options=OPTIONS):
    told = []
    assert run_scaling(str(folder), options, told.append) == FILES
    return told


def test_a_small_study_runs_from_fits_to_tables(program, tmp_path, capsys, in_threads):
    out = str(tmp_path / "study")
    arguments = ["--out", out, "--small", "--workers", "1", "--threads", "1,2", "--rounds", "2"]
    assert program.run([*arguments, "--turns", "1"]) == 0
    printed = capsys.readouterr()
    assert printed.out.splitlines() == [f"{out}/{name}" for name in FILES]
    runs = OPTIONS.runs
    assert printed.err.splitlines()[0] == f"0/{len(runs)} runs"
    assert printed.err.splitlines()[-1].startswith(f"{len(runs)}/{len(runs)} runs 60x160x6-")
    assert in_threads == [(None, None), (1, 1)]
    measured = from_parquet((tmp_path / "study" / FILES[0]).read_bytes()).to_pandas()
    assert list(measured["run"]) == [run.name for run in runs]
    assert (measured["rounds"] == 2).all()
    parts = measured["domain_seconds"] + measured["shared_seconds"]
    assert (parts < measured["seconds"]).all()
    assert (measured[["domain_seconds", "shared_seconds", "floor_seconds"]] > 0).all(axis=None)
    table = (tmp_path / "study" / "table.md").read_text()
    assert table.count("\n## ") == len(GROUPS) + 4
    assert " nan" not in table.replace(" nanosec", "")


def test_a_rerun_measures_only_what_is_not_there(tmp_path, quick):
    runs = OPTIONS.runs
    assert run(tmp_path)[-1] == Progress(len(runs), len(runs), runs[2].name)
    assert quick == [1, 2, 2] * len(runs)  # the first does not count
    before = (tmp_path / "table.md").read_bytes()
    (tmp_path / "runs" / f"{runs[0].name}.parquet").unlink()
    quick.clear()
    assert [told.done for told in run(tmp_path)] == [len(runs) - 1, len(runs)]
    assert quick == [1, 2, 2]
    quick.clear()
    assert run(tmp_path) == [Progress(len(runs), len(runs), "")]
    assert quick == []
    assert len((tmp_path / "table.md").read_bytes()) == pytest.approx(len(before), rel=0.1)


def test_a_folder_of_another_study_is_refused(tmp_path, quick):
    run(tmp_path)
    other = ScalingOptions(workers=(1,), threads=(1,), rounds=2, turns=2, small=True)
    with pytest.raises(InputError, match="holds a study of threads 1, 2, not 1"):
        run(tmp_path, other)
    (tmp_path / "runs" / f"{OPTIONS.runs[0].name}.parquet").write_bytes(b"PAR1")
    with pytest.raises(StorageError, match="is damaged"):
        run(tmp_path)


@pytest.mark.parametrize(
    ("arguments", "told"),
    [
        (["--workers", "0"], "workers 0: expected different numbers from 1 up"),
        (["--threads", "1,1"], "threads 1, 1: expected different numbers"),
        (["--threads", "two"], "threads 'two': expected whole numbers, by commas"),
        (["--rounds", "0"], "rounds 0: expected 1 or more"),
        (["--turns", "0"], "turns 0: expected 1 or more"),
        (["--seed", "-1"], "seed -1: expected 0 or more"),
    ],
)
def test_errors_are_one_line(program, tmp_path, capsys, arguments, told):
    assert program.run(["--out", str(tmp_path / "study"), *arguments]) == 2
    (line,) = capsys.readouterr().err.splitlines()
    assert line.startswith("scaling_study: error: ")
    assert told in line
    assert not (tmp_path / "study").exists()


def test_help_names_the_options(program, capsys):
    assert program.run(["--help"]) == 0
    printed = capsys.readouterr().out
    for name in ("--out", "--workers", "--threads", "--rounds", "--turns", "--seed", "--small"):
        assert name in printed


@pytest.mark.parametrize(
    ("cores", "counts"), [(1, (1,)), (2, (1, 2)), (6, (1, 2, 4)), (8, (1, 2, 4, 8))]
)
def test_places_are_those_the_machine_has(monkeypatch, cores, counts):
    monkeypatch.setattr("os.cpu_count", lambda: cores)
    assert powers_of_two() == counts


def test_each_group_varies_one_thing():
    groups = catalogue((1, 2), (1, 2, 4), small=False)
    assert list(groups) == list(GROUPS)
    long = replace(BASE, items=BASE.items * MANY_ITEMS)
    assert {run.size for run in groups["strong, workers"]} == {long}
    assert [run.place for run in groups["strong, workers"]] == [Place(1, 1), Place(2, 1)]
    for run in groups["weak, threads"]:
        assert run.size.domains == BASE.domains * run.place.threads
        assert run.size.cells == long.cells * run.place.lanes
    for name in ("models", "items", "domains", "missing"):
        sizes = [run.size for run in groups[name]]
        assert BASE in sizes
        assert len({getattr(size, name) for size in sizes}) == len(sizes) >= 5
        assert {run.place for run in groups[name]} == {Place(0, 4)}
        for other in {"models", "items", "domains", "missing"} - {name}:
            assert {getattr(size, other) for size in sizes} == {getattr(BASE, other)}


def test_runs_that_several_groups_share_are_run_once():
    names = [run.name for run in OPTIONS.runs]
    assert len(set(names)) == len(names) < sum(map(len, OPTIONS.groups.values()))
    assert Run(SMALL, Place(2, 1)).name == "60x10x6-missing0-workers2-threads1"
    assert [Place(0, 1).told, Place(2, 1).told] == ["1 thread", "2 workers of 1 thread"]


def test_the_floor_reads_every_block(monkeypatch):
    read = []
    monkeypatch.setattr(np, "max", lambda block: read.append(block.size))
    assert floor_seconds([np.zeros((2, 3), np.int8), np.zeros((4, 5), np.int8)], 1) > 0
    assert read == [6, 20] * READS


@pytest.mark.slow
def test_a_small_study_on_worker_processes(tmp_path):
    run(tmp_path, ScalingOptions(workers=(1, 2), threads=(1, 2), small=True))
