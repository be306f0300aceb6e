"""The study of sparse benchmarks, small."""

import importlib.util
import re
from pathlib import Path

import numpy as np
import pandas as pd
import pytest

from mtlirt.errors import InputError
from mtlirt.simulate.designs import Design
from mtlirt.simulate.generate import simulate
from mtlirt.simulate.laws import FactorTraits, intercept_items
from mtlirt.studies.sparse import (
    GREEDY,
    OTHERS,
    SINGLE,
    SparseOptions,
    sparse_study,
    sparse_table,
    with_floors,
)

PROGRAM = Path(__file__).parents[2] / "jobs" / "sparse_study.py"
DESIGN = Design("two", (("a", 60), ("b", 40)), 100, intercept_items, FactorTraits(1, 0.2))


@pytest.fixture(scope="module")
def responses():
    return simulate(DESIGN, seed=2).responses


def program():
    spec = importlib.util.spec_from_file_location("sparse_study", PROGRAM)
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    return module


@pytest.fixture(scope="module")
def results(responses):
    options = SparseOptions((12,), share=0.25, floors={"a": 0.1})
    return sparse_study(responses, options, None, 1, lambda _: None)


def test_every_method_has_a_row_a_target(results):
    plain = results[results["model"] == "2PL"]
    ways = plain.groupby(["selection", "reconstruction"], sort=False).size()
    expected = [("greedy", name) for name in GREEDY] + [("greedy", SINGLE)]
    expected += [(way, name) for way, names in OTHERS.items() for name in names]
    assert list(ways.index) == expected
    assert (ways == 3).all()
    floored = results[results["model"] == "2PL, known floors"]
    assert list(floored["reconstruction"].unique()) == list(GREEDY)


def test_all_have_the_same_budget(results):
    assert (results[results["target"] == "grand_mean"]["chosen"] == 12).all()
    chosen = results[results["model"] == "2PL"].groupby(["selection", "target"])["chosen"]
    counts = chosen.agg(["min", "max"]).unstack()
    assert (counts.nunique() == 1).all()
    assert (counts["min"] == counts["max"]).all().all()
    assert (results["models"] == 25).all()


def test_traits_tell_more_than_means(results):
    means = results.groupby(["selection", "reconstruction"])["rmse"].mean()
    assert means["greedy", "spline-ridge"] < 0.8 * means["random", "mean"]
    assert means["greedy", "spline-ridge"] < means["random", "spline-ridge"]


def test_the_table(results):
    table = sparse_table(results, ["a", "b", "grand_mean"]).splitlines()
    assert table[0] == (
        "| items | selection | reconstruction | a | b | grand_mean | mean | Spearman |"
    )
    assert len(table) == 2 + len(results) // 3
    first = results[results["reconstruction"] == "spline-ridge"].iloc[:3]
    a, b, grand = first["rmse"]
    assert table[2].startswith(
        f"| 12 | greedy | spline-ridge | {a:.2f} | {b:.2f} | {grand:.2f} | {(a + b) / 2:.2f} |"
    )


def test_floors_are_those_of_domains(responses):
    floored = with_floors(responses, {"b": 0.25})
    guessing = floored.items["guessing"].groupby("domain").unique()
    assert guessing["a"].tolist() == [0.0]
    assert guessing["b"].tolist() == [0.25]
    with pytest.raises(InputError, match="floor of domain 'c'"):
        with_floors(responses, {"c": 0.25})


@pytest.mark.slow
def test_the_program(tmp_path, monkeypatch, capsys):
    monkeypatch.setattr("mtlirt.studies.sparse.OTHERS", {"random": OTHERS["random"]})
    simulate(DESIGN, seed=2).write(tmp_path / "store")
    arguments = [
        str(tmp_path / "store"),
        "--items",
        "12",
        "--test-share",
        ".25",
        "--threads",
        "1",
        "--folds",
        "2",
    ]
    assert program().run([*arguments, "--out", str(tmp_path / "out")]) == 0
    shown = capsys.readouterr().out
    assert (tmp_path / "out" / "table.md").read_text() in shown
    assert "| a |" in shown
    intervals = pd.read_parquet(tmp_path / "out" / "intervals.parquet")
    assert set(intervals["by"]) == {"score", "strength"}
    assert intervals["coverage"].between(0.5, 1.0).all()
    results = pd.read_parquet(tmp_path / "out" / "results.parquet")
    assert np.isfinite(results["rmse"]).all()
    picture = (tmp_path / "out" / "error-by-items.svg").read_bytes()
    assert picture.startswith(b"<?xml")


@pytest.mark.parametrize(
    ("option", "words"),
    [
        (["--items", "x"], "items 'x'"),
        (["--items", "12", "--floors", "a"], "floors 'a'"),
        (["--items", "12", "--floors", "z=.1"], "floor of domain 'z'"),
        (["--items", "0"], r"items \(0,\)"),
    ],
)
def test_bad_options_leave_nothing(tmp_path, capsys, option, words):
    simulate(DESIGN, seed=2).write(tmp_path / "store")
    assert program().run([str(tmp_path / "store"), "--out", str(tmp_path / "out"), *option]) == 2
    told = capsys.readouterr().err.splitlines()[-1]
    assert re.search(words, told)
    assert not (tmp_path / "out").exists()
