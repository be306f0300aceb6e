"""``mtlirt ingest``."""

import json

import pytest
import s3fs

from mtlirt.cli.app import run
from mtlirt.responses.store import open_responses, store_history

GOOD = "model_id,item_id,correct\na,q,1\nb,q,0\n"


@pytest.fixture
def source(tmp_path):
    path = tmp_path / "x.csv"
    path.write_text(GOOD)
    return path


def test_files_to_a_store(tmp_path, source, capsys):
    out = str(tmp_path / "store")
    assert run(["ingest", str(source), "--out", out]) == 0
    shown, err = capsys.readouterr()
    assert err == ""
    assert shown.splitlines() == [
        "2 models, 1 items, 1 domains",
        "2 records in 1 files: 2 cells, 0 missing, 0 duplicates, 0 conflicts",
        "domain   models  items  cells",
        "default       2      1      2",
        f"wrote version 1 of {out}",
    ]
    assert open_responses(out).domains["default"].array.compute().tolist() == [[1], [0]]
    history = store_history(out)[0].history
    assert history["sources"] == [str(source)]
    assert history["options"]["threshold"] is None
    assert history["report"]["cells"] == 2


def test_json_and_a_report(tmp_path, source, capsys):
    out, report = tmp_path / "store", tmp_path / "report.json"
    arguments = ["ingest", str(source), "--out", str(out), "--json", "--report", str(report)]
    assert run(arguments) == 0
    shown = json.loads(capsys.readouterr().out)
    assert shown == json.loads(report.read_text())
    assert (shown["version"], shown["cells"]) == (1, 2)
    assert run(arguments) == 2
    assert run([*arguments, "--overwrite"]) == 0
    assert json.loads(report.read_text())["version"] == 2


@pytest.mark.parametrize(
    ("content", "options", "said"),
    [
        ("", [], "no responses"),
        (GOOD + "c,q,7\n", [], "x.csv row 4: model 'c', item 'q': correct is 7"),
        (GOOD + "c,q,.5\n", [], "--fractions keep"),
        (GOOD, ["--domain-column", "subject"], "no column 'subject'"),
        (GOOD, ["--models", "nowhere.csv"], "nowhere.csv: no such file"),
        (GOOD, ["--report", "/nowhere/report.json"], "/nowhere/report.json: no folder"),
        (GOOD, ["--threshold", "2"], "threshold is 2.0"),
    ],
)
def test_nothing_is_written_when_anything_fails(tmp_path, source, capsys, content, options, said):
    source.write_text(content)
    out = tmp_path / "store"
    assert run(["ingest", str(source), "--out", str(out), *options]) == 2
    shown, err = capsys.readouterr()
    assert shown == ""
    assert said in err
    assert err.count("\n") == 1
    assert not out.exists()


def test_a_store_that_exists_is_told_before_reading(tmp_path, source, capsys):
    out = str(tmp_path / "store")
    assert run(["ingest", str(source), "--out", out]) == 0
    assert run(["ingest", str(tmp_path / "nowhere"), "--out", out]) == 2
    assert "holds version 1 already" in capsys.readouterr().err
    (tmp_path / "report.json").write_text("mine")
    arguments = ["--out", str(tmp_path / "new"), "--report", str(tmp_path / "report.json")]
    assert run(["ingest", str(source), *arguments]) == 2
    assert "report.json: exists already" in capsys.readouterr().err
    assert not (tmp_path / "new").exists()


def test_options_reach_the_rules(tmp_path):
    wide = tmp_path / "wide.csv"
    wide.write_text("q,b,a\nq1,.9,.2\nq2,1,0\nq2,1,1\n")
    out = str(tmp_path / "store")
    options = ["--format", "wide", "--transpose", "--threshold", ".5", "--domain", "d"]
    options += ["--duplicates", "first"]
    assert run(["ingest", str(wide), "--out", out, *options, "--conflicts", "last"]) == 0
    responses = open_responses(out)
    assert list(responses.models.index) == ["a", "b"]
    assert responses.domains["d"].array.compute().tolist() == [[0, 1], [1, 1]]


def test_s3_to_s3(bucket, source, capsys, monkeypatch):
    files = s3fs.S3FileSystem(skip_instance_cache=True)
    files.pipe_file(f"{bucket}/a/x@3.csv", source.read_bytes())
    files.pipe_file(f"{bucket}/models.csv", b"model_id,maker\na,one\nb,two\n")
    out, models = f"{bucket}/store", f"{bucket}/models.csv"
    arguments = ["ingest", f"{bucket}/a", "--models", models, "--out", out]
    assert run([*arguments, "--json"]) == 0
    shown = json.loads(capsys.readouterr().out)
    assert shown["files"] == [{"name": f"{bucket}/a/x@3.csv", "records": 2}]
    assert open_responses(out).models["maker"].tolist() == ["one", "two"]
    for name, status, said in [("b", 2, "no such file or folder"), ("a", 1, "S3 server")]:
        if status == 1:
            monkeypatch.setenv("AWS_ENDPOINT_URL", "http://127.0.0.1:9")
            monkeypatch.setenv("AWS_MAX_ATTEMPTS", "1")
            s3fs.S3FileSystem.clear_instance_cache()
        place = str(source.parent / name)
        assert run(["ingest", f"{bucket}/{name}", "--out", place]) == status
        shown, err = capsys.readouterr()
        assert shown == ""
        assert err.startswith(f"mtlirt: error: {bucket}/{name}: ")
        assert said in err
        assert err.count("\n") == 1


def test_a_wide_file_without_a_header(tmp_path, capsys):
    path, out = tmp_path / "x.csv", str(tmp_path / "store")
    path.write_text("1,0,0\n0,1,1\n1,1,0\n")
    assert run(["ingest", str(path), "--out", out]) == 2
    assert "--no-header" in capsys.readouterr().err
    assert run(["ingest", str(path), "--out", out, "--no-header"]) == 0
    assert "models and items numbered from 1: " in capsys.readouterr().out
    assert open_responses(out).shape == (3, 3)
    assert store_history(out)[0].history["options"]["header"] is False
