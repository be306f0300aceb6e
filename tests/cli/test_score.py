"""``mtlirt score``."""

import json

import numpy as np
import pandas as pd
import pytest

import mtlirt
from mtlirt.cli.app import run


def test_a_table_of_scores_and_a_summary(store, snapshots, tmp_path, capsys):
    out = tmp_path / "scores.parquet"
    arguments = ["score", store, "--snapshots", f"{snapshots}@1", "--out", str(out)]
    assert run([*arguments, "--top", "3"]) == 0
    shown = capsys.readouterr().out
    assert "top 3 of 12 models" in shown
    assert f"12 models (1 without data) scored with version 1 of {snapshots}" in shown
    assert "32 items used, 0 unknown to the snapshot, 0 of its items not asked" in shown
    assert shown.endswith(f"wrote {out}\n")
    table = pd.read_parquet(out)
    assert len(table) == 12 * 4
    fit = mtlirt.load(snapshots, 1)
    overall = table[table["score"] == "overall"].set_index("model_id")["mean"]
    np.testing.assert_allclose(overall, fit.models["overall"], atol=1e-9)
    traits = table[table["score"] == "trait"]["mean"]
    np.testing.assert_allclose(traits, fit.traits["mean"], atol=1e-9)


def test_csv_holds_the_same(store, snapshots, tmp_path, capsys):
    tables = []
    for name, read in (("s.csv", pd.read_csv), ("s.parquet", pd.read_parquet)):
        assert run(["score", store, "--snapshots", snapshots, "--out", str(tmp_path / name)]) == 0
        tables.append(read(tmp_path / name))
    pd.testing.assert_frame_equal(*tables, rtol=1e-15)


def test_modes_differ_from_means(store, snapshots, tmp_path, capsys):
    boards = []
    for estimate in ("eap", "map"):
        out = ["--out", str(tmp_path / f"{estimate}.csv"), "--estimate", estimate, "--json"]
        assert run(["score", store, "--snapshots", snapshots, *out]) == 0
        shown = json.loads(capsys.readouterr().out)
        assert shown["estimate"] == estimate
        assert shown["version"] == 2
        assert (shown["models"], shown["models_without_data"]) == (12, 1)
        assert (shown["items_used"], shown["items_unknown"]) == (32, 0)
        boards.append(shown["leaderboard"])
    assert boards[0][0]["overall"] != boards[1][0]["overall"]


def test_a_file_is_replaced_on_request_alone(store, snapshots, tmp_path, capsys):
    out = tmp_path / "s.csv"
    out.write_text("mine")
    arguments = ["score", store, "--snapshots", snapshots, "--out", str(out)]
    assert run(arguments) == 2
    assert "exists already; give another place, or --overwrite" in capsys.readouterr().err
    assert out.read_text() == "mine"
    assert run([*arguments, "--overwrite"]) == 0
    assert out.read_text().startswith('"model_id"')
    assert list(tmp_path.iterdir()) == [out]


@pytest.mark.parametrize(
    ("out", "said"),
    [("s.txt", "ends in .parquet or .csv"), ("no/s.csv", "no folder"), ("d.csv", "is a folder")],
)
def test_bad_places_are_refused_before_the_work(tmp_path, capsys, out, said):
    (tmp_path / "d.csv").mkdir()
    assert run(["score", "none", "--snapshots", "none", "--out", str(tmp_path / out)]) == 2
    err = capsys.readouterr().err
    assert said in err
    assert err.count("\n") == 1


def test_bad_input(store, snapshots, tmp_path, capsys):
    out = ["--out", str(tmp_path / "s.csv")]
    assert run(["score", store, "--snapshots", store, *out]) == 2
    assert "holds responses, expected snapshot" in capsys.readouterr().err
    assert run(["score", store, "--snapshots", f"{snapshots}@9", *out]) == 2
    assert "no version 9" in capsys.readouterr().err
    assert run(["score", store, *out]) == 2
    assert "Missing option '--snapshots'" in capsys.readouterr().err
    other = str(tmp_path / "other")
    assert run(["simulate", other, "--models", "4"]) == 0
    capsys.readouterr()
    assert run(["score", other, "--snapshots", snapshots, *out]) == 2
    assert "is known to the fit" in capsys.readouterr().err
    assert not (tmp_path / "s.csv").exists()


def test_scores_go_to_no_url(store, snapshots, capsys):
    arguments = ["score", store, "--snapshots", snapshots, "--out", "s3://bucket/scores.csv"]
    assert run(arguments) == 2
    assert "not to a URL" in capsys.readouterr().err
