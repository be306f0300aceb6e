"""``mtlirt distill`` and ``mtlirt reconstruct``."""

import json

import pandas as pd
import pytest

import mtlirt
from mtlirt.cli.app import run
from mtlirt.simulate.designs import Design
from mtlirt.simulate.generate import simulate
from mtlirt.simulate.laws import FactorTraits, intercept_items

DESIGN = Design("two", (("a", 40), ("b", 30)), 90, intercept_items, FactorTraits(1, 0.2))
QUICK = ["--folds", "2", "--test-share", "0.2", "--threads", "1"]


@pytest.fixture(scope="module")
def folder(tmp_path_factory):
    """A folder with a store and a benchmark distilled from it."""
    place = tmp_path_factory.mktemp("distilled")
    simulate(DESIGN, seed=1).write(place / "store")
    store, out = str(place / "store"), str(place / "sparse")
    assert run(["distill", store, "--items", "8,16", "--rmse", "0.1", "--out", out, *QUICK]) == 0
    return place


def test_what_it_prints(folder, capsys):
    again = str(folder / "again")
    arguments = [
        "distill",
        str(folder / "store"),
        "--items",
        "8,16",
        "--rmse",
        "50",
        "--out",
        again,
    ]
    assert run([*arguments, *QUICK]) == 0
    shown, told = capsys.readouterr()
    lines = shown.splitlines()
    assert lines[0] == "errors of cross-validation, in points"
    assert [line.split()[:2] for line in lines[2:4]] == [["greedy", "8"], ["greedy", "16"]]
    assert lines[5] == "on 18 test models, in points"
    heads = "target items models rmse bias spearman coverage width detectable"
    assert lines[6].split() == heads.split()
    assert [line.split()[0] for line in lines[7:10]] == ["a", "b", "grand_mean"]
    assert lines[9].split()[1:3] == ["8", "18"]
    assert lines[-1] == f"wrote version 1 of {again}"
    assert told.splitlines()[0] == "fold 1 of 2"


def test_json(folder, capsys):
    out = str(folder / "json")
    arguments = ["distill", str(folder / "store"), "--items", "8", "--out", out, *QUICK, "--json"]
    assert run(arguments) == 0
    found = json.loads(capsys.readouterr().out)
    stored = mtlirt.load_distilled(out)
    assert found["items"] == len(found["chosen"]) == len(stored.chosen) == 8
    assert [row["target"] for row in found["test"]] == ["a", "b", "grand_mean"]
    assert found["test"][0]["rmse"] == pytest.approx(stored.test["rmse"].iloc[0])
    assert stored.info["options"]["counts"] == [8]


def test_reconstruct(folder, capsys):
    out = folder / "scores.csv"
    arguments = ["reconstruct", str(folder / "store"), "--distilled", f"{folder}/sparse@1"]
    assert run([*arguments, "--out", str(out), "--top", "2"]) == 0
    lines = capsys.readouterr().out.splitlines()
    assert lines[0] == "grand_mean in points, with 95% intervals"
    assert lines[1].split() == ["model_id", "score", "lower", "upper", "answered"]
    assert lines[4].startswith("90 models (0 without data) by 16 items of version 1 of ")
    table = pd.read_csv(out, index_col=["model_id", "target"])
    expected = mtlirt.reconstruct(
        mtlirt.load_distilled(folder / "sparse"), mtlirt.open_responses(folder / "store")
    )
    pd.testing.assert_frame_equal(table, expected, check_dtype=False)
    best = table.xs("grand_mean", level="target").sort_values("score").index[-1]
    assert lines[2].split()[0] == best
    assert run([*arguments, "--out", str(out)]) == 2
    assert "exists" in capsys.readouterr().err
    assert run([*arguments, "--out", str(folder / "s.parquet"), "--level", "0.5", "--json"]) == 0
    found = json.loads(capsys.readouterr().out)
    assert (found["models"], found["items"], found["level"]) == (90, 16, 0.5)
    narrow = pd.read_parquet(folder / "s.parquet").set_index(["model_id", "target"])
    assert ((narrow["upper"] - narrow["lower"]) < (table["upper"] - table["lower"])).mean() > 0.95


@pytest.mark.parametrize(
    ("options", "words"),
    [
        (["--items", "ten"], "items 'ten'"),
        (["--items", "0"], "items (0,)"),
        (["--items", "8", "--selection", "best"], "selection 'best'"),
        (["--items", "8", "--reconstruction", "best"], "reconstruction 'best'"),
        (["--items", "8", "--test-share", "2"], "share 2.0"),
        (["--items", "8", "--split", "time"], "needs a column"),
        (["--items", "8", "--group-column", "base"], "column 'base'"),
        (["--items", "800"], "800 items asked for"),
    ],
)
def test_bad_use_is_one_line_and_writes_nothing(folder, capsys, options, words):
    out = folder / "bad"
    store = str(folder / "store")
    assert run(["distill", store, "--out", str(out), "--threads", "1", *options]) == 2
    shown, told = capsys.readouterr()
    assert shown == ""
    assert told.splitlines()[-1].startswith("mtlirt: error: ")
    assert words in told.splitlines()[-1]
    assert not out.exists()


def test_roots_of_other_kinds_are_refused(folder, capsys):
    store = str(folder / "store")
    assert run(["distill", store, "--items", "8", "--out", store]) == 2
    assert "responses" in capsys.readouterr().err
    scores = str(folder / "x.csv")
    assert run(["reconstruct", store, "--distilled", store, "--out", scores]) == 2
    assert "distilled" in capsys.readouterr().err
    assert not (folder / "x.csv").exists()


def test_a_job_file(folder, tmp_path, capsys):
    job = tmp_path / "job.toml"
    job.write_text(
        f"""
        kind = "distill"
        [responses]
        url = "{folder}/store"
        [distill]
        items = [8]
        test_share = 0.2
        folds = 2
        [cluster]
        threads = 1
        [distilled]
        url = "{tmp_path}/sparse"
        """
    )
    assert run(["run", str(job), "--json"]) == 0
    found = json.loads(capsys.readouterr().out)
    assert (found["version"], found["items"]) == (1, 8)
    assert len(mtlirt.load_distilled(tmp_path / "sparse").chosen) == 8
    assert run(["run", str(job), "--resume"]) == 2
    assert "--resume" in capsys.readouterr().err
