"""``mtlirt fit``."""

import io
import json
import sys

import numpy as np
import pandas as pd
import pytest

import mtlirt
from mtlirt.cli.app import run
from mtlirt.cli.stderr import fit_progress
from mtlirt.engine.rounds import RoundEvent
from mtlirt.storage.root import open_root

SHORT = ["--max-rounds", "3", "--threads", "1", "--rank", "1"]


def test_publishes_and_prints_the_board_and_how_it_went(store, tmp_path, capsys, monkeypatch):
    monkeypatch.chdir(tmp_path)
    monkeypatch.setenv("COLUMNS", "120")
    assert run(["fit", f"{store}@1", *SHORT, "--top", "11"]) == 0
    out, err = capsys.readouterr()
    lines = out.splitlines()
    heads = [
        "rank",
        "ranks",
        "model",
        "overall",
        "answered",
        "algebra",
        "law",
        "a long name of a domain",
    ]
    assert [head for head in heads if head not in lines[0]] == []
    rows = [line.split() for line in lines[1:12]]
    place = [row[2] for row in rows].index("m00")
    alike, other = rows[place : place + 2]
    assert [*alike[:2], *alike[3:]] == [*other[:2], *other[3:]]
    assert other[2] == "m01"
    assert "top 11 of 12 models" in lines
    assert "not converged: 3 rounds in " in out
    assert ", rank 1\n" in out
    assert " of 32 items are constant, 0 of 3 domains are weak and 0 flat, " in out
    assert "flat, 1 of 12 models have no data\n" in out
    assert lines[-1] == "wrote version 1 of ./snapshots"
    *rounds, warning = err.splitlines()
    assert [line.split(":")[0] for line in rounds] == ["round 1", "round 2", "round 3"]
    assert all("change" in line and "objective" in line for line in rounds)
    assert warning.startswith("mtlirt: warning: not converged after 3 rounds")
    assert len(mtlirt.load(tmp_path / "snapshots").models) == 12


def test_the_snapshot_knows_its_responses_and_options(store, tmp_path, capsys):
    url = str(tmp_path / "snapshots")
    assert run(["fit", store, *SHORT, "--no-priors", "--tolerance", ".5", "--snapshots", url]) == 0
    info = open_root(url).manifest().info
    manifest = open_root(store).manifest()
    assert info["inputs"] == {"responses": store, "version": 1, "run_id": str(manifest.run_id)}
    asked = {"priors": False, "tolerance": 0.5, "rank": 1, "estimator": "marginal"}
    assert {name: info["fit"][name] for name in asked} == asked


def test_equal_runs_give_equal_bytes(store, tmp_path, capsys):
    root = open_root(tmp_path / "snapshots")
    for _ in range(2):
        assert run(["fit", store, *SHORT, "--snapshots", root.url]) == 0
    first, second = (root.manifest(version).by_name for version in (1, 2))
    assert len(first) == 6
    assert {n: f.sha256 for n, f in first.items()} == {n: f.sha256 for n, f in second.items()}


def test_progress_on_a_terminal_is_cleared_at_the_end(monkeypatch):
    class Terminal(io.StringIO):
        def isatty(self):
            return True

    monkeypatch.setattr(sys, "stderr", Terminal())
    monkeypatch.setenv("TERM", "xterm")
    with fit_progress() as listener:
        listener(RoundEvent(7, -12345.678, 0.00321, 2, 0, 1.0, 1.0, False))
    shown = sys.stderr.getvalue()
    assert "round 7: change 3.2e-03, objective -12,345.68" in shown
    assert shown.endswith("\x1b[1A\x1b[2K")


def test_json_is_the_same_as_python(store, tmp_path, capsys):
    url = str(tmp_path / "snapshots")
    assert run(["fit", store, *SHORT, "--snapshots", url, "--json", "--top", "12"]) == 0
    shown = json.loads(capsys.readouterr().out)
    assert shown["snapshots"] == url
    assert shown["version"] == 1
    assert shown["store_version"] == 1
    assert shown["converged"] is False
    assert shown["models_without_data"] == 1
    board = mtlirt.leaderboard(mtlirt.load(url)).reset_index()
    found = pd.DataFrame(shown["leaderboard"])
    assert found["overall"].iloc[:-1].tolist() == board["overall"].iloc[:-1].tolist()
    assert found.columns.tolist() == board.columns.tolist()
    assert shown["leaderboard"][-1]["rank"] is None
    assert shown["leaderboard"][-1]["overall"] is None


def test_a_fit_that_converges_warns_of_nothing(store, tmp_path, capsys):
    options = ["--rank", "1", "--tolerance", ".3", "--snapshots", str(tmp_path / "s")]
    assert run(["fit", store, *options, "--max-rounds", "100"]) == 0
    out, err = capsys.readouterr()
    assert "\nconverged: " in out
    assert "warning" not in err


