"""Public fault O33: hostile ids from logs through a store to a report; broken lines."""

import html
import json
import re

import pytest

from mtlirt.cli.app import run
from mtlirt.errors import InputError
from mtlirt.ingest import ingest
from mtlirt.ingest.runs import Choices
from mtlirt.responses.store import open_responses, write_responses

IDS = ["[", "[100%]", "#15789", '"', "a|b|c", "x" * 10_000, "a\nb"]
MODELS = ['m"[|]', "#m\n", "<m>"]


def value(model, item):
    return (7 * MODELS.index(model) + IDS.index(item) ** 2) % 3 % 2


def py_irt(folder):
    path = folder / "x.jsonlines"
    lines = [{"subject_id": m, "responses": {item: value(m, item) for item in IDS}} for m in MODELS]
    path.write_text("".join(json.dumps(line) + "\n" for line in lines))
    return [path]


def swebench(folder):
    for k, m in enumerate(MODELS):
        lists = {"resolved_ids": [], "unresolved_ids": []}
        for item in IDS:
            lists["resolved_ids" if value(m, item) else "unresolved_ids"].append(item)
        path = folder / f"{k}.run.json"
        path.write_text(json.dumps({"total_instances": 7, "model_name_or_path": m, **lists}))
    return sorted(folder.glob("*.json"))


def leaderboards(folder):
    results = [
        {
            "name": m,
            "per_instance_details": {item: {"resolved": bool(value(m, item))} for item in IDS},
        }
        for m in MODELS
    ]
    path = folder / "leaderboards.json"
    path.write_text(json.dumps({"leaderboards": [{"name": "default", "results": results}]}))
    return [path]


def livecodebench(folder):
    entries = [
        {"model": m, "question_id": 1, "sample_id": item, "pass@1": 100 * value(m, item)}
        for m in MODELS
        for item in IDS
    ]
    path = folder / "performances_x.json"
    path.write_text(json.dumps({"performances": entries}))
    return [path]


def metr(folder):
    lines = [
        {"alias": m, "task_id": item, "score_binarized": value(m, item)}
        for m in MODELS
        for item in IDS
    ]
    path = folder / "runs.jsonl"
    path.write_text("".join(json.dumps(line) + "\n" for line in lines))
    return [path]


@pytest.mark.parametrize("save", [py_irt, swebench, leaderboards, livecodebench, metr])
def test_ids_come_back_from_a_store(tmp_path, cells_of, save):
    folder = tmp_path / "logs"
    folder.mkdir()
    responses, report = ingest(save(folder), pool=["metric"])
    write_responses(responses, tmp_path / "store", history={"report": report.to_dict()})
    back = cells_of(open_responses(tmp_path / "store"))
    assert {(m, item): v for (m, _, item), v in back.items()} == {
        (m, item): value(m, item) for m in MODELS for item in IDS
    }
    assert all("\n" not in line for line in report.lines())


def test_ids_are_in_the_report_of_a_fit(tmp_path, capsys):
    (path,) = py_irt(tmp_path)
    store, snapshots, out = (str(tmp_path / name) for name in ("store", "snapshots", "r.html"))
    assert run(["ingest", str(path), "--out", store]) == 0
    fit = ["fit", store, "--snapshots", snapshots, "--estimator", "separate", "--max-rounds", "2"]
    assert run([*fit, "--threads", "1"]) == 0
    assert run(["report", snapshots, "--out", out]) == 0
    capsys.readouterr()
    page = (tmp_path / "r.html").read_text(encoding="utf-8")
    told = re.search(r'<script type="application/json" id="report-data">(.*?)</script>', page, re.S)
    found = set(texts(json.loads(told[1])))
    assert set(IDS) <= found
    assert set(MODELS) <= found | {html.unescape(text) for text in re.findall(r">([^<]*)<", page)}


def texts(content):
    """All texts of a JSON document."""
    if isinstance(content, str):
        yield content
    elif isinstance(content, dict | list):
        for part in content.values() if isinstance(content, dict) else content:
            yield from texts(part)


@pytest.mark.parametrize(
    ("name", "line"),
    [
        ("x.jsonlines", '{"subject_id": "m", "responses": {"a": 1}}'),
        ("runs.jsonl", '{"alias": "m", "task_id": "a", "score_binarized": 1}'),
        (
            "eval_i_python_x_1708309313.ndjson",
            '{"name": "a", "language": "p", "model": "m", "status": "PASS", "passed":1,"total":1}',
        ),
    ],
)
def test_a_raw_line_break_in_a_line_is_named(tmp_path, name, line):
    path = tmp_path / name
    path.write_text(f"{line}\n{line.replace('a', 'a' + chr(10), 1)}\n")
    with pytest.raises(InputError, match=rf"{name} line 2: broken JSON: ") as error:
        ingest([path], choices=Choices(metric=None if name[0] != "e" else "status"))
    assert "\n" not in str(error.value)


def test_a_raw_line_break_in_a_document_is_named(tmp_path):
    path = tmp_path / "m.json"
    path.write_text('{\n"total_instances": 1,\n"resolved_ids": ["a\nb"]}')
    with pytest.raises(InputError, match=r"m\.json: broken JSON: .*line 3") as error:
        ingest([path], choices=Choices(model="m"))
    assert "\n" not in str(error.value)


def test_a_raw_line_break_in_a_list_of_failures_is_named(tmp_path):
    path = tmp_path / "java_score.json"
    counts = '{"accuracy": 0.0, "correct_count": 0, "total_count": 1}'
    path.write_text(f'{counts}\n{{"id": 1, "model_name": "a\nb"}}\n')
    with pytest.raises(InputError, match=r"java_score\.json line 2: broken JSON: "):
        ingest([path])
