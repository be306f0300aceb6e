"""What manifests tell of the versions."""

from datetime import UTC, datetime, timedelta

import pytest

from mtlirt.errors import InputError
from mtlirt.snapshots.history import BrokenVersion, describe, list_versions
from mtlirt.snapshots.publish import publish
from mtlirt.storage.errors import StorageError
from mtlirt.storage.manifest import manifest_path
from mtlirt.storage.root import open_root

INPUTS = {"responses": "s3://bucket/store", "version": 4, "run_id": "x"}


def test_versions_at_a_glance(url, make_fit):
    publish(make_fit(rank=1), url, inputs=INPUTS)
    publish(make_fit(rank=3), url)
    first, second = list_versions(url)
    assert (first.version, first.models, first.items, first.domains) == (1, 5, 9, 3)
    assert (first.estimator, first.rank, first.rounds, first.converged) == ("marginal", 1, 3, True)
    assert first.log_likelihood == -0.1 - 0.2
    assert first.responses == "s3://bucket/store@4"
    assert first.bytes == sum(file.bytes for file in open_root(url).manifest(1).files)
    assert timedelta(0) <= datetime.now(UTC) - first.created < timedelta(minutes=1)
    assert (second.version, second.rank, second.responses) == (2, 3, None)
    assert second.created > first.created


def test_all_that_is_recorded(url, fit):
    publish(fit, url, inputs=INPUTS)
    publish(fit, url)
    manifest = open_root(url).manifest(1)
    details = describe(f"{url}@1")
    assert details == describe(url, 1)
    assert details.summary == list_versions(url)[0]
    assert (details.parent, details.run_id) == (None, manifest.run_id)
    assert (details.fit, details.inputs) == (fit.info, INPUTS)
    assert details.software == manifest.info["software"]
    times = fit.history[["domain_seconds", "shared_seconds"]]
    assert details.seconds == pytest.approx(times.to_numpy().sum())
    assert details.files == manifest.files
    assert describe(url).summary.version == 2


def test_fits_of_other_programs_tell_less(url, fit, alter_json, files):
    publish(fit, url)
    info = open_root(url).manifest().info
    alter_json(files, manifest_path(1), info=info | {"fit": {}})
    summary = list_versions(url)[0]
    assert (summary.models, summary.estimator, summary.converged) == (5, None, None)


def test_broken_manifests_are_told_with_the_reason(url, fit, files, alter_json):
    for _ in range(5):
        publish(fit, url)
    info = open_root(url).manifest().info
    files.pipe_file(manifest_path(1), b"{")
    alter_json(files, manifest_path(2), created="yesterday")
    alter_json(files, manifest_path(3), info=info | {"software": 7})
    alter_json(files, manifest_path(4), version=9)
    *broken, last = list_versions(url)
    assert all(isinstance(version, BrokenVersion) for version in broken)
    assert [version.version for version in broken] == [1, 2, 3, 4]
    reasons = [version.reason for version in broken]
    assert reasons[0].startswith("the file: Invalid JSON")
    assert reasons[1].startswith("created: Input should be")
    assert reasons[2].startswith("info.software: Input should be")
    assert reasons[3] == "names version 9 inside"
    assert last.version == 5
    with pytest.raises(StorageError, match=r"000000000001\.json: the file: Invalid JSON"):
        describe(f"{url}@1")


def test_a_place_that_fails_is_no_broken_manifest(tmp_path, fit, monkeypatch):
    publish(fit, tmp_path)

    def refuse(self, path):
        raise PermissionError(13, "Permission denied")

    monkeypatch.setattr("mtlirt.storage.local.LocalBackend.read", refuse)
    with pytest.raises(StorageError, match=r"cannot read manifests/.*: Permission denied"):
        list_versions(tmp_path)


def test_only_of_snapshots(url, fit):
    with pytest.raises(InputError, match="no version found, expected a snapshot root"):
        list_versions(url)
    with open_root(url).draft("responses") as draft:
        draft.commit()
    for told in (list_versions, describe):
        with pytest.raises(InputError, match="holds responses, expected snapshot"):
            told(url)
    with pytest.raises(InputError, match="names version 1, expected"):
        list_versions(f"{url}@1")
