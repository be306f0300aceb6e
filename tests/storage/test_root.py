"""The commit protocol: versions, races, verified reads."""

import json
import pickle
from concurrent.futures import ThreadPoolExecutor
from datetime import UTC, datetime, timedelta
from uuid import uuid4

import pytest
from hypothesis import given
from hypothesis import strategies as st

from mtlirt.errors import InputError
from mtlirt.storage.draft import EMPTY
from mtlirt.storage.errors import StorageError
from mtlirt.storage.root import open_root
from mtlirt.storage.url import split_version
from tests.storage.writers import commit


@pytest.fixture(params=["local", "memory", "s3"])
def root(request, tmp_path):
    if request.param == "local":
        return open_root(tmp_path / "root")
    if request.param == "memory":
        return open_root(f"memory://{uuid4().hex}/root")
    return open_root(f"{request.getfixturevalue('shared_bucket')}/{uuid4().hex}/root")


def test_a_committed_version_reads_back(root):
    before = datetime.now(UTC)
    with root.draft("responses") as draft:
        draft.write("b/table.parquet", b"12345", rows=2)
        draft.write("a", b"")
        written = draft.commit(info={"seed": 1, "tags": ["x", None]})
    read = root.manifest(kind="responses")
    assert read == written
    assert (read.version, read.parent, read.kind, read.schema_version) == (1, None, "responses", 1)
    assert [file.name for file in read.files] == ["a", "b/table.parquet"]
    assert read.by_name["b/table.parquet"].rows == 2
    assert read.info == {"seed": 1, "tags": ["x", None]}
    assert before - timedelta(seconds=1) < read.created <= datetime.now(UTC)
    assert root.read(read, "b/table.parquet") == b"12345"
    assert root.read(read, "a") == b""


def test_the_manifest_is_plain_json_with_relative_paths(root):
    written = commit(root)
    stored = json.loads(root.read_bytes("manifests/000000000001.json"))
    assert set(stored) == {
        "kind", "schema_version", "version", "parent", "run_id", "created", "files", "info",
    }  # fmt: skip
    assert stored["files"][0]["path"] == f"data/{written.run_id}/table"
    assert stored["created"][26:] == "+00:00"


def test_versions_count_up_and_earlier_ones_stay(root):
    first = commit(root, b"one")
    second = commit(root, b"two", parent=1)
    assert root.versions() == [1, 2]
    assert (second.version, second.parent) == (2, 1)
    assert root.manifest() == second
    assert root.manifest(1) == first
    assert root.read(first, "table") == b"one"


def test_an_empty_root_has_no_versions(root):
    assert root.versions() == []


def test_a_write_whose_parent_changed_is_refused(root):
    commit(root)
    with root.draft("responses") as late:
        late.write("table", b"late")
        commit(root, b"meanwhile")
        with pytest.raises(StorageError, match="version 2 was written meanwhile"):
            late.commit(parent=1)
    assert root.versions() == [1, 2]
    assert str(late.run_id) not in root.names("data")


def test_a_first_version_may_insist_on_an_empty_root(root):
    with root.draft("responses") as late:
        assert commit(root, parent=EMPTY).parent is None
        with pytest.raises(StorageError, match="an empty root"):
            late.commit(parent=EMPTY)


def test_a_race_lost_between_listing_and_creating_takes_the_next_number(root, monkeypatch):
    commit(root)
    monkeypatch.setattr(type(root), "versions", stale_once(type(root).versions))
    with root.draft("responses") as draft:
        assert draft.commit().version == 2


def stale_once(versions):
    stale = [[], []]  # seen when the draft begins, and at its first attempt
    return lambda root: stale.pop() if stale else versions(root)


def test_racing_threads_get_contiguous_versions(tmp_path):
    def commit_five(writer):
        root = open_root(tmp_path / "root")
        return [commit(root, f"{writer}-{k}".encode()).version for k in range(5)]

    with ThreadPoolExecutor(8) as pool:
        versions = sorted(version for each in pool.map(commit_five, range(8)) for version in each)
    assert versions == list(range(1, 41))
    root = open_root(tmp_path / "root")
    contents = {root.read(root.manifest(version), "table") for version in root.versions()}
    assert len(contents) == 40


