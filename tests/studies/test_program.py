"""The program jobs/simulation_study.py, and the study at full size."""

import importlib.util
from pathlib import Path

import numpy as np
import pytest

from mtlirt.storage.tables import from_parquet
from mtlirt.studies.methods import METHODS
from mtlirt.studies.options import StudyOptions
from mtlirt.studies.study import run_study

ANGLES = (0.0, 0.2, 0.3, 0.5)
PUBLISHED = {
    "accuracy": [(0.248, 0.076), (0.249, 0.077), (0.250, 0.080), (0.255, 0.090)],
    "local": [(0.277, 0.066), (0.278, 0.070), (0.279, 0.073), (0.280, 0.080)],
    "global": [(0.065, 0.065), (0.124, 0.068), (0.168, 0.073), (0.263, 0.084)],
    "joint": [(0.065, 0.065), (0.124, 0.069), (0.163, 0.072), (0.201, 0.081)],
    "marginal": [(0.068, 0.063), (0.115, 0.066), (0.141, 0.069), (0.176, 0.076)],
}
"""Mean sine error of theta_t and of theta_G by h, from 5 replications of other programs."""


@pytest.fixture(scope="module")
def program():
    path = Path(__file__).parents[2] / "jobs" / "simulation_study.py"
    spec = importlib.util.spec_from_file_location("simulation_study", path)
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    return module


def test_a_small_study(program, tmp_path, capsys):
    methods = [name for name in METHODS if name != "joint"]  # its cross-validation takes a minute
    out = str(tmp_path / "study")
    arguments = ["--out", out, "--rows", "paper-0.20,missing-20", "--replications", "2", "--small"]
    assert program.run([*arguments, "--methods", ",".join(methods)]) == 0
    printed = capsys.readouterr()
    assert printed.out.splitlines()[2] == f"{out}/table.md"
    assert printed.err.splitlines()[-1] == "4/4 replications missing-20-00001.parquet"
    table = (tmp_path / "study" / "table.md").read_text()
    assert table.endswith("## Failures\n\nNone.\n")
    assert f"| row | {' | '.join(methods)} |" in table
    results = from_parquet((tmp_path / "study" / "summary.parquet").read_bytes()).to_pandas()
    sines = results[(results["metric"] == "sine") & (results["target"] == "domains")]
    assert len(sines) == 2 * len(methods)
    assert (sines["mean"] < 0.6).all()
    assert (sines["replications"] == 2).all()


@pytest.mark.parametrize(
    ("arguments", "status", "told"),
    [
        (["--rows", "none"], 2, "row 'none': there is none"),
        (["--replications", "some"], 2, "Invalid value for '--replications'"),
        (["--workers", "0"], 2, "workers 0"),
        (["--scheduler", "tcp://127.0.0.1:1"], 1, "cannot reach a scheduler"),
    ],
)
def test_errors_are_one_line(program, tmp_path, capsys, arguments, status, told):
    assert program.run(["--out", str(tmp_path / "study"), *arguments]) == status
    (line,) = capsys.readouterr().err.splitlines()
    assert line.startswith("simulation_study: error: ")
    assert told in line
    assert not (tmp_path / "study").exists()


def test_help_names_the_options(program, capsys):
    assert program.run(["--help"]) == 0
    printed = capsys.readouterr().out
    for name in ("--out", "--rows", "--methods", "--workers", "--scheduler", "--small"):
        assert name in printed


@pytest.mark.slow
@pytest.mark.parametrize("method", PUBLISHED)
def test_the_published_errors_are_reached(method, tmp_path):
    """Within .01, or 3 Monte Carlo errors of the difference where these are more."""
    rows = tuple(f"paper-{h:.2f}" for h in ANGLES)
    run_study(str(tmp_path), StudyOptions(rows, (method,), 20), None, lambda progress: None)
    summary = from_parquet((tmp_path / "summary.parquet").read_bytes()).to_pandas()
    sines = summary[summary["metric"] == "sine"].set_index(["target", "h"])
    for k, target in enumerate(["domains", "general"]):
        found = sines.loc[target].loc[list(ANGLES)]
        off = np.abs(found["mean"] - [published[k] for published in PUBLISHED[method]])
        error = found["error"] * np.sqrt(1 + 20 / 5)
        assert (off < np.maximum(0.01, 3 * error)).all(), found["mean"]
