"""Sources behind http:// and hf://: as their local copies, or an error of one line."""

import gzip
import http.server
import sys
import threading
import time
import uuid
from contextlib import suppress

import numpy as np
import pandas as pd
import pytest
from fsspec.implementations.memory import MemoryFileSystem
from fsspec.registry import _registry

from mtlirt.errors import InputError
from mtlirt.ingest import remote, web
from mtlirt.ingest.files import ingest
from mtlirt.storage.errors import StorageError

GOOD = b"model_id,item_id,correct\na,q,1\nb,q,0\n"


class Handler(http.server.BaseHTTPRequestHandler):
    """Serves `server.files`, with ranges or without, and fails as it is told."""

    protocol_version = "HTTP/1.1"

    def log_message(self, *_):
        pass

    def do_HEAD(self):
        self.answer(body=False)

    def do_GET(self):
        self.answer(body=True)

    def answer(self, *, body):
        trouble = self.server.trouble
        name = self.path.partition("?")[0].removeprefix("/")
        content = self.server.files.get(name)
        if content is None or trouble == "forbidden":
            self.send_response(404 if content is None else 403)
            self.send_header("Content-Length", "0")
            self.end_headers()
            return
        asked = self.headers.get("Range")
        if trouble == "slow" and asked:
            time.sleep(2)
        part = content
        if asked and self.server.ranges:
            first, last = map(int, asked.removeprefix("bytes=").split("-"))
            part = content[first : last + 1]
            self.send_response(206)
            self.send_header("Content-Range", f"bytes {first}-{first + len(part) - 1}/*")
        else:
            self.send_response(200)
        if body and trouble == "short":
            part = part[: len(part) // 2]
        announced = len(part)
        if trouble != "unsized":
            self.send_header("Content-Length", str(announced))
        else:
            self.send_header("Connection", "close")
        self.end_headers()
        if body:
            with suppress(BrokenPipeError, ConnectionResetError):
                self.wfile.write(part[: len(part) // 2] if trouble == "cut" else part)
        if trouble in ("cut", "unsized"):
            self.close_connection = True


@pytest.fixture(params=[True, False], ids=["ranges", "whole"])
def server(request):
    with http.server.ThreadingHTTPServer(("127.0.0.1", 0), Handler) as server:
        server.files, server.trouble, server.ranges = {}, "", request.param
        server.url = f"http://127.0.0.1:{server.server_port}"
        thread = threading.Thread(target=server.serve_forever, args=(0.01,))
        thread.start()
        yield server
        server.shutdown()
        thread.join()


@pytest.mark.parametrize(
    "name", ["x.csv", "x.csv.gz", "x.jsonl", "x.parquet", "w.csv", "w.parquet"]
)
@pytest.mark.parametrize("trouble", ["", "unsized"])
def test_tables_read_as_their_local_copies(server, tmp_path, same, monkeypatch, name, trouble):
    server.trouble = trouble
    monkeypatch.setattr(remote, "BLOCK", 1 << 10)
    rng = np.random.default_rng(1)
    rows = [(f"m{i}", f"i{j}", int(rng.integers(0, 2))) for i in range(20) for j in range(30)]
    table = pd.DataFrame(rows, columns=["model_id", "item_id", "correct"])
    if name.startswith("w"):
        table = table.pivot_table("correct", "model_id", "item_id").reset_index()
    path = tmp_path / name
    if name.endswith("parquet"):
        table.to_parquet(path)
    elif name.endswith("jsonl"):
        table.to_json(path, orient="records", lines=True)
    else:
        text = table.to_csv(index=False).encode()
        path.write_bytes(gzip.compress(text) if name.endswith("gz") else text)
    server.files[name] = path.read_bytes()
    responses, report = ingest([f"{server.url}/{name}?download=true"])
    same(responses, ingest([path])[0])
    assert report.taken[0].sha256 == ingest([path])[1].taken[0].sha256
    assert report.records == 600


@pytest.mark.parametrize(
    ("trouble", "said"),
    [
        ("forbidden", "the server answers 403 Forbidden"),
        ("cut", "no whole answer from the server"),
        ("short", "announced|no whole answer"),
        ("slow", "does not answer in time"),
    ],
)
def test_servers_that_fail(server, monkeypatch, trouble, said):
    monkeypatch.setitem(web.TIMEOUTS, "sock_read", 0.5)
    lines = b"".join(b"m%d,q,1\nm%d,r,0\n" % (k, k) for k in range(200))
    server.files["x.csv"] = b"model_id,item_id,correct\n" + lines
    server.trouble = trouble
    with pytest.raises(StorageError, match=f"^{server.url}/x.csv: .*({said})") as caught:
        ingest([f"{server.url}/x.csv"])
    assert "\n" not in str(caught.value)


def test_what_is_not_there(server):
    server.files["x.csv"] = GOOD
    with pytest.raises(InputError, match=r"/y.csv: no such file"):
        ingest([f"{server.url}/y.csv"])
    with pytest.raises(InputError, match=r"models.csv: no such file"):
        ingest([f"{server.url}/x.csv"], models=f"{server.url}/models.csv")
    with pytest.raises(InputError, match="folders behind http:// cannot be listed; name each file"):
        ingest([f"{server.url}/x/"])


@pytest.mark.parametrize(
    ("source", "error", "said"),
    [
        ("http://127.0.0.1:9/x.csv", StorageError, "x.csv: cannot reach the server"),
        ("https://127.0.0.1", InputError, "names no file, expected https://SERVER/FILE"),
        ("https:///x.csv", InputError, "names no file"),
        ("https://me:secret@host/x.csv", InputError, "before whose server"),
    ],
)
def test_places_that_are_none(source, error, said):
    with pytest.raises(error, match=said) as caught:
        ingest([source])
    assert "secret" not in str(caught.value)


def test_the_hub_needs_its_package(monkeypatch):
    monkeypatch.setitem(sys.modules, "huggingface_hub", None)
    monkeypatch.delitem(_registry, "hf", raising=False)
    with pytest.raises(InputError, match=r"huggingface_hub: pip install 'mtlirt\[hf\]'"):
        ingest(["hf://datasets/org/name/x.csv"])


class Hub(MemoryFileSystem):
    """Files in memory under another name."""

    protocol = ("hf",)
    store, pseudo_dirs = {}, [""]


def test_files_and_folders_on_the_hub(monkeypatch):
    monkeypatch.setitem(_registry, "hf", Hub)
    folder = f"datasets/org/{uuid.uuid4().hex}@main"
    for name in ("a/x.csv", "b/y.csv", ".gitattributes"):
        Hub().pipe_file(f"/{folder}/{name}", GOOD if "csv" in name else b"what")
    _, report = ingest([f"hf://{folder}/a/x.csv"])
    assert report.records == 2
    _, report = ingest([f"hf://{folder}"], duplicates="first")
    assert [count.records for count in report.files] == [2, 2]
    with pytest.raises(InputError, match="no such file or folder"):
        ingest([f"hf://{folder}/z.csv"])