def test_an_abandoned_draft_leaves_nothing(root):
    def fail_halfway():
        with root.draft("responses") as draft:
            draft.write("table", b"half")
            raise ZeroDivisionError

    with pytest.raises(ZeroDivisionError):
        fail_halfway()
    assert root.versions() == []
    assert root.names("data") == []


def test_a_commit_of_unknown_fate_keeps_its_data(root, monkeypatch):
    def landed_but_failed(self, path, data):
        self.put(path, data)
        raise StorageError("connection lost")

    monkeypatch.setattr(type(root), "write_new", landed_but_failed)
    with pytest.raises(StorageError, match="connection lost"):
        commit(root)
    assert root.read(root.manifest(), "table") == b"content"


def test_a_draft_takes_each_file_once_and_only_its_own(root):
    with root.draft("responses") as draft:
        file = draft.write("table", b"1")
        with pytest.raises(ValueError, match="written before"):
            draft.add(file)
        with pytest.raises(ValueError, match="does not lie under"):
            draft.add(root.write_data("data/other/table", b"1"))


def test_a_draft_is_committed_once(root):
    with root.draft("responses") as draft:
        draft.commit()
        with pytest.raises(ValueError, match="committed once"):
            draft.commit()
    assert root.versions() == [1]


def test_a_failing_removal_does_not_hide_why_a_draft_was_abandoned(root, monkeypatch):
    def fail(self, folder):
        raise StorageError("cannot remove")

    monkeypatch.setattr(type(root), "remove_folder", fail)
    with pytest.raises(ValueError, match="info"):
        commit(root, info={"value": float("nan")})


@pytest.mark.parametrize("name", ["../escape", "/absolute", "a//b", "a/./b", "", "a b", "a\nb"])
def test_a_draft_refuses_names_that_are_not_plain(root, name):
    with root.draft("responses") as draft, pytest.raises(ValueError, match="path"):
        draft.write(name, b"")


def damage(root, manifest, content):
    root.put(manifest.by_name["table"].path, content)


def test_an_altered_file_is_refused_by_name(root):
    manifest = commit(root)
    damage(root, manifest, b"c0ntent")
    with pytest.raises(StorageError, match=r"table .*altered"):
        root.read(manifest, "table")


def test_a_truncated_file_is_refused_by_name(root):
    manifest = commit(root)
    damage(root, manifest, b"conte")
    with pytest.raises(StorageError, match=r"table .*has 5 bytes, 7 were written"):
        root.read(manifest, "table")


def test_a_deleted_file_is_refused_by_name(root):
    manifest = commit(root)
    root.remove_folder("data")
    with pytest.raises(StorageError, match=r"table .*is missing"):
        root.read(manifest, "table")


def test_all_damage_of_a_version_is_told(root):
    with root.draft("responses") as draft:
        written = {name: draft.write(name, b"content") for name in "abcde"}
        manifest = draft.commit()
    assert list(root.damaged(manifest)) == []
    root.put(written["b"].path, b"c0ntent")
    root.put(written["d"].path, b"conte")
    assert list(root.damaged(manifest)) == [
        (written["b"], "was altered since it was written (sha256)"),
        (written["d"], "has 5 bytes, 7 were written"),
    ]
    root.remove_folder("data")
    assert list(root.damaged(manifest)) == [(file, "is missing") for file in written.values()]


def test_a_file_the_version_never_had_is_refused_by_name(root):
    with pytest.raises(StorageError, match="no file other"):
        root.read(commit(root), "other")


def test_an_empty_root_names_itself_and_what_was_expected(root):
    with pytest.raises(InputError, match=r"root: no version found, expected a snapshot root"):
        root.manifest(kind="snapshot")


def test_an_unknown_version_is_bad_use(root):
    commit(root)
    with pytest.raises(InputError, match="no version 7; it has 1 from 1 to 1"):
        root.manifest(7)


def test_another_kind_is_refused(root):
    commit(root)
    with pytest.raises(InputError, match="holds responses, expected snapshot"):
        root.manifest(kind="snapshot")
    with pytest.raises(InputError, match="holds responses, expected snapshot"):
        root.draft("snapshot")


