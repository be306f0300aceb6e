"""Logs with any one value replaced are read, or refused in one line that names the file."""

import json
import re

import pytest

from mtlirt.errors import InputError
from mtlirt.ingest import ingest
from mtlirt.ingest.runs import Choices

VALUES = ["null", "-1", "1e999", "{}", "[]", '"x"', "true", "1" * 25, '"\\ud800"', "0.5", "\x00"]


def lines(*objects):
    return "\n".join(map(json.dumps, objects))


REPORT = {
    "total_instances": 4,
    "resolved_instances": 1,
    "resolved_ids": ["a"],
    "unresolved_ids": ["b"],
    "empty_patch_ids": ["c"],
    "submitted_ids": ["a", "b", "c", "d"],
}
SUBMISSION = {
    "name": "a",
    "date": "2025-01-01",
    "resolved": 50.0,
    "per_instance_details": {"x": {"resolved": True}, "y": {"resolved": False}},
}
FAILURE = {"id": 1, "model_name": "m", "test_category": "java", "prompt": {"id": "java_0"}}
QUESTION = {"name": "q", "language": "p", "model": "m", "status": "PASS", "passed": 4, "total": 4}
ATTEMPT = {"alias": "a", "task_id": "t", "score_binarized": 1, "completed_at": 1.7e12}
LOGS = {
    "m.json": ("swebench", json.dumps(REPORT)),
    "leaderboards.json": (
        "swebench",
        json.dumps({"leaderboards": [{"name": "V", "results": [SUBMISSION]}]}),
    ),
    "performances_x.json": (
        "livecodebench",
        json.dumps({"performances": [{"model": "a", "question_id": 1, "plus": 0, "pass@1": 10}]}),
    ),
    "java_score.json": ("bfcl", lines({"correct_count": 1, "total_count": 2}, FAILURE)),
    "eval_results.json": (
        "evalplus",
        json.dumps(
            {
                "date": "2024-05-01 12:30",
                "hash": "h",
                "eval": {"H/0": [{"base_status": "pass", "plus_status": "fail"}]},
            }
        ),
    ),
    "eval_i_p_x_1708309313.ndjson": ("can-ai-code", lines(QUESTION)),
    "runs.jsonl": ("metr", lines(ATTEMPT, ATTEMPT)),
    "x.jsonlines": ("py-irt", lines({"subject_id": "m", "responses": {"a": 1, "b": 0}})),
}
METRICS = {"evalplus": "plus", "can-ai-code": "passed"}


def broken(text):
    """The text with each of its values, or keys, replaced; and cut off there."""
    for found in re.finditer(r'"[^"]*"|-?\d[\d.e+]*|true|false|null', text):
        for value in VALUES:
            yield text[: found.start()] + value + text[found.end() :]
        yield text[: found.end()]


@pytest.mark.parametrize("name", LOGS)
def test_any_broken_value(tmp_path, name):
    format_, text = LOGS[name]
    path = tmp_path / name
    options = {
        "format": format_,
        "choices": Choices(model="m", metric=METRICS.get(format_)),
        "fractions": "keep",
        "poor_domains": "keep",
    }
    path.write_text(text)
    assert ingest([path], **options)[1].cells
    said = []
    for content in broken(text):
        path.write_text(content)
        try:
            ingest([path], **options)
        except InputError as error:
            said.append(str(error))
    assert len(said) > 10
    assert [text for text in said if "\n" in text or name not in text] == []
