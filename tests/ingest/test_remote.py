"""Sources behind URLs: as their local copies, or an error that names them."""

import gzip
import json
import threading

import moto.settings
import numpy as np
import pandas as pd
import pytest
import s3fs
from botocore.exceptions import EndpointConnectionError

from mtlirt.errors import InputError
from mtlirt.ingest import delimited, remote
from mtlirt.ingest.files import ingest
from mtlirt.storage.errors import StorageError

MODELS, ITEMS = [f"m{k}" for k in range(5)], ['i"1', "i2", "é,3", "i\n4"]


@pytest.fixture(scope="session")
def tidy():
    rng = np.random.default_rng(3)
    rows = [(model, item, f"d{item[-1]}") for model in MODELS for item in ITEMS]
    table = pd.DataFrame(rows, columns=["model_id", "item_id", "domain"])
    return table.assign(correct=rng.integers(0, 2, len(table)), note="x")


def tell(report, base):
    """A report as text, with its files named from their folder."""
    return json.dumps(report.to_dict()).replace(f"{base}/", "")


@pytest.fixture
def check_alike(tmp_path, place, upload, same):
    """Check that sources read alike here and there."""

    def check_alike(names, **options):
        upload(place)
        read = [
            ingest(
                [f"{base}/{name}".rstrip("/") for name in names],
                **{
                    key: f"{base}/{value}" if key in {"models", "items"} else value
                    for key, value in options.items()
                },
            )
            for base in (tmp_path, place)
        ]
        same(read[0][0], read[1][0])
        assert tell(read[0][1], tmp_path) == tell(read[1][1], place)
        return read[1]

    return check_alike


@pytest.mark.parametrize("gz", ["", ".gz"])
@pytest.mark.parametrize("suffix", ["csv", "tsv", "jsonl"])
def test_tidy_text(write, tidy, check_alike, suffix, gz):
    if suffix == "jsonl":
        text = tidy.to_json(orient="records", lines=True)
    else:
        text = tidy.to_csv(index=False, sep="\t" if suffix == "tsv" else ",")
    write(f"x.{suffix}{gz}", gzip.compress(text.encode()) if gz else text)
    responses, report = check_alike([f"x.{suffix}{gz}"])
    assert (len(responses.models), len(responses.items)) == (5, 4)
    assert report.ignored_columns == ("note",)


@pytest.mark.parametrize("gz", ["", ".gz"])
def test_wide_text(write, tidy, check_alike, gz):
    text = tidy.pivot_table("correct", "model_id", "item_id").to_csv()
    write(f"x.csv{gz}", gzip.compress(text.encode()) if gz else text)
    responses, _ = check_alike([f"x.csv{gz}"])
    assert len(responses.items) == 4


@pytest.mark.parametrize("layout", ["tidy", "wide"])
def test_parquet(tmp_path, tidy, check_alike, layout):
    wide = tidy.pivot_table("correct", "model_id", "item_id").reset_index()
    (tidy if layout == "tidy" else wide).to_parquet(tmp_path / "x.parquet", row_group_size=7)
    responses, _ = check_alike(["x.parquet"])
    assert len(responses.items) == 4


@pytest.mark.parametrize("layout", ["tidy", "wide"])
def test_no_thread_of_arrow_reads_remote_parquet(
    tmp_path, tidy, place, upload, monkeypatch, layout
):
    readers, readinto = set(), remote.RemoteFile.readinto

    def watched(file, buffer):
        readers.add(threading.current_thread())
        return readinto(file, buffer)

    monkeypatch.setattr(remote.RemoteFile, "readinto", watched)
    wide = tidy.pivot_table("correct", "model_id", "item_id").reset_index()
    (tidy if layout == "tidy" else wide).to_parquet(tmp_path / "x.parquet", row_group_size=3)
    upload(place)
    ingest([f"{place}/x.parquet"])
    assert readers == {threading.main_thread()}


def test_empty_files(write, check_alike):
    for name in ("a.parquet", "b.csv", "c.jsonl", "d.csv.gz"):
        write(name, gzip.compress(b"") if name.endswith("gz") else b"")
    write("z.csv", "model_id,item_id,correct\na,q,1\nb,q,0\n")
    _, report = check_alike([""])
    assert len(report.empty_files) == 4


