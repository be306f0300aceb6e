"""``mtlirt leaderboard``."""

import io
import json

import pandas as pd
import pytest

import mtlirt
from mtlirt.cli.app import run


@pytest.fixture
def board(snapshots):
    return mtlirt.leaderboard(mtlirt.load(snapshots, 1))


def test_a_table_as_wide_as_the_terminal(snapshots, board, capsys, monkeypatch):
    monkeypatch.setenv("COLUMNS", "70")
    assert run(["leaderboard", f"{snapshots}@1"]) == 0
    lines = capsys.readouterr().out.splitlines()
    assert lines[0].split() == ["rank", "model", "overall", "answered", "algebra", "law"]
    assert [line.split()[1] for line in lines[1:13]] == list(board.index)
    assert max(map(len, lines[:13])) <= 70
    (taker,) = [line for line in lines if " m02 " in line]
    assert taker.endswith("*")
    assert lines[12].split() == ["-", "m03", "no", "data", "0/32", "-", "-"]
    assert lines[13].startswith("* borrowed: ")
    assert lines[14] == "left out for their width: 1 of 3 domains"
    monkeypatch.setenv("COLUMNS", "50")
    assert run(["leaderboard", f"{snapshots}@1", "--top", "2"]) == 0
    lines = capsys.readouterr().out.splitlines()
    assert lines[0].split() == ["rank", "model", "overall", "answered"]
    assert lines[3:] == ["left out for their width: 3 of 3 domains", "top 2 of 12 models"]


def test_csv_and_json_hold_everything(snapshots, board, capsys):
    assert run(["leaderboard", f"{snapshots}@1", "--format", "csv"]) == 0
    csv = pd.read_csv(io.StringIO(capsys.readouterr().out), index_col="model_id")
    pd.testing.assert_frame_equal(csv, board.astype({"rank": float}), rtol=1e-15)
    assert run(["leaderboard", f"{snapshots}@1", "--format", "json", "--top", "3"]) == 0
    records = json.loads(capsys.readouterr().out)
    assert records == board.iloc[:3].reset_index().to_dict("records")


def test_markdown(snapshots, capsys):
    assert run(["leaderboard", f"{snapshots}@1", "--format", "markdown"]) == 0
    lines = capsys.readouterr().out.splitlines()
    assert lines[0].startswith("| rank | model | overall | answered | algebra | law | a long name")
    assert lines[1] == "| --- | --- | --- | --- | --- | --- | --- |"
    assert lines[13].startswith("| - | m03 | no data | 0/32 |")
    assert lines[-1].startswith(r"\* borrowed")


def test_the_latest_or_the_version_asked_for(snapshots, capsys):
    shown = []
    for version in ("", "@1", "@2"):
        assert run(["leaderboard", f"{snapshots}{version}", "--format", "csv"]) == 0
        shown.append(capsys.readouterr().out)
    assert shown[0] == shown[2]
    assert shown[0] != shown[1]


def test_bad_input(store, snapshots, tmp_path, capsys):
    for arguments, said in (
        ([store], "holds responses, expected snapshot"),
        ([f"{snapshots}@9"], "no version 9"),
        ([f"{snapshots}@0"], "versions count from 1"),
        ([str(tmp_path)], "no version found"),
        ([snapshots, "--top", "0"], "'--top'"),
        ([snapshots, "--format", "html"], "'--format'"),
    ):
        assert run(["leaderboard", *arguments]) == 2
        out, err = capsys.readouterr()
        assert out == ""
        assert said in err
        assert err.count("\n") == 1
