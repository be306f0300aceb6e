"""``mtlirt leaderboard``."""

import io
import json
from dataclasses import replace

import pandas as pd
import pytest

import mtlirt
from mtlirt.cli.app import run

NULLABLE = ["rank", "rank_lower", "rank_upper", "tie_group"]


@pytest.fixture
def board(snapshots):
    return mtlirt.leaderboard(mtlirt.load(snapshots, 1))


def test_a_table_as_wide_as_the_terminal(snapshots, board, capsys, monkeypatch):
    monkeypatch.setenv("COLUMNS", "78")
    assert run(["leaderboard", f"{snapshots}@1"]) == 0
    lines = capsys.readouterr().out.splitlines()
    assert lines[0].split() == ["rank", "ranks", "model", "overall", "answered", "algebra", "law"]
    assert [line.split()[2] for line in lines[1:12]] == list(board.index[:11])
    between = [f"{low}-{high}" for low, high in board[["rank_lower", "rank_upper"]][:11].to_numpy()]
    assert [line.split()[1] for line in lines[1:12]] == between
    assert max(map(len, lines[:13])) <= 78
    (taker,) = [line for line in lines if " m02 " in line]
    assert taker.endswith("*")
    assert lines[12].split() == ["-", "m03", "no", "data", "0/32", "-", "-"]
    assert lines[13].startswith("* borrowed: ")
    assert lines[14] == "left out for their width: 1 of 3 domains"
    monkeypatch.setenv("COLUMNS", "58")
    assert run(["leaderboard", f"{snapshots}@1", "--top", "2"]) == 0
    lines = capsys.readouterr().out.splitlines()
    assert lines[0].split() == ["rank", "ranks", "model", "overall", "answered"]
    assert lines[3:] == ["left out for their width: 3 of 3 domains", "top 2 of 12 models"]


def test_csv_and_json_hold_everything(snapshots, board, capsys):
    assert run(["leaderboard", f"{snapshots}@1", "--format", "csv"]) == 0
    csv = pd.read_csv(io.StringIO(capsys.readouterr().out), index_col="model_id")
    pd.testing.assert_frame_equal(csv, board.astype(dict.fromkeys(NULLABLE, float)), rtol=1e-15)
    assert run(["leaderboard", f"{snapshots}@1", "--format", "json", "--top", "3"]) == 0
    records = json.loads(capsys.readouterr().out)
    assert records == board.iloc[:3].reset_index().to_dict("records")


def test_markdown(snapshots, capsys):
    assert run(["leaderboard", f"{snapshots}@1", "--format", "markdown"]) == 0
    lines = capsys.readouterr().out.splitlines()
    assert lines[0].startswith("| rank | ranks | model | overall | answered | algebra | law | a ")
    assert lines[1] == "| --- | --- | --- | --- | --- | --- | --- | --- |"
    assert lines[13].startswith("| - |  | m03 | no data | 0/32 |")
    assert lines[-1].startswith(r"\* borrowed")


def test_what_models_are_ordered_by(snapshots, capsys):
    fit = mtlirt.load(snapshots, 1)
    asked = [
        (["--by", "general"], {"by": "general"}),
        (["--by", "accuracy", "--weights", "items"], {"by": "accuracy", "weights": "items"}),
        (["--by", "domain:law", "--level", "0.5"], {"by": "domain:law", "level": 0.5}),
        (["--by", "raw"], {"by": "raw"}),
        (["--by", "raw", "--weights", "items"], {"by": "raw", "weights": "items"}),
        (["--seed", "3"], {"seed": 3}),
    ]
    for arguments, options in asked:
        assert run(["leaderboard", f"{snapshots}@1", "--format", "csv", *arguments]) == 0
        csv = pd.read_csv(io.StringIO(capsys.readouterr().out), index_col="model_id")
        expected = mtlirt.leaderboard(fit, **options).astype(dict.fromkeys(NULLABLE, float))
        pd.testing.assert_frame_equal(csv, expected, rtol=1e-15)


