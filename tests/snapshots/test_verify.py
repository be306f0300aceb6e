"""Damage is found, and named."""

import pickle

import pytest

from mtlirt.errors import InputError
from mtlirt.snapshots.load import load
from mtlirt.snapshots.publish import publish
from mtlirt.snapshots.verify import TABLES, orphans, verify
from mtlirt.storage.errors import StorageError
from mtlirt.storage.manifest import manifest_path
from mtlirt.storage.root import open_root


@pytest.fixture
def published(url, make_fit):
    """Three versions; the files of the second by name."""
    for seed in range(3):
        publish(make_fit(seed=seed), url)
    return {file.name: file for file in open_root(url).manifest(2).files}


def found(url):
    """Version -> (file, reason) of its problems."""
    return {
        check.version: [(problem.file, problem.reason) for problem in check.problems]
        for check in verify(url)
    }


def test_what_is_as_published(url, published, monkeypatch):
    def refuse(*args, **kwargs):
        raise AssertionError("unpickled")

    monkeypatch.setattr(pickle, "loads", refuse)
    monkeypatch.setattr(pickle, "load", refuse)
    size = sum(file.bytes for file in published.values())
    checks = list(verify(url))
    assert [(check.version, check.files, check.problems) for check in checks] == [
        (1, 6, ()),
        (2, 6, ()),
        (3, 6, ()),
    ]
    assert checks[1].bytes == size
    assert list(verify(f"{url}@2")) == [checks[1]]
    assert orphans(url) == []


@pytest.mark.parametrize("rank", [0, 1, 3])
def test_any_rank(tmp_path, make_fit, rank):
    publish(make_fit(rank=rank), tmp_path)
    assert found(tmp_path) == {1: []}


def test_files_removed_truncated_and_altered(url, published, files):
    altered = bytearray(files.cat_file(published["traits.parquet"].path))
    altered[len(altered) // 2] ^= 1
    files.rm_file(published["domains.parquet"].path)
    cut = published["items.parquet"]
    files.pipe_file(cut.path, files.cat_file(cut.path)[:-3])
    files.pipe_file(published["traits.parquet"].path, bytes(altered))
    problems = found(url)
    assert problems == {
        1: [],
        2: [
            (published["domains.parquet"].path, "is missing"),
            (cut.path, f"has {cut.bytes - 3} bytes, {cut.bytes} were written"),
            (published["traits.parquet"].path, "was altered since it was written (sha256)"),
        ],
        3: [],
    }
    assert found(f"{url}@2") == {2: problems[2]}
    with pytest.raises(StorageError):
        load(f"{url}@2")


def test_manifests_broken_and_removed(url, published, files):
    files.pipe_file(manifest_path(2), files.cat_file(manifest_path(2))[:-30])
    [(file, reason)] = found(url)[2]
    assert file == manifest_path(2)
    assert reason.startswith("the file: Invalid JSON")
    assert orphans(url) is None
    files.rm_file(manifest_path(2))
    assert found(url) == {1: [], 2: [("manifests/000000000002.json", "is missing")], 3: []}
    assert orphans(url) == [published["items.parquet"].path.split("/")[1]]
    with pytest.raises(InputError, match="no version 2"):
        found(f"{url}@2")


def test_manifests_that_say_what_is_not_so(url, published, files, alter_json):
    manifest = open_root(url).manifest(2)
    content = [file.model_dump() for file in manifest.files]
    names = [file.name for file in manifest.files]
    content[names.index("items.parquet")]["rows"] = 7
    del content[names.index("models.parquet")]
    seconds = {"domain_seconds": [1.0], "shared_seconds": [1.0]}
    info = manifest.info | {"seconds": seconds}
    alter_json(files, manifest_path(2), files=content, info=info)
    assert found(url)[2] == [
        (manifest_path(2), "names no models.parquet"),
        (manifest_path(2), "info.seconds: of other rounds than the 3 of the history"),
        (published["items.parquet"].path, "has 9 rows, 7 were written"),
    ]
    alter_json(files, manifest_path(3), info=manifest.info | {"seconds": None})
    [(file, reason)] = found(url)[3]
    assert file == manifest_path(3)
    assert reason.startswith("info.seconds: Input should be")


def test_tables_of_another_form(url, published):
    root = open_root(url)
    first = root.manifest(1)
    with root.draft("snapshot") as draft:
        for name in first.by_name:
            other = "domains.parquet" if name == "models.parquet" else name
            data = b"no table" if name == "traits.parquet" else root.read(first, other)
            draft.write(name, data, rows=first.by_name[name].rows)
        draft.write("notes.txt", b"of a later mtlirt")
        draft.commit(info=first.info)
    (models, form), (traits, parse) = found(url)[4]
    assert models == f"{draft.prefix}/models.parquet"
    assert form.startswith("columns are domain string not null, ")
    assert traits == f"{draft.prefix}/traits.parquet"
    assert parse.startswith("is no Parquet file (")


def test_folders_of_killed_writers(url, published):
    root = open_root(url)
    drafts = [root.draft("snapshot") for _ in range(2)]
    for draft in drafts:
        draft.write("items.parquet", b"half")
    assert orphans(url) == sorted(str(draft.run_id) for draft in drafts)
    assert not any(found(url).values())


def test_only_of_snapshots(url):
    with pytest.raises(InputError, match="no version found, expected a snapshot root"):
        list(verify(url))
    with open_root(url).draft("responses") as draft:
        draft.commit()
    with pytest.raises(InputError, match="holds responses, expected snapshot"):
        list(verify(url))


def test_the_tables_are_those_of_a_fit(fit, tmp_path):
    publish(fit, tmp_path)
    assert {f"{name}.parquet" for name in TABLES} == set(open_root(tmp_path).manifest().by_name)