def test_folders_in_the_order_of_their_paths_whatever_the_names(write, check_alike):
    names = ["a/x.csv", "a-b/x.csv", "a.csv", "é/z b#?%20[1].csv", "f/a::b@3.csv", "f/~/x.CSV"]
    for value, name in enumerate(names):
        write(name, f"model_id,item_id,correct\na,q,{value % 2}\nb,q,1\nb,{value},1\na,{value},0\n")
    write("a/notes.txt", "x")
    write(".hidden/x.csv", "broken")
    write("a/.x.csv", "broken")
    for rule in ("first", "last"):
        _, report = check_alike([""], conflicts=rule, duplicates="first")
        assert len(report.files) == len(names)
        assert len(report.skipped_files) == 1
    check_alike(["f", "a/x.csv", "f/a::b@3.csv"], conflicts="last", duplicates="first")


def test_metadata(write, tidy, check_alike, tmp_path):
    write("x.csv", tidy.to_csv(index=False))
    pd.DataFrame({"model_id": MODELS, "size": range(5)}).to_parquet(tmp_path / "models.parquet")
    items = "".join(json.dumps({"item_id": item, "weight": 2}) + "\n" for item in ITEMS)
    write("items.jsonl.gz", gzip.compress(items.encode()))
    responses, _ = check_alike(["x.csv"], models="models.parquet", items="items.jsonl.gz")
    assert responses.models["size"].tolist() == list(range(5))
    write("models.csv", "model_id,maker\nm1,acme\n")
    _, report = check_alike(["x.csv"], models="models.csv")
    assert report.models_without_metadata == 4


def test_a_file_url_is_a_local_path(write, tmp_path):
    write("a b.csv", "model_id,item_id,correct\na,q,1\nb,q,0\n")
    _, report = ingest([f"file://{tmp_path}/a%20b.csv"])
    assert report.files[0].name == f"{tmp_path}/a b.csv"


def test_broken_content_is_named_as_a_local_copy_is(write, tmp_path, place, upload):
    contents = {
        "a.csv": "model_id,item_id,correct\na,q,1\nb,q\n",
        "b.csv": "model_id,item_id,correct\na,q,7\nb,q,1\n",
        "c.csv.gz": "not gzip",
        "d.jsonl.gz": gzip.compress(b'{"model_id": "a"}' * 99)[:-9],
        "e.jsonl": '{"model_id": 1}\n{"',
        "f.parquet": "PAR1 and no more",
        "g.csv": b"model_id,item_id,correct\n\xff,q,1\n",
        "h.txt": "what",
        "folder/x.txt": "no source",
        "nothing.csv": None,
    }
    for name, content in contents.items():
        if content is not None:
            write(name, content)
    upload(place)
    for name in [*contents, "folder", "no folder"]:
        said = []
        for base in (tmp_path, place):
            with pytest.raises(InputError) as caught:
                ingest([f"{base}/{name}"])
            said.append(str(caught.value).replace(str(base), ""))
        assert said[0] == said[1]
        assert said[0].startswith(f"/{name}")


def test_nothing_is_remembered_of_what_was_there(bucket):
    files = s3fs.S3FileSystem(skip_instance_cache=True)
    for count in (1, 2):
        text = "model_id,item_id,correct\n" + "a,q,1\nb,q,0\n" * count
        files.pipe_file(f"{bucket}/folder/x.csv", text.encode())
        files.pipe_file(f"{bucket}/folder/{count}.csv", b"")
        _, report = ingest([f"{bucket}/folder"], duplicates="first")
        assert len(report.files) == count + 1
        assert report.records == 2 * count


@pytest.mark.parametrize("name", ["x.csv", "x.csv.gz", "x.jsonl", "x.jsonl.gz", "x.parquet"])
def test_large_objects_stream(bucket, upload, write, tmp_path, monkeypatch, name):
    block, count = 1 << 14, 20_000
    noise = np.random.default_rng(0).integers(0, 1 << 40, count).astype(str)
    table = pd.DataFrame({"model_id": "m", "item_id": noise, "correct": 1})
    if name == "x.parquet":
        table.to_parquet(tmp_path / name, row_group_size=500)
    else:
        lines = table.to_csv(index=False)
        if "jsonl" in name:
            lines = table.to_json(orient="records", lines=True)
        write(name, gzip.compress(lines.encode()) if name.endswith("gz") else lines)
    upload(bucket)
    spans, fetch = [], s3fs.core.S3File._fetch_range

    def watched(file, start, end):
        spans.append(end - start)
        return fetch(file, start, end)

    monkeypatch.setattr(s3fs.core.S3File, "_fetch_range", watched)
    monkeypatch.setattr(remote, "BLOCK", block)
    monkeypatch.setattr(delimited, "_BLOCK", block)
    monkeypatch.setattr("mtlirt.ingest.lending._BUFFER", block)
    _, report = ingest([f"{bucket}/{name}"], poor_domains="keep")
    assert report.records == count
    whole = (tmp_path / name).stat().st_size
    assert whole > 8 * block
    assert max(spans) <= max(4 * block, 1 << 17) < whole


