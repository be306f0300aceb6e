"""``mtlirt snapshots``."""

import json
import shutil
from pathlib import Path

import fsspec
import pytest

from mtlirt.cli.app import run
from mtlirt.storage.manifest import manifest_path
from mtlirt.storage.root import open_root


@pytest.fixture(params=["local", "s3"])
def copy(request, snapshots, tmp_path):
    """The two snapshots, to be damaged: their URL, and how to reach their files."""
    url = str(tmp_path / "copy")
    if request.param == "local":
        shutil.copytree(snapshots, url)
    else:
        url = f"{request.getfixturevalue('bucket')}/copy"
        filesystem, base = fsspec.core.url_to_fs(url)
        for file in Path(snapshots).rglob("*.*"):
            filesystem.pipe_file(f"{base}/{file.relative_to(snapshots)}", file.read_bytes())
    return url, *fsspec.core.url_to_fs(url)


def output(capsys, *arguments, status=0):
    assert run(["snapshots", *arguments]) == status
    shown, err = capsys.readouterr()
    assert err == ""
    return shown


def test_list(copy, store, capsys):
    url, *_ = copy
    lines = output(capsys, "list", url).splitlines()
    heads, *rows = [[cell for cell in line.split("  ") if cell] for line in lines]
    assert [head.strip() for head in heads] == [
        "version",
        "created (UTC)",
        "models",
        "items",
        "domains",
        "estimator",
        "rank",
        "rounds",
        "converged",
        "log-likelihood",
        "fitted to",
        "bytes",
    ]
    cells = [[cell.strip() for cell in row] for row in rows]
    assert [row[0] for row in cells] == ["1", "2"]
    assert cells[0][2:8] == ["12", "32", "3", "marginal", "1", "3"]
    assert cells[1][5] == "separate"
    assert cells[0][10] == f"{store}@1"
    first, second = json.loads(output(capsys, "list", url, "--json"))
    assert (first["version"], second["version"]) == (1, 2)
    assert (first["models"], first["rank"], first["responses"]) == (12, 1, f"{store}@1")
    assert first["created"].endswith("Z")


def test_show(copy, store, capsys):
    url, *_ = copy
    manifest = open_root(url).manifest(1)
    shown = output(capsys, "show", f"{url}@1")
    values = dict(line.split("  ", 1) for line in shown.split("\n\n")[0].splitlines())
    values = {what: value.strip() for what, value in values.items()}
    assert values["run id"] == str(manifest.run_id)
    assert values["parent"] == "-"
    assert values["fitted to"] == f"{store}@1"
    assert values["fit: priors"] == "yes"
    assert values["fit: convention"].startswith("P(correct) = sigma(")
    assert values["software: mtlirt"]
    for file in manifest.files:
        assert f"{file.name} " in shown
        assert file.sha256 in shown
    content = json.loads(output(capsys, "show", f"{url}@1", "--json"))
    assert content["version"] == 1
    assert content["fit"] == manifest.info["fit"]
    assert content["inputs"] == manifest.info["inputs"]
    assert content["files"] == json.loads(manifest.to_json())["files"]
    assert json.loads(output(capsys, "show", url, "--json"))["version"] == 2


def test_verify_what_is_sound(copy, capsys):
    url, *_ = copy
    sizes = [sum(file.bytes for file in open_root(url).manifest(k).files) for k in (1, 2)]
    lines = [f"version {k}: 6 files, {size:,} bytes: verified\n" for k, size in enumerate(sizes, 1)]
    assert output(capsys, "verify", url) == "".join(lines)
    assert output(capsys, "verify", f"{url}@2") == lines[1]
    open_root(url).write_data("data/killed/items.parquet", b"half")
    assert output(capsys, "verify", url).splitlines()[2:] == [
        "note: data folders of no version: 1 (their writers were killed, or are at work)"
    ]
    content = json.loads(output(capsys, "verify", url, "--json"))
    assert content["orphans"] == ["killed"]
    assert content["versions"][0] == {"version": 1, "files": 6, "bytes": sizes[0], "problems": []}
    assert "orphans" not in json.loads(output(capsys, "verify", f"{url}@1", "--json"))


def test_verify_what_is_damaged(copy, capsys):
    url, filesystem, base = copy
    file = open_root(url).manifest(1).by_name["items.parquet"]
    filesystem.rm_file(f"{base}/{file.path}")
    shown = output(capsys, "verify", url, status=1).splitlines()
    assert shown[0].endswith(" bytes: 1 problem")
    assert shown[1] == f"  {file.path}: is missing"
    assert shown[2].endswith(": verified")
    output(capsys, "verify", f"{url}@2")
    content = json.loads(output(capsys, "verify", f"{url}@1", "--json", status=1))
    assert content["versions"][0]["problems"] == [{"file": file.path, "reason": "is missing"}]


def test_a_broken_manifest(copy, capsys):
    url, filesystem, base = copy
    filesystem.pipe_file(f"{base}/{manifest_path(1)}", b"{}")
    shown = output(capsys, "list", url, status=1).splitlines()
    assert shown[1].split()[:2] == ["1", "broken"]
    assert shown[3].startswith("version 1 is broken: its manifest: kind: Field required")
    broken, sound = json.loads(output(capsys, "list", url, "--json", status=1))
    assert broken["version"] == 1
    assert broken["reason"].startswith("kind: Field required")
    assert sound["version"] == 2
    shown = output(capsys, "verify", url, status=1).splitlines()
    assert shown[1].startswith(f"  {manifest_path(1)}: kind: Field required")
    assert shown[3].startswith("note: data folders of no version are not counted")
    assert run(["snapshots", "show", f"{url}@1"]) == 1
    err = capsys.readouterr().err
    assert f"{url}: {manifest_path(1)}: kind: Field required" in err
    assert err.count("\n") == 1


@pytest.mark.parametrize("verb", ["list", "show", "verify"])
def test_bad_use_is_one_line_and_2(verb, store, snapshots, tmp_path, capsys):
    cases = [
        (str(tmp_path / "nothing"), "no version found, expected a snapshot root"),
        (store, "holds responses, expected snapshot"),
        (f"{snapshots}@3", "names version 3" if verb == "list" else "no version 3"),
        (f"{snapshots}@0", "no version 0"),
        ("gopher://x", "cannot store under gopher://"),
    ]
    for url, said in cases:
        assert run(["snapshots", verb, url]) == 2
        shown, err = capsys.readouterr()
        assert shown == ""
        assert said in err
        assert err.count("\n") == 1


def test_a_place_out_of_reach_is_one_line_and_1(s3_access, monkeypatch, capsys):
    monkeypatch.setenv("AWS_ENDPOINT_URL", "http://127.0.0.1:9")
    monkeypatch.setenv("AWS_MAX_ATTEMPTS", "1")
    for verb in ("list", "show", "verify"):
        assert run(["snapshots", verb, "s3://some-bucket/snapshots"]) == 1
        shown, err = capsys.readouterr()
        assert shown == ""
        assert "s3://some-bucket/snapshots" in err
        assert err.count("\n") == 1


def test_help(capsys):
    assert "verify" in output(capsys, "--help")
    assert "URL[@VERSION]" in output(capsys, "verify", "--help")
