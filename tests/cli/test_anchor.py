"""``mtlirt fit --anchor`` and ``mtlirt snapshots diff``."""

import csv
import dataclasses
import io
import json

import pandas as pd
import pytest

import mtlirt
from mtlirt.cli.app import run

SHORT = ["--max-rounds", "3", "--threads", "1", "--rank", "1"]


@pytest.fixture(scope="module")
def leaderboard(tmp_path_factory):
    """A store of 60 models, then of 90, and their fits: version 2 is on the scale of version 1."""
    folder = tmp_path_factory.mktemp("anchor")
    store, url = str(folder / "store"), str(folder / "snapshots")
    assert run(["simulate", store, "--models", "60"]) == 0
    assert run(["fit", store, "--snapshots", url, *SHORT]) == 0
    assert run(["simulate", store, "--models", "90", "--overwrite"]) == 0
    assert run(["fit", store, "--snapshots", url, *SHORT, "--anchor", "1"]) == 0
    return store, url


def test_the_snapshot_knows_its_anchor(leaderboard, capsys):
    store, url = leaderboard
    capsys.readouterr()
    assert run(["fit", store, "--snapshots", url, *SHORT, "--anchor", "1", "--warm-start"]) == 0
    out, _ = capsys.readouterr()
    assert "on the anchor's scale through " in out.splitlines()[-2]
    found = mtlirt.load(url, 2)
    assert found.domains["link_scale"].between(0.7, 1.4).all()
    assert found.info["anchor"]["unlinked_domains"] == []
    assert run(["snapshots", "show", f"{url}@3", "--json"]) == 0
    inputs = json.loads(capsys.readouterr().out)["inputs"]
    assert (inputs["anchor"], inputs["warm_start"]) == (1, 2)
    assert run(["snapshots", "verify", url]) == 0


def test_a_job_file_names_an_anchor(leaderboard, tmp_path, capsys):
    store, url = leaderboard
    job = tmp_path / "job.toml"
    job.write_text(
        f'kind = "refit"\n[responses]\nurl = "{store}"\n'
        "[fit]\nrank = 1\nmax_rounds = 3\n[cluster]\nthreads = 1\n"
        f'[snapshots]\nurl = "{url}"\nanchor = 1\n'
    )
    assert run(["run", str(job), "--json"]) == 0
    version = json.loads(capsys.readouterr().out)["version"]
    one, other = mtlirt.load(url, 2), mtlirt.load(url, version)
    pd.testing.assert_frame_equal(other.domains, one.domains, check_exact=True)


def test_domains_that_are_not_linked_are_told(leaderboard, tmp_path, capsys):
    store, url = leaderboard
    some = mtlirt.load(url, 1)
    domains = some.items.index.get_level_values("domain")
    items = some.items.assign(constant=some.items["constant"] | (domains == "coding"))
    place = str(tmp_path / "snapshots")
    mtlirt.publish(dataclasses.replace(some, items=items), place)
    assert run(["fit", store, "--snapshots", place, *SHORT, "--anchor", "1"]) == 0
    err = capsys.readouterr().err
    assert "1 of 6 domains are not on the anchor's scale but their own" in err
    assert err.splitlines()[-1].endswith(": coding")


def test_what_is_printed_as_json_counts_the_items(leaderboard, capsys, tmp_path):
    store, url = leaderboard
    capsys.readouterr()
    assert run(["fit", store, "--snapshots", url, *SHORT, "--anchor", "1", "--json"]) == 0
    content = json.loads(capsys.readouterr().out)
    assert content["linked_items"] + content["drifted_items"] <= 680
    assert content["linked_items"] > 500


@pytest.mark.parametrize(
    ("options", "told"),
    [
        (["--anchor", "99"], "no version 99"),
        (["--anchor", "1", "--estimator", "local"], "'local' has no errors of items to link"),
        (["--anchor", "0"], "--anchor"),
    ],
)
def test_bad_anchors_are_one_line_and_2(leaderboard, capsys, options, told):
    store, url = leaderboard
    capsys.readouterr()
    assert run(["fit", store, "--snapshots", url, *options]) == 2
    out, err = capsys.readouterr()
    assert out == ""
    assert told in err
    assert err.count("\n") == 1


def test_diff_as_a_table(leaderboard, capsys):
    _, url = leaderboard
    capsys.readouterr()
    assert run(["snapshots", "diff", url, "1", "2", "--top", "3"]) == 0
    out, err = capsys.readouterr()
    assert err == ""
    lines = out.splitlines()
    assert lines[0].split("  ")[0] == "domain"
    assert lines[1].startswith("arithmetic    linked  120           120    1.000 (0.0")
    assert any(line.startswith("models: 30 added, 0 withdrawn, ") for line in lines)
    assert any(line.startswith("items: 0 added, 0 withdrawn, ") for line in lines)
    assert any(line.startswith("inputs  anchor") and line.endswith("1") for line in lines)
    assert run(["snapshots", "diff", f"{url}@1", f"{url}@2", "--top", "3"]) == 0
    assert capsys.readouterr().out == out


def test_diff_as_csv_and_json(leaderboard, capsys):
    _, url = leaderboard
    capsys.readouterr()
    assert run(["snapshots", "diff", url, "1", "2", "--format", "json"]) == 0
    content = json.loads(capsys.readouterr().out)
    assert (content["before"], content["after"]) == (1, 2)
    assert len(content["models"]) == 90
    assert len(content["items"]) == 680
    assert len(content["traits"]) == 60 * 6
    for name, column in (("models", "model_id"), ("items", "item_id"), ("domains", "link_scale")):
        options = [] if name == "models" else ["--of", name]
        assert run(["snapshots", "diff", url, "1", "2", "--format", "csv", *options]) == 0
        rows = list(csv.DictReader(io.StringIO(capsys.readouterr().out)))
        assert len(rows) == len(content[name])
        assert column in rows[0]


def test_a_snapshot_and_itself(leaderboard, capsys):
    _, url = leaderboard
    capsys.readouterr()
    assert run(["snapshots", "diff", url, "1", "1"]) == 0
    out = capsys.readouterr().out
    assert "models: 0 added, 0 withdrawn, 0 moved; 60 as before" in out
    assert "0 of 360 domain scores moved" in out
    assert out.endswith("no setting differs\n")


@pytest.mark.parametrize(
    ("places", "told"),
    [
        (["1"], "1: no version found, expected a snapshot root"),
        (["1", "x"], "expected URL A B"),
        (["1", "99"], "no version 99"),
        (["1", "2", "3"], "expected URL A B"),
    ],
)
def test_bad_places_are_one_line_and_2(leaderboard, capsys, places, told):
    _, url = leaderboard
    capsys.readouterr()
    assert run(["snapshots", "diff", url, *places]) == 2
    out, err = capsys.readouterr()
    assert out == ""
    assert told in err
    assert err.count("\n") == 1
