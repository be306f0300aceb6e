"""What publishing writes."""

import dataclasses
import io
from importlib.metadata import version

import numpy as np
import pyarrow.parquet as pq
import pytest

from mtlirt.errors import InputError
from mtlirt.snapshots.publish import publish
from mtlirt.storage.root import open_root

TABLES = ["domains", "history", "items", "models", "representation", "traits"]


def hashes(url, number):
    return {name: file.sha256 for name, file in open_root(url).manifest(number).by_name.items()}


def test_versions_count_up_and_name_their_files(tmp_path, fit):
    assert [publish(fit, tmp_path), publish(fit, tmp_path)] == [1, 2]
    manifest = open_root(tmp_path).manifest(2)
    assert manifest.kind == "snapshot"
    assert manifest.parent is None
    assert sorted(manifest.by_name) == [f"{name}.parquet" for name in TABLES]
    assert {name: file.rows for name, file in manifest.by_name.items()} == {
        f"{name}.parquet": len(getattr(fit, name)) for name in TABLES
    }


def test_equal_fits_give_equal_bytes(tmp_path, fit, make_fit):
    publish(fit, tmp_path)
    later = make_fit()
    slower = later.history.assign(domain_seconds=9.0, shared_seconds=8.0)
    publish(dataclasses.replace(later, history=slower), tmp_path)
    publish(make_fit(seed=1), tmp_path)
    assert hashes(tmp_path, 1) == hashes(tmp_path, 2)
    assert not set(hashes(tmp_path, 1).values()) & set(hashes(tmp_path, 3).values())


def test_the_manifest_says_how_the_fit_came_about(tmp_path, fit):
    inputs = {"responses": "s3://bucket/store", "version": 4, "run_id": "x"}
    publish(fit, tmp_path, inputs=inputs)
    info = open_root(tmp_path).manifest().info
    assert info["fit"] == fit.info
    assert info["inputs"] == inputs
    assert info["seconds"]["domain_seconds"] == fit.history["domain_seconds"].tolist()
    assert info["software"]["numpy"] == np.__version__
    assert info["software"]["mtlirt"] == version("mtlirt")
    assert {"numba", "scipy", "dask"} <= set(info["software"])


def test_files_are_plain_parquet_with_nulls_and_no_times(tmp_path, fit):
    publish(fit, tmp_path)
    root = open_root(tmp_path)
    tables = {
        name: pq.read_table(io.BytesIO(root.read(root.manifest(), f"{name}.parquet")))
        for name in TABLES
    }
    assert all(table.schema.metadata is None for table in tables.values())
    assert tables["items"].column_names[:3] == ["domain", "item_id", "slope"]
    assert tables["items"]["difficulty"].null_count == 1
    assert tables["models"]["overall"].null_count == 1
    assert tables["history"].column_names == [
        "number",
        "objective",
        "change",
        "rank",
        "fused",
        "converged",
    ]


def test_a_fit_of_another_form_is_refused_and_leaves_nothing(tmp_path, fit):
    more = dataclasses.replace(fit, models=fit.models.assign(extra=1))
    with pytest.raises(ValueError, match=r"models: columns are .*'extra'.*expected"):
        publish(more, tmp_path / "s")
    guessing = fit.items["guessing"].where(fit.items["constant"])
    holed = dataclasses.replace(fit, items=fit.items.assign(guessing=guessing))
    with pytest.raises(ValueError, match="items: guessing is null in row 0 and 8 in all"):
        publish(holed, tmp_path / "s")
    assert not (tmp_path / "s").exists()


def test_only_to_roots_of_snapshots(tmp_path, fit):
    with open_root(tmp_path).draft("responses") as draft:
        draft.commit()
    with pytest.raises(InputError, match="holds responses, expected snapshot"):
        publish(fit, tmp_path)
    with pytest.raises(InputError, match="names version 3"):
        publish(fit, f"{tmp_path}@3")