def test_a_joint_fit_names_the_models_it_leaves_out(store, tmp_path, capsys):
    url = str(tmp_path / "s")
    options = ["--estimator", "joint", "--penalty", ".1", "--complete-models", "--snapshots", url]
    assert run(["fit", store, *options]) == 0
    out, err = capsys.readouterr()
    assert "warning: 2 models lack a domain and are left out: m02, m03" in err
    assert "0 of 12 models have no data" in out
    assert "penalty 0.1 (given), 0 of 3 domains fused" in out
    assert mtlirt.load(url).info["models_left_out"] == 2
    told = "2 of 12 models lack a domain: left out of the fit, not ranked"
    for shown in (out, _printed(capsys, url), _printed(capsys, url, "--format", "markdown")):
        assert told in shown.splitlines()
        (line,) = [line for line in shown.splitlines() if "m02" in line]
        assert line.replace("|", " ").split()[:5] == ["-", "m02", "left", "out", "-"]
    board = mtlirt.leaderboard(mtlirt.load(url))
    assert board.index[board["rank"].isna()].tolist() == ["m02", "m03"]


def _printed(capsys, url, *options):
    assert run(["leaderboard", url, *options]) == 0
    return capsys.readouterr().out


def test_cross_validation_shows_its_progress_and_leaves_its_path(store, tmp_path, capsys):
    url = str(tmp_path / "s")
    options = ["--estimator", "joint", "--penalties", ".3,.1", "--folds", "2", "--complete-models"]
    assert run(["fit", store, *options, "--snapshots", url]) == 0
    told = [line for line in capsys.readouterr().err.splitlines() if line.startswith("fold ")]
    assert len(told) == 4
    path = mtlirt.load(url).path
    assert list(path.index) == [0.1, 0.3]
    losses = [float(line.split()[-1]) for line in told if "penalty 0.3" in line]
    assert np.mean(losses) == pytest.approx(path.loc[0.3, "loss"], abs=1e-5)


@pytest.mark.parametrize(
    ("options", "said"),
    [
        (["--rank", "x"], "'--rank': 'x' is neither 'auto' nor a number"),
        (["--rank", "0"], "rank 0 is neither"),
        (["--tolerance", "2"], "tolerance 2.0"),
        (["--max-rounds", "0"], "max_rounds 0"),
        (["--threads", "0"], "threads 0"),
        (["--memory-limit", "much"], "'--memory-limit': 'much' is no amount of memory"),
        (["--memory-limit", "1e400"], "'--memory-limit': '1e400' is no amount of memory"),
        (["--memory-limit", "-1GiB"], "memory_limit -1073741824 is not a whole number"),
        (["--estimator", "pooled"], "'--estimator'"),
        (["--penalty", "x"], "'--penalty': 'x' is neither 'cv' nor a number"),
        (["--estimator", "joint", "--penalty", "-1"], "penalty -1.0 is not a number from 0 up"),
        (["--penalties", "0.1,x"], "'--penalties': 'x' is not a number from 0 up"),
        (["--penalties", "0.1,0.1"], "a value occurs twice"),
        (["--folds", "1"], "folds 1 is not a whole number from 2 up"),
        (["--penalty", "0.1"], "estimator 'marginal' does not use it; leave it out"),
        (["--estimator", "joint"], "2 of 12 models lack one, such as 'm02' of domain 'law'"),
        (["--top", "0"], "'--top'"),
        (["--snapshots", "s@3"], "names version 3"),
    ],
)
def test_bad_use_is_one_line_and_2(store, tmp_path, capsys, monkeypatch, options, said):
    monkeypatch.chdir(tmp_path)
    assert run(["fit", store, *options]) == 2
    out, err = capsys.readouterr()
    assert out == ""
    assert said in err
    assert err.count("\n") == 1
    assert not list(tmp_path.iterdir())


def test_roots_of_the_other_kind(store, snapshots, tmp_path, capsys):
    assert run(["fit", store, "--snapshots", store]) == 2
    assert "holds responses, expected snapshot" in capsys.readouterr().err
    assert run(["fit", snapshots, "--snapshots", str(tmp_path)]) == 2
    assert "holds snapshot, expected responses" in capsys.readouterr().err
    assert run(["fit", str(tmp_path / "none")]) == 2
    assert "no version found" in capsys.readouterr().err


def test_a_damaged_store_is_1(store, tmp_path, capsys):
    root = open_root(tmp_path / "damaged")
    whole = open_root(store)
    manifest = whole.manifest()
    with root.draft("responses") as draft:
        for name in manifest.by_name:
            draft.write(name, whole.read(manifest, name))
        draft.commit(info=manifest.info)
    next((tmp_path / "damaged").glob("data/*/items.parquet")).write_bytes(b"")
    assert run(["fit", root.url, "--snapshots", str(tmp_path / "s")]) == 1
    assert "items.parquet" in capsys.readouterr().err
