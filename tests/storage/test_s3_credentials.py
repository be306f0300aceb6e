"""Credentials that expire, and where none may be found."""

import logging
import multiprocessing
import pickle
import traceback
from concurrent.futures import ProcessPoolExecutor
from uuid import uuid4

import dask.array as da
import numpy as np
import pandas as pd
import pytest
import s3fs
from distributed.core import error_message

from mtlirt.responses.matrix import DomainResponses, Responses
from mtlirt.responses.store import open_responses, write_responses
from mtlirt.storage.errors import StorageError
from mtlirt.storage.root import open_root
from tests.storage.faults import refuse
from tests.storage.writers import commit, set_environment

OLD, NEW = "old-access-key", "new-access-key"
SECRETS = ["old-secret-key", "old-session-token", "new-secret-key", "new-session-token"]


def credentials(age):
    return {
        "AWS_ACCESS_KEY_ID": f"{age}-access-key",
        "AWS_SECRET_ACCESS_KEY": f"{age}-secret-key",
        "AWS_SESSION_TOKEN": f"{age}-session-token",
    }


def expired(code="ExpiredToken"):
    """What S3 answers; it repeats the token."""
    return refuse(400, code, **{"Token-0": "old-session-token"})


@pytest.fixture
def root(proxy, shared_bucket, monkeypatch):
    """A root in an environment with the old credentials, and a session that has used them."""
    for name, value in credentials("old").items():
        monkeypatch.setenv(name, value)
    s3fs.S3FileSystem.clear_instance_cache()
    root = open_root(f"{shared_bucket}/{uuid4().hex}")
    root.versions()
    proxy.requests.clear()
    yield root
    s3fs.S3FileSystem.clear_instance_cache()


@pytest.fixture
def renew(monkeypatch):
    def renew():
        for name, value in credentials("new").items():
            monkeypatch.setenv(name, value)

    return renew


@pytest.mark.parametrize("calls", range(4))
def test_renewed_credentials_are_taken_up_in_the_middle(proxy, root, renew, calls):
    def expire(exchange):
        renew()
        expired()(exchange)

    proxy.fail(expire, ".*", access_key=OLD, after=calls, times=10)
    manifest = commit(root)
    assert root.versions() == [1]
    assert list(root.damaged(manifest)) == []


@pytest.mark.parametrize("calls", [1, 3])
def test_credentials_that_stay_expired_leave_no_version(proxy, root, renew, calls):
    proxy.fail(expired(), ".*", access_key=OLD, after=calls, times=1000)
    with pytest.raises(StorageError, match=r"cannot write .*: credentials expired: renew them and"):
        commit(root)
    renew()
    assert root.versions() == []
    assert commit(root).version == 1


@pytest.mark.parametrize(
    "code", ["ExpiredTokenException", "InvalidToken", "RequestExpired", "TokenRefreshRequired"]
)
def test_they_expire_by_many_names(proxy, root, renew, code):
    proxy.fail(expired(code), "GET", access_key=OLD, times=10)
    renew()
    assert root.versions() == []
    assert proxy.count("GET", "manifests") == 2


def test_credentials_that_a_profile_gives_may_be_expired_too(root, tmp_path, monkeypatch):
    provider = tmp_path / "provider"
    provider.write_text(
        '#!/bin/sh\necho \'{"Version": 1, "AccessKeyId": "x", "SecretAccessKey": "old-secret-key",'
        ' "SessionToken": "old-session-token", "Expiration": "2020-01-01T00:00:00Z"}\'\n'
    )
    provider.chmod(0o755)
    config = tmp_path / "config"
    config.write_text(f"[profile stale]\ncredential_process = {provider}\n")
    monkeypatch.setenv("AWS_CONFIG_FILE", str(config))
    monkeypatch.setenv("AWS_PROFILE", "stale")
    for name in credentials("old"):
        monkeypatch.delenv(name)
    s3fs.S3FileSystem.clear_instance_cache()
    with pytest.raises(StorageError, match="credentials expired: renew them") as caught:
        root.versions()
    assert_no_secret(shown(caught.value))


@pytest.mark.parametrize(
    "refusal", [expired(), refuse(403, "AccessDenied"), refuse(403, "SignatureDoesNotMatch")]
)
def test_an_error_shows_no_secret_here_or_on_its_way_over_dask(proxy, root, refusal, caplog):
    caplog.set_level(logging.INFO)
    proxy.fail(refusal, "PUT", times=1000)
    with pytest.raises(StorageError) as caught:
        commit(root)
    assert_no_secret(shown(caught.value))
    assert_no_secret(caplog.text)


def shown(error):
    """All that may be printed of an error or sent to another process."""
    sent = error_message(error)
    return "".join(
        [
            *traceback.format_exception(error),
            repr(error.__cause__.args),
            *(str(sent[part].data) for part in ("exception", "traceback")),
            sent["exception_text"],
            sent["traceback_text"],
        ]
    )


def assert_no_secret(shown):
    assert [secret for secret in SECRETS if secret in str(shown)] == []


def responses(models=4, items=3):
    array = np.random.default_rng(0).integers(0, 2, (models, items), dtype="int8")
    return Responses(
        domains={"d": DomainResponses(da.from_array(array, chunks=(2, items)))},
        models=pd.DataFrame(index=pd.Index([f"m{k}" for k in range(models)], name="model_id")),
        items=pd.DataFrame(
            index=pd.MultiIndex.from_product(
                [["d"], [f"i{k}" for k in range(items)]], names=["domain", "item_id"]
            )
        ),
    )


def test_nothing_that_travels_or_stays_holds_a_secret(root):
    given = responses()
    write_responses(given, root.url, history={}, chunks=(2, 3))
    array = open_responses(root.url).domains["d"].array
    assert_no_secret(pickle.dumps(root))
    assert_no_secret(pickle.dumps(array))
    assert_no_secret(pickle.dumps(dict(array.__dask_graph__())))
    manifest = root.manifest()
    assert_no_secret(root.read_bytes("manifests/000000000001.json"))
    assert_no_secret([root.read(manifest, file.name) for file in manifest.files])


def test_a_root_uses_the_credentials_of_the_process_it_is_in(proxy, root):
    manifest = commit(root)
    proxy.fail(expired(), ".*", access_key=OLD, times=1000)
    spawn = multiprocessing.get_context("spawn")
    with ProcessPoolExecutor(1, spawn, set_environment, [credentials("new")]) as pool:
        assert pool.submit(root.read, manifest, "table").result() == b"content"


@pytest.mark.parametrize("renewed", [True, False])
def test_credentials_that_expire_while_blocks_are_written(proxy, root, renew, renewed):
    def expire(exchange):
        if renewed:
            renew()
        expired()(exchange)

    given = responses()
    proxy.fail(expire, "PUT", "c/", access_key=OLD, after=1, times=1000)
    if renewed:
        assert write_responses(given, root.url, history={}, chunks=(2, 3)) == 1
        read = open_responses(root.url).domains["d"].array
        np.testing.assert_array_equal(read.compute(), given.domains["d"].array.compute())
    else:
        with pytest.raises(StorageError, match="credentials expired"):
            write_responses(given, root.url, history={}, chunks=(2, 3))
        assert root.versions() == []