@pytest.mark.parametrize(("weights", "told"), [("equal", "equally"), ("items", "by the items")])
def test_raw_accuracies_say_how_domains_are_weighed(snapshots, weights, told, capsys):
    options = ["leaderboard", f"{snapshots}@1", "--by", "raw", "--weights", weights]
    assert run(options) == 0
    lines = capsys.readouterr().out.splitlines()
    assert lines[0].split()[3] == "raw"
    assert lines[-1].startswith(f"raw: the share of right answers, domains weighed {told}")
    assert lines[-1].endswith("models that lack domains or items are not comparable")
    board = mtlirt.leaderboard(mtlirt.load(snapshots, 1), by="raw", weights=weights)
    shown = [f"{row.raw:.2f} [{row.lower:.2f}, {row.upper:.2f}]" for row in board[:11].itertuples()]
    assert all(one in line for one, line in zip(shown, lines[1:12], strict=True))
    assert run([*options, "--format", "json"]) == 0
    records = json.loads(capsys.readouterr().out)
    assert [record["raw"] for record in records[:11]] == board["raw"][:11].tolist()
    assert records[11]["raw"] is None
    assert run([*options, "--format", "markdown"]) == 0
    lines = capsys.readouterr().out.splitlines()
    cells = [one.replace("[", r"\[").replace("]", r"\]") for one in shown]
    assert all(one in line for one, line in zip(cells, lines[2:13], strict=True))


@pytest.fixture
def apart(snapshots, tmp_path):
    """A snapshot of a fit whose last five models share no item with the others."""
    fit = mtlirt.load(snapshots, 1)
    component = pd.array([1] * 3 + [None] + [1] * 3 + [2] * 5, "Int64")
    url = str(tmp_path / "apart")
    mtlirt.publish(replace(fit, models=fit.models.assign(component=component)), url)
    return url


def test_components_are_ranked_apart(apart, capsys):
    told = (
        "2 components that share no item, directly or through a chain: models of different ones "
        "are not ranked against each other"
    )
    assert run(["leaderboard", apart]) == 0
    lines = capsys.readouterr().out.splitlines()
    assert lines[0].split()[:5] == ["rank", "ranks", "component", "model", "overall"]
    rows = [line.split() for line in lines[1:13]]
    assert [row[2] for row in rows[:11]] == ["1"] * 6 + ["2"] * 5
    assert sorted(row[0] for row in rows[6:11]) == [*"12345"]
    assert rows[11][:3] == ["-", "-", "m03"]
    assert told in lines
    assert run(["leaderboard", apart, "--format", "markdown"]) == 0
    lines = capsys.readouterr().out.splitlines()
    assert lines[0].startswith("| rank | ranks | component | model | overall |")
    assert lines[-1] == told
    board = mtlirt.leaderboard(mtlirt.load(apart))
    assert run(["leaderboard", apart, "--format", "csv"]) == 0
    csv = pd.read_csv(io.StringIO(capsys.readouterr().out), index_col="model_id")
    whole = dict.fromkeys([*NULLABLE, "component"], float)
    pd.testing.assert_frame_equal(csv, board.astype(whole), rtol=1e-15)
    assert run(["leaderboard", apart, "--format", "json"]) == 0
    records = json.loads(capsys.readouterr().out)
    assert [record["component"] for record in records] == [1] * 6 + [2] * 5 + [None]
    assert [record["model_id"] for record in records] == list(board.index)


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
        ([snapshots, "--by", "best"], "by 'best' is not one of overall, general, factor, accuracy"),
        ([snapshots, "--by", "domain:x"], "domain 'x' is not one of algebra, law"),
        ([snapshots, "--level", "1"], "level 1.0 is not between 0 and 1"),
        ([snapshots, "--weights", "size"], "'--weights'"),
    ):
        assert run(["leaderboard", *arguments]) == 2
        out, err = capsys.readouterr()
        assert out == ""
        assert said in err
        assert err.count("\n") == 1
