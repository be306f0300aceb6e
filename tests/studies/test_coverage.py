"""The study of intervals' coverage, at a small size."""

import runpy
from pathlib import Path

import numpy as np
import pandas as pd
import pytest

from mtlirt.errors import InputError
from mtlirt.studies.coverage import (
    CoverageOptions,
    coverage_study,
    coverage_table,
    one_coverage,
    own_seed,
)

PROGRAM = Path(__file__).parents[2] / "jobs" / "coverage_study.py"
QUANTITIES = ["trait", "overall", "slope", "intercept", "rank", "difference", "better"]


@pytest.fixture(scope="module")
def results():
    return coverage_study(CoverageOptions((60, 300), (15,), replications=12), None)


def test_intervals_hold_the_truth_about_as_often_as_they_say(results):
    share = results.groupby("quantity")["share"].mean()
    assert (
        share[["trait", "overall", "slope", "intercept", "difference"]].between(0.93, 0.975).all()
    )
    assert share["rank"] >= 0.94
    expected = results.query("quantity == 'better'")["expected"]
    assert expected.between(0.9, 0.99).all()
    assert share["better"] == pytest.approx(expected.mean(), abs=0.02)


def test_every_data_set_has_every_quantity_once(results):
    counts = results.groupby(["models", "items", "replication"])["quantity"].agg(list)
    assert len(counts) == 24
    assert all(names == QUANTITIES for names in counts)
    assert results["share"].between(0.0, 1.0).all()


def test_a_data_set_is_the_same_by_itself(results):
    alone = one_coverage(60, 15, 3, 0)
    among = results.query("models == 60 and replication == 3").reset_index(drop=True)
    pd.testing.assert_frame_equal(alone, among)
    assert len({own_seed(0, 60, 15, k) for k in range(100)}) == 100


def test_the_table_has_means_and_errors(results):
    lines = coverage_table(results).splitlines()
    assert lines[0].startswith("| models | items | trait | overall | slope | intercept | rank |")
    assert [line.split(" | ")[:2] for line in lines[2:]] == [["| 60", "15"], ["| 300", "15"]]
    trait = results.query("models == 60 and quantity == 'trait'")["share"]
    assert lines[2].split(" | ")[2] == f"{trait.mean():.3f} ({trait.sem():.4f})"


@pytest.mark.parametrize(
    ("options", "told"),
    [
        ({"models": (50, 50)}, r"models \(50, 50\): name each once"),
        ({"items": ()}, r"items \(\): expected numbers from 2 up"),
        ({"items": (1,)}, r"items \(1,\): expected numbers from 2 up"),
    ],
)
def test_what_cannot_be_studied_is_refused(options, told):
    with pytest.raises(InputError, match=told):
        CoverageOptions(**options)


def test_it_runs_as_a_program(tmp_path, capsys):
    run = runpy.run_path(str(PROGRAM))["run"]
    arguments = ["--out", str(tmp_path / "out"), "--models", "30", "--items", "8"]
    assert run([*arguments, "--replications", "2"]) == 0
    assert (tmp_path / "out" / "table.md").read_text() == capsys.readouterr().out
    stored = pd.read_parquet(tmp_path / "out" / "results.parquet")
    assert np.isfinite(stored.query("quantity == 'trait'")["share"]).all()
    assert run([*arguments, "--replications", "2"]) == 2
    assert "exists already" in capsys.readouterr().err
    assert run(["--out", str(tmp_path / "other"), "--models", "30,x"]) == 2
    assert capsys.readouterr().err.endswith("models '30,x': expected whole numbers, by commas\n")
