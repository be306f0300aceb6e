"""``mtlirt simulate``."""

import json

from mtlirt.cli.app import run
from mtlirt.responses.store import open_responses


def test_a_store_from_a_design(tmp_path, capsys):
    out = str(tmp_path / "store")
    options = ["--models", "12", "--seed", "3", "--missing", ".1", "--domain-missing", ".2"]
    assert run(["simulate", out, *options]) == 0
    shown = capsys.readouterr().out.splitlines()
    assert shown[0].startswith("12 models, ")
    assert shown[1] == f"wrote version 1 of {out}"
    assert open_responses(out).shape[0] == 12


def test_json_and_overwriting(tmp_path, capsys):
    out = str(tmp_path / "store")
    arguments = ["simulate", out, "--models", "5", "--json"]
    assert run(arguments) == 0
    shown = json.loads(capsys.readouterr().out)
    assert (shown["store"], shown["version"], shown["models"]) == (out, 1, 5)
    assert run(arguments) == 2
    assert "already" in capsys.readouterr().err
    assert run([*arguments, "--overwrite"]) == 0


def test_bad_input(tmp_path, capsys):
    assert run(["simulate", str(tmp_path / "x"), "--design", "nope"]) == 2
    assert run(["simulate", str(tmp_path / "x"), "--missing", "2"]) == 2
    assert capsys.readouterr().err.count("\n") == 2
    assert not (tmp_path / "x").exists()
