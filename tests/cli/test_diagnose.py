"""``mtlirt diagnose``."""

import io
import json

import pandas as pd
import pytest

import mtlirt
from mtlirt.cli.app import run


@pytest.fixture
def found(store, snapshots):
    return mtlirt.diagnose(mtlirt.load(snapshots, 1), mtlirt.open_responses(store))


def call(store, snapshots, *options):
    return run(["diagnose", store, "--snapshots", snapshots, "--version", "1", *options])


def test_a_table_of_the_first_findings(store, snapshots, found, capsys):
    assert call(store, snapshots, "--top", "1") == 0
    out = capsys.readouterr().out
    assert out.splitlines()[0].split() == ["kind", "domain", "item", "model", "what"]
    assert f"{len(found.findings):,} findings: " in out
    assert f"{len(found.models)} models, {len(found.items)} items, 1 connected components" in out


def test_csv_holds_all_findings(store, snapshots, found, capsys):
    assert call(store, snapshots, "--format", "csv") == 0
    table = pd.read_csv(io.StringIO(capsys.readouterr().out))
    assert list(table) == list(found.findings)
    assert table["told"].tolist() == found.findings["told"].tolist()


def test_json_holds_findings_domains_and_the_design(store, snapshots, found, capsys):
    assert call(store, snapshots, "--format", "json") == 0
    told = json.loads(capsys.readouterr().out)
    assert len(told["findings"]) == len(found.findings)
    assert [row["domain"] for row in told["domains"]] == list(found.domains.index)
    assert told["design"][0]["models"] == int(found.design["models"].iloc[0])
    assert told["rate"] == 0.05


def test_all_tables_as_files(store, snapshots, found, tmp_path, capsys):
    out = tmp_path / "tables"
    assert call(store, snapshots, "--out", str(out)) == 0
    assert capsys.readouterr().out.endswith(f"wrote {out}\n")
    pd.testing.assert_frame_equal(pd.read_parquet(out / "items.parquet"), found.items)
    assert len(list(out.iterdir())) == 10
    assert call(store, snapshots, "--out", str(out)) == 2
    assert "exists already; give a new folder" in capsys.readouterr().err
    assert call(store, snapshots, "--out", "s3://bucket/x") == 2
    assert "tables go to a local folder" in capsys.readouterr().err


def test_a_wrong_rate_is_refused(store, snapshots, capsys):
    assert call(store, snapshots, "--rate", "0.9") == 2
    assert capsys.readouterr().err == (
        "mtlirt: error: rate 0.9 is not a number above 0 and up to 0.5\n"
    )
