"""Whose a file is: no format takes another's."""

import gzip

import pytest

from mtlirt.ingest.registry import formats

MINE = {
    "swebench": "swebench",
    "livecodebench": "livecodebench",
    "bfcl_score": "bfcl",
    "can_ai_code": "can-ai-code",
    "metr": "metr",
    "py_irt_jsonlines": "py-irt",
}


@pytest.mark.data
def test_published_files_are_told_apart(data):
    for path in (data / "native").rglob("*"):
        if not path.is_file():
            continue
        with gzip.open(path) if path.suffix == ".gz" else path.open("rb") as file:
            head = file.read(4096)
        folder = path.relative_to(data / "native").parts[0]
        claims = {
            name: role
            for name, format_ in formats().items()
            if name in {*MINE.values(), "evalplus"}
            and (role := format_.role(path, head)) is not None
        }
        assert claims == ({MINE[folder]: "log"} if folder in MINE else {}), path


def test_tables_are_no_logs(tmp_path):
    for name, head in {
        "x.csv": b"model_id,item_id,correct\n",
        "x.jsonl": b'{"model_id": "m", "item_id": "q", "correct": 1}\n',
        "eval_a_b.ndjson": b'{"model_id": "m", "item_id": "q", "correct": 1}\n',
        "eval_results.json": b'{"results": {}}',
        "performances_x.json": b"[]",
        "x_score.json": b'{"score": 1}',
        "report.json": b'{"total": 1}',
    }.items():
        assert all(each.role(tmp_path / name, head) is None for each in formats().values()), name
