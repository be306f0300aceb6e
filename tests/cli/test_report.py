"""``mtlirt report``."""

import re

import pytest

from mtlirt.cli.app import run


def test_a_snapshot_becomes_a_page(snapshots, tmp_path, capsys):
    out = tmp_path / "r.html"
    assert run(["report", f"{snapshots}@1", "--out", str(out)]) == 0
    assert re.fullmatch(rf"wrote {out}: version 1 in \d+\.\d MB\n", capsys.readouterr().out)
    first = out.read_bytes()
    assert b"<dd>marginal</dd>" in first
    assert b"<dd>store@1</dd>" in first
    assert run(["report", snapshots, "--out", str(out), "--overwrite"]) == 0
    assert b"<dd>separate</dd>" in out.read_bytes()
    assert run(["report", f"{snapshots}@1", "--out", str(out), "--overwrite"]) == 0
    assert out.read_bytes() == first
    assert list(tmp_path.iterdir()) == [out]


def test_a_fit_writes_it_too(store, tmp_path, capsys):
    one, other, place = tmp_path / "one.html", tmp_path / "two.html", str(tmp_path / "snapshots")
    options = ["--snapshots", place, "--max-rounds", "3", "--threads", "1"]
    assert run(["fit", store, *options, "--report", str(one)]) == 0
    assert capsys.readouterr().out.splitlines()[-1].startswith(f"wrote {one}: version 1 in ")
    assert run(["report", place, "--out", str(other)]) == 0
    assert one.read_bytes() == other.read_bytes()
    assert run(["fit", store, *options, "--report", str(one)]) == 2
    assert "one.html" in capsys.readouterr().err
    assert run(["fit", store, *options, "--report", "page.txt"]) == 2
    assert run(["snapshots", "list", place]) == 0
    assert "2" not in capsys.readouterr().out.splitlines()[-1].split()[0]


def test_what_is_found_in_the_responses_is_shown(snapshots, store, tmp_path):
    out = tmp_path / "r.html"
    assert run(["report", f"{snapshots}@1", "--out", str(out), "--responses", store]) == 0
    assert b"that answer alike; most like m00" in out.read_bytes()


@pytest.mark.parametrize("estimator", ["joint", "local", "global", "accuracy"])
def test_estimators_without_intervals(store, tmp_path, capsys, estimator):
    out, snapshots = tmp_path / "r.html", str(tmp_path / "snapshots")
    options = ["--max-rounds", "3", "--threads", "1", "--complete-models"]
    options += ["--penalty", "0.1"] if estimator == "joint" else []
    assert run(["fit", store, "--estimator", estimator, "--snapshots", snapshots, *options]) == 0
    assert run(["report", snapshots, "--out", str(out)]) == 0
    html = out.read_text(encoding="utf-8")
    assert f"The estimator &#39;{estimator}&#39; gives no standard deviations" in html
    assert "12 (2 left out, for they lack a domain)" in html
    assert "model left out: 2" in html


def test_bad_input(store, snapshots, tmp_path, capsys):
    (tmp_path / "taken.html").write_text("mine")
    for snapshot, out, said in (
        (snapshots, "taken.html", "exists already; give another place, or --overwrite"),
        ("none", "r.pdf", "ends in .html"),
        ("none", "no/r.html", "no folder"),
        ("none", "r.html", "no version found"),
        (store, "r.html", "holds responses, expected snapshot"),
        (f"{snapshots}@9", "r.html", "no version 9"),
    ):
        assert run(["report", snapshot, "--out", str(tmp_path / out)]) == 2
        printed, err = capsys.readouterr()
        assert printed == ""
        assert said in err
        assert err.count("\n") == 1
    assert (tmp_path / "taken.html").read_text() == "mine"
    assert [path.name for path in tmp_path.iterdir()] == ["taken.html"]
