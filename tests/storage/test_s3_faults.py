"""An S3 server that fails: the work is done all the same, or refused without a trace."""

from uuid import uuid4

import pytest

from mtlirt.storage import s3
from mtlirt.storage.errors import StorageError
from mtlirt.storage.root import open_root
from tests.storage import faults
from tests.storage.faults import refuse
from tests.storage.writers import commit

FOREVER = float("inf")
SERVER_FAILS = "the S3 server fails"
NO_ANSWER = "no whole answer from the S3 server"

CONFLICT = (refuse(409, "ConditionalRequestConflict"), SERVER_FAILS)
LOST_RESPONSE = (faults.lose_response, NO_ANSWER)
FAULTS = {
    "internal error": (refuse(500, "InternalError"), SERVER_FAILS),
    "slow down": (refuse(503, "SlowDown"), SERVER_FAILS),
    "reset": (faults.reset, NO_ANSWER),
}
WRITE_FAULTS = FAULTS | {"lost response": LOST_RESPONSE, "conflict": CONFLICT}
READ_FAULTS = FAULTS | {
    "cut short": (faults.cut_short, NO_ANSWER),
    "broken off": (faults.break_off, NO_ANSWER),
    "shortened": (faults.shorten, NO_ANSWER),
}


@pytest.fixture
def root(proxy, shared_bucket):
    return open_root(f"{shared_bucket}/{uuid4().hex}")


def all_of(table):
    return pytest.mark.parametrize(("fault", "told"), table.values(), ids=table)


@all_of(WRITE_FAULTS)
@pytest.mark.parametrize("kind", ["data", "manifests"])
def test_a_write_goes_through_when_a_fault_passes(proxy, root, fault, told, kind):
    proxy.fail(fault, "PUT", f"/{kind}/", times=2)
    manifest = commit(root)
    assert proxy.count("PUT", f"/{kind}/") >= 3
    assert root.versions() == [manifest.version] == [1]
    assert root.manifest() == manifest
    assert list(root.damaged(manifest)) == []


@all_of(WRITE_FAULTS)
def test_a_fault_in_the_data_that_stays_leaves_no_version(proxy, root, fault, told):
    proxy.fail(fault, "PUT", "/data/", times=FOREVER)
    with pytest.raises(StorageError, match=rf"cannot write data/.*: {told}"):
        commit(root)
    assert root.versions() == []
    assert root.names("data") == []


@all_of(FAULTS | {"conflict": CONFLICT})
def test_a_fault_in_the_manifest_that_stays_leaves_no_version(proxy, root, fault, told):
    proxy.fail(fault, "PUT", "/manifests/", times=FOREVER)
    with pytest.raises(StorageError, match=rf"cannot write manifests/.*: {told}"):
        commit(root)
    assert root.versions() == []
    proxy.faults.clear()
    assert commit(root).version == 1


def test_a_conflict_with_a_writer_who_wins_takes_the_next_number(proxy, root):
    def another_wins(exchange):
        commit(root, b"of the other")
        CONFLICT[0](exchange)

    proxy.fail(another_wins, "PUT", "/manifests/")
    assert commit(root, b"mine").version == 2
    assert [root.read(root.manifest(k), "table") for k in (1, 2)] == [b"of the other", b"mine"]


@all_of(READ_FAULTS)
def test_a_read_goes_through_when_a_fault_passes(proxy, root, fault, told):
    manifest = commit(root)
    for path in ["list-type=2", "/manifests/", "/data/"]:
        proxy.fail(fault, "GET", path, times=2)
    assert root.manifest() == manifest
    assert root.read(manifest, "table") == b"content"
    assert all(fault.times < 0 for fault in proxy.faults)


@all_of(READ_FAULTS)
def test_a_read_is_refused_by_name_when_a_fault_stays(proxy, root, fault, told):
    manifest = commit(root)
    path = manifest.by_name["table"].path
    proxy.fail(fault, "GET", "/data/", times=FOREVER)
    with pytest.raises(StorageError, match=rf"^{root.url}: cannot read {path}: {told}"):
        root.read(manifest, "table")


@all_of({name: FAULTS[name] for name in ["internal error", "reset"]})
def test_a_listing_is_whole_or_refused(proxy, root, fault, told, monkeypatch):
    monkeypatch.setenv("MOTO_S3_DEFAULT_MAX_KEYS", "2")
    for name in "abc":
        root.put(f"folder/{name}", b"")
    proxy.fail(fault, "GET", "continuation-token", times=2)
    assert root.names("folder") == list("abc")
    proxy.fail(fault, "GET", "continuation-token", times=FOREVER)
    with pytest.raises(StorageError, match=f"cannot list folder: {told}"):
        root.names("folder")


@pytest.fixture
def impatient(monkeypatch):
    monkeypatch.setitem(s3.TIMEOUTS, "read_timeout", faults.PAUSE / 2)


def test_silence_that_ends_is_overcome(proxy, root, impatient):
    proxy.fail(faults.stall, "PUT", "/manifests/")
    proxy.fail(faults.stall_midway, "GET", "/data/")
    manifest = commit(root)
    assert root.read(manifest, "table") == b"content"
    assert root.versions() == [1]


@pytest.mark.parametrize("fault", [faults.stall, faults.stall_midway])
def test_silence_is_not_waited_for_without_end(proxy, root, impatient, fault):
    root.put("name", b"content")
    proxy.fail(fault, "GET", "name", times=FOREVER)
    with pytest.raises(StorageError, match=f"cannot read name: {NO_ANSWER}"):
        root.read_bytes("name")


@pytest.mark.parametrize(("status", "tries"), [(500, 3), (503, 3), (429, 3), (409, 3), (400, 1)])
def test_botocore_and_this_package_do_not_multiply_their_tries(proxy, root, status, tries):
    proxy.fail(refuse(status, "SomeError"), "PUT", "name", times=FOREVER)
    with pytest.raises(StorageError):
        root.write_new("name", b"")
    assert proxy.count("PUT", "name") == tries


def test_what_could_not_be_removed_is_told(proxy, root):
    root.put("folder/name", b"")
    error = "<Error><Key>folder/name</Key><Code>AccessDenied</Code><Message>no</Message></Error>"
    answer = f"<DeleteResult>{error}</DeleteResult>".encode()
    proxy.fail(lambda exchange: exchange.answer(200, {}, answer), "POST", "delete")
    with pytest.raises(StorageError, match=r"folder/name stays \(AccessDenied\)"):
        root.remove_folder("folder")
