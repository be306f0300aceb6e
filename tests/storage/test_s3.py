"""What an S3 URL means, and what is told where S3 cannot be used."""

from uuid import uuid4

import pytest
import s3fs

from mtlirt.errors import InputError
from mtlirt.storage.backend import open_backend
from mtlirt.storage.errors import StorageError
from mtlirt.storage.root import open_root
from mtlirt.storage.s3 import S3Backend
from tests.storage.faults import refuse


@pytest.mark.parametrize(
    ("url", "bucket", "prefix"),
    [
        ("s3://bucket", "bucket", ""),
        ("s3://bucket/", "bucket", ""),
        ("s3://bucket/a", "bucket", "a"),
        ("s3://bucket/a/b c//", "bucket", "a/b c"),
    ],
)
def test_a_url_is_a_bucket_and_a_prefix(url, bucket, prefix):
    backend = open_backend(url)
    assert backend == S3Backend(bucket, prefix)
    assert open_backend(backend.url) == backend


@pytest.mark.parametrize("url", ["s3://", "s3:///folder"])
def test_a_url_without_a_bucket_is_bad_use(url):
    with pytest.raises(InputError, match="names no bucket"):
        open_root(url)


def test_a_whole_bucket_is_a_root(bucket):
    root = open_root(bucket)
    root.put("name", b"")
    root.put("folder/name", b"")
    assert root.names("") == ["folder", "name"]
    root.remove_folder("")
    assert root.names("") == []


def test_a_placeholder_of_a_folder_is_no_name(bucket):
    s3fs.S3FileSystem().pipe_file(f"{bucket}/root/manifests/", b"")
    assert open_root(f"{bucket}/root").versions() == []


@pytest.mark.parametrize(
    "use",
    [
        lambda root: root.versions(),
        lambda root: root.read_bytes("name"),
        lambda root: root.write_new("name", b""),
        lambda root: root.remove_folder("folder"),
        lambda root: root.draft("responses"),
    ],
)
def test_a_missing_bucket_is_no_empty_root(s3_access, use):
    with pytest.raises(StorageError, match=r"^s3://nowhere/root: cannot .*there is no such bucket"):
        use(open_root("s3://nowhere/root"))


@pytest.mark.parametrize(
    ("environment", "told"),
    [
        ({"AWS_ACCESS_KEY_ID": ""}, "no credentials found: set AWS_ACCESS_KEY_ID"),
        ({"AWS_SECRET_ACCESS_KEY": ""}, r"correct .* AWS settings \(Partial credentials"),
        ({"AWS_PROFILE": "nobody"}, r"correct .* AWS settings \(.*profile \(nobody\)"),
        ({"AWS_ENDPOINT_URL": "localhost:9000"}, r"correct .* AWS settings \(Invalid endpoint"),
        ({"AWS_ENDPOINT_URL": "http://127.0.0.1:1"}, "no whole answer .*127.0.0.1:1/"),
    ],
)
def test_an_environment_of_no_use_is_told(s3_access, tmp_path, monkeypatch, environment, told):
    monkeypatch.setenv("AWS_CONFIG_FILE", str(tmp_path / "none"))
    monkeypatch.setenv("AWS_SHARED_CREDENTIALS_FILE", str(tmp_path / "none"))
    monkeypatch.setenv("AWS_MAX_ATTEMPTS", "1")
    for name, value in environment.items():
        monkeypatch.setenv(name, value)
    assert_told("cannot list manifests: .*" + told, open_root("s3://bucket/root").versions)


@pytest.mark.parametrize(
    ("refusal", "told"),
    [
        (refuse(403, "AccessDenied", "User x\n may not"), r"use credentials .*User x may not\)$"),
        (refuse(403, "InvalidAccessKeyId"), "correct the access key and its secret"),
        (refuse(403, "SignatureDoesNotMatch"), "correct the access key and its secret"),
        (refuse(403, "RequestTimeTooSkewed"), "the clock of this machine is wrong"),
        (refuse(400, "InvalidRequest"), r"the S3 server refuses \(InvalidRequest: told to fail\)"),
        (lambda exchange: exchange.answer(403, {}, b""), "use credentials that may"),
        (lambda exchange: exchange.answer(404, {}, b"<html>"), "correct the URL"),
        (lambda exchange: exchange.answer(200, {}, b"<html>"), "or correct AWS_ENDPOINT_URL"),
    ],
)
def test_a_refusal_is_told(proxy, shared_bucket, refusal, told):
    root = open_root(f"{shared_bucket}/{uuid4().hex}")
    proxy.fail(refusal, "GET|PUT", times=10)
    assert_told(f"cannot list manifests: .*{told}", root.versions)
    assert_told(f"cannot write name: .*{told}", lambda: root.write_new("name", b""))


def assert_told(told, use):
    with pytest.raises(StorageError, match=told) as caught:
        use()
    assert "\n" not in str(caught.value)