NO_SERVER = EndpointConnectionError(endpoint_url="http://x")


@pytest.mark.parametrize(
    ("kind", "failure", "said"),
    [
        ("x.csv", NO_SERVER, "the S3 server"),
        ("x.csv.gz", NO_SERVER, "the S3 server"),
        ("x.jsonl", NO_SERVER, "the S3 server"),
        ("x.parquet", NO_SERVER, "the S3 server"),
        ("x.csv", PermissionError("Forbidden"), "access denied"),
        ("x.csv", FileNotFoundError("x"), "was removed meanwhile"),
        ("x.csv", s3fs.utils.FileExpired("x", "y"), "was replaced while it was read"),
    ],
)
def test_a_place_that_fails_midway(
    bucket, upload, tidy, tmp_path, monkeypatch, kind, failure, said
):
    def fail(file, start, end):
        raise failure

    path = tmp_path / kind
    if kind == "x.parquet":
        tidy.to_parquet(path)
    elif kind == "x.jsonl":
        tidy.to_json(path, orient="records", lines=True)
    else:
        tidy.to_csv(path)
    upload(bucket)
    monkeypatch.setattr(s3fs.core.S3File, "_fetch_range", fail)
    with pytest.raises(StorageError, match=f"^{bucket}/{kind}: .*{said}"):
        ingest([f"{bucket}/{kind}"])


@pytest.mark.parametrize(
    ("source", "said"),
    [
        ("s3://no-such-bucket-here/x.csv", "there is no bucket no-such-bucket-here"),
        ("s3://no-such-bucket-here", "there is no bucket no-such-bucket-here"),
        ("s3://", "names no bucket"),
        ("s3:///x.csv", "names no bucket"),
        ("gopher://x/y.csv", r"cannot read gopher://; .* file://, .*, s3://"),
    ],
)
def test_places_that_are_none(s3_access, source, said):
    with pytest.raises(InputError, match=f"^{source}.*: {said}"):
        ingest([source])


@pytest.fixture
def no_server(s3_access, monkeypatch):
    monkeypatch.setenv("AWS_ENDPOINT_URL", "http://127.0.0.1:9")
    monkeypatch.setenv("AWS_MAX_ATTEMPTS", "1")


@pytest.fixture
def no_credentials(s3_access, monkeypatch, tmp_path):
    monkeypatch.delenv("AWS_ACCESS_KEY_ID")
    monkeypatch.delenv("AWS_SECRET_ACCESS_KEY")
    for name in ("AWS_SHARED_CREDENTIALS_FILE", "AWS_CONFIG_FILE"):
        monkeypatch.setenv(name, str(tmp_path / "none"))


@pytest.fixture
def no_access(s3_access, monkeypatch):
    """The server asks who may do what, and this is nobody."""
    monkeypatch.setattr(moto.settings, "INITIAL_NO_AUTH_ACTION_COUNT", 0)


@pytest.mark.parametrize(
    ("trouble", "said"),
    [
        ("no_server", ".* S3 server: .*AWS_ENDPOINT_URL"),
        ("no_credentials", "no credentials found: set AWS_ACCESS_KEY_ID"),
        ("no_access", "access denied"),
    ],
)
@pytest.mark.parametrize("url", ["s3://some-bucket/x.csv", "s3://some-bucket/"])
def test_places_out_of_reach(request, trouble, said, url, write):
    request.getfixturevalue(trouble)
    with pytest.raises(StorageError, match=f"^{url}: {said}") as caught:
        ingest([url])
    assert "secret" not in str(caught.value)
    local = write("x.csv", "model_id,item_id,correct\na,q,1\nb,q,0\n")
    with pytest.raises(StorageError, match=f"^{url}: {said}"):
        ingest([local], models=url)
