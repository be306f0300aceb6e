"""What was published comes back, or an error that names what did not."""

import json
import pickle

import pandas as pd
import pytest

from mtlirt.errors import InputError
from mtlirt.snapshots.load import load
from mtlirt.snapshots.publish import publish
from mtlirt.snapshots.schema import ITEMS, MODELS, TRAITS
from mtlirt.storage.errors import StorageError
from mtlirt.storage.manifest import manifest_path
from mtlirt.storage.root import open_root


@pytest.mark.parametrize("rank", [0, 1, 3])
def test_a_fit_comes_back_to_the_bit(tmp_path, make_fit, assert_same, rank):
    fit = make_fit(rank=rank)
    publish(fit, tmp_path)
    assert_same(load(tmp_path), fit)


def test_columns_that_the_first_snapshots_lack_are_null(make_fit):
    items = make_fit().items
    table = ITEMS.table("items", items).drop_columns(["slope_se", "intercept_se"])
    found = ITEMS.frame(table)
    assert list(found.columns) == list(items.columns)
    assert found[["slope_se", "intercept_se"]].isna().all(axis=None)
    kept = found.columns.difference(["slope_se", "intercept_se"])
    pd.testing.assert_frame_equal(found[kept], items[kept])
    assert ITEMS.table("items", found).schema == ITEMS.table("items", items).schema
    with pytest.raises(ValueError, match="columns are"):
        ITEMS.frame(table.drop_columns(["answered"]))


def test_models_of_older_snapshots_are_of_no_component(make_fit):
    models = make_fit().models
    found = MODELS.frame(MODELS.table("models", models).drop_columns(["component"]))
    assert found["component"].isna().all()
    assert (found.dtypes == models.dtypes).all()
    assert MODELS.table("models", found).schema == MODELS.table("models", models).schema


def test_traits_of_older_snapshots_hold_no_right_answers(make_fit):
    traits = make_fit().traits
    found = TRAITS.frame(TRAITS.table("traits", traits).drop_columns(["correct", "attempts"]))
    assert found[["correct", "attempts"]].isna().all(axis=None)
    table = ITEMS.table("items", make_fit().items)
    with pytest.raises(ValueError, match="columns are"):
        ITEMS.frame(table.drop_columns(["attempts"]))


def test_by_memory_url(make_fit, assert_same):
    url = "memory://test_by_memory_url/snapshots"
    publish(make_fit(), url)
    assert_same(load(url), make_fit())


def test_the_latest_or_the_version_asked_for(tmp_path, make_fit, assert_same):
    fits = [make_fit(seed=seed) for seed in range(3)]
    for fit in fits:
        publish(fit, tmp_path)
    assert_same(load(tmp_path), fits[2])
    assert_same(load(tmp_path, 1), fits[0])
    assert_same(load(f"{tmp_path}@2"), fits[1])
    assert_same(load(f"{tmp_path}@2", 2), fits[1])
    with pytest.raises(InputError, match="names version 2, but version 1 was asked for"):
        load(f"{tmp_path}@2", 1)
    with pytest.raises(InputError, match="no version 9"):
        load(tmp_path, 9)
    with pytest.raises(InputError, match="no version found, expected a snapshot root"):
        load(tmp_path / "nothing")


@pytest.mark.parametrize("name", ["items", "traits", "representation", "history"])
def test_an_altered_file_is_refused_by_name(tmp_path, fit, name):
    publish(fit, tmp_path)
    file = next(tmp_path.glob(f"data/*/{name}.parquet"))
    data = bytearray(file.read_bytes())
    data[len(data) // 2] ^= 1
    file.write_bytes(data)
    with pytest.raises(StorageError, match=rf"{name}\.parquet .*was altered.*sha256"):
        load(tmp_path)
    file.unlink()
    with pytest.raises(StorageError, match=rf"{name}\.parquet .*is missing"):
        load(tmp_path)


def test_an_altered_manifest_is_refused_by_field(tmp_path, fit):
    publish(fit, tmp_path)
    path = tmp_path / manifest_path(1)
    content = json.loads(path.read_text())
    del content["info"]["seconds"]
    path.write_text(json.dumps(content))
    with pytest.raises(StorageError, match=r"version 1: info\.seconds: Field required"):
        load(tmp_path)


def test_tables_of_another_form_are_refused(tmp_path, fit):
    publish(fit, tmp_path)
    root = open_root(tmp_path)
    first = root.manifest()
    with root.draft("snapshot") as draft:
        for name in first.by_name:
            other = "domains.parquet" if name == "models.parquet" else name
            draft.write(name, root.read(first, other))
        draft.commit(info=first.info)
    with pytest.raises(
        StorageError, match=r"models\.parquet: columns are domain string not null, .*another"
    ):
        load(tmp_path)


def test_nothing_is_unpickled(tmp_path, fit, monkeypatch):
    def refuse(*args, **kwargs):
        raise AssertionError("unpickled")

    publish(fit, tmp_path)
    monkeypatch.setattr(pickle, "loads", refuse)
    monkeypatch.setattr(pickle, "load", refuse)
    load(tmp_path)
