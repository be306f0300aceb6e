"""The study of diagnostics, at a small size."""

import runpy
from pathlib import Path

import numpy as np
import pandas as pd
import pytest

from mtlirt.errors import InputError
from mtlirt.simulate.generate import simulate
from mtlirt.studies.diagnostics import (
    FOUND_BY,
    DiagnosticsOptions,
    diagnostics_study,
    diagnostics_table,
    one_data_set,
)
from mtlirt.studies.planted import FAULTS, plant

PROGRAM = Path(__file__).parents[2] / "jobs" / "diagnostics_study.py"


@pytest.fixture(scope="module")
def results():
    return diagnostics_study(DiagnosticsOptions((300,), (40,), replications=1), None)


def test_planted_faults_are_found(results):
    found = results.groupby("fault")["found"].mean()
    assert found[["flipped key", "repeated item", "cloned model"]].tolist() == [1.0, 1.0, 1.0]
    clean = results.query("fault == 'clean'")
    assert set(clean["diagnostic"]) == {"odd", *FOUND_BY.values()}
    assert clean["false"].sum() <= 2


def test_a_data_set_is_the_same_by_itself(results):
    alone = one_data_set(300, 40, 0.2, "flipped key", 0, 0)
    among = results.query("fault == 'flipped key'").reset_index(drop=True)
    pd.testing.assert_frame_equal(alone, among)


def test_the_table_has_a_line_for_each_diagnostic(results):
    lines = diagnostics_table(results).splitlines()
    assert lines[0].startswith("| models | items | diagnostic | fault | found |")
    assert len(lines) == 2 + 1 + len(FOUND_BY)


@pytest.mark.parametrize("fault", FAULTS)
def test_faults_change_what_they_say_and_nothing_else(fault):
    drawn = simulate("demo", models=60, seed=3, missing=0.1)
    planted = plant(drawn, fault, 1)
    axis = 0 if FAULTS[fault][0] == "items" else 1
    changed = {
        name: np.flatnonzero(
            (part.array != drawn.responses.domains[name].array).compute().any(axis=axis)
        )
        for name, part in planted.responses.domains.items()
    }
    if fault == "clean":
        assert not planted.faults
        assert all(len(lines) == 0 for lines in changed.values())
        return
    (ids,) = planted.faults
    first, *others = changed.values()
    assert len(first) == 1
    if FAULTS[fault][0] == "items":
        assert planted.responses.items.index[first[0]] in {ids[k : k + 2] for k in (0, 2)}
        assert all(len(lines) == 0 for lines in others)
    else:
        assert planted.responses.models.index[first[0]] in ids


@pytest.mark.parametrize(
    ("options", "told"),
    [
        ({"models": (50, 50)}, r"models \(50, 50\): name each once"),
        ({"items": (5,)}, r"items \(5,\): expected numbers from 10 up"),
    ],
)
def test_what_cannot_be_studied_is_refused(options, told):
    with pytest.raises(InputError, match=told):
        DiagnosticsOptions(**options)


def test_it_runs_as_a_program(tmp_path, capsys):
    run = runpy.run_path(str(PROGRAM))["run"]
    arguments = ["--out", str(tmp_path / "out"), "--models", "40", "--items", "10"]
    assert run([*arguments, "--replications", "1"]) == 0
    assert (tmp_path / "out" / "table.md").read_text() == capsys.readouterr().out
    assert len(pd.read_parquet(tmp_path / "out" / "results.parquet")) == 8 + len(FOUND_BY)
    assert run([*arguments, "--replications", "1"]) == 2
    assert "exists already" in capsys.readouterr().err