@pytest.mark.parametrize(
    ("change", "told"),
    [
        ({"surprise": 1}, "surprise"),
        ({"version": "1"}, "version"),
        ({"version": 2}, "names version 2"),
        ({"kind": "other"}, "kind"),
        ({"schema_version": 2}, "schema version 2"),
        ({"created": "2026-01-01T00:00:00"}, "created"),
        ({"files": [{"path": "../../etc/passwd", "bytes": 1, "sha256": "0" * 64}]}, "path"),
        ({"files": [{"path": "data/x/../y", "bytes": 1, "sha256": "0" * 64}]}, "path"),
        ({"files": [{"path": "data/x/y", "bytes": -1, "sha256": "0" * 64}]}, "bytes"),
        ({"files": [{"path": "data/x/y", "bytes": 1, "sha256": "0" * 64}] * 2}, "one name"),
    ],
)
def test_manifests_are_strict(root, change, told):
    commit(root)
    path = "manifests/000000000001.json"
    root.put(path, json.dumps(json.loads(root.read_bytes(path)) | change).encode())
    with pytest.raises(StorageError, match=f"{path}.*{told}"):
        root.manifest()


@pytest.mark.parametrize("content", [b"", b"{", b"[]", b"\xff"])
def test_a_broken_manifest_is_named(root, content):
    root.put("manifests/000000000001.json", content)
    with pytest.raises(StorageError, match=r"manifests/000000000001\.json"):
        root.manifest()


@pytest.mark.parametrize("value", [float("nan"), float("inf")])
def test_info_must_be_json(root, value):
    with root.draft("responses") as draft, pytest.raises(ValueError, match="info"):
        draft.commit(info={"value": value})


def test_other_files_beside_the_manifests_are_no_versions(root):
    for name in ["1.json", "000000000002.json.tmp", ".writing-1", "000000000000.json", "notes"]:
        root.put(f"manifests/{name}", b"")
    assert root.versions() == []


def test_a_root_travels(root):
    manifest = commit(root)
    travelled = pickle.loads(pickle.dumps(root))
    assert travelled.read(manifest, "table") == b"content"


def test_its_location_opens_a_root_from_elsewhere(root, tmp_path, monkeypatch):
    commit(root)
    monkeypatch.chdir(tmp_path)
    relative = open_root("root") if root.url.startswith("/") else root
    monkeypatch.chdir("/")
    assert open_root(relative.location).versions() == [1]


def test_a_file_url_is_a_local_path(tmp_path):
    commit(open_root((tmp_path / "a b").as_uri()))
    assert open_root(tmp_path / "a b").versions() == [1]


def test_a_root_is_a_folder(tmp_path):
    (tmp_path / "file").write_text("")
    with pytest.raises(InputError, match="is a file, expected a folder"):
        open_root(tmp_path / "file")


def test_a_place_out_of_reach_is_a_storage_error(tmp_path):
    (tmp_path / "manifests").write_text("in the way")
    with pytest.raises(StorageError, match="cannot list manifests: Not a directory"):
        open_root(tmp_path).versions()


@pytest.mark.parametrize("url", ["gopher://host/x", "S3://bucket/x"])
def test_an_unknown_scheme_is_bad_use(url):
    with pytest.raises(InputError, match="cannot store under"):
        open_root(url)


def test_a_root_takes_no_version(tmp_path):
    with pytest.raises(InputError, match="names version 3"):
        open_root(f"{tmp_path}@3")


@given(url=st.text(min_size=1), version=st.integers(1, 10**12))
def test_a_version_splits_off_any_url(url, version):
    assert split_version(f"{url}@{version}") == (url, version)


@pytest.mark.parametrize("url", ["a", "@1", "s3://user@host/x", "a@1/b", "a@x", "a@-1", "a@1 "])
def test_what_is_no_version_stays(url):
    assert split_version(url) == (url, None)


def test_there_is_no_version_zero():
    with pytest.raises(InputError, match="versions count from 1"):
        split_version("root@0")
