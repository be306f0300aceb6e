"""py-irt: a model a line."""

import gzip
import json

import pytest

from mtlirt.errors import InputError
from mtlirt.ingest import ingest

LINES = [
    {"subject_id": "m", "responses": {"q": 1, "r": 0}},
    {"subject_id": "n", "responses": {"q": 0, "r": None}},
]


def save(path, lines=LINES):
    path.write_text("".join(json.dumps(each) + "\n" for each in lines))
    return path


def test_a_line_is_a_model(tmp_path, cells_of):
    responses, report = ingest([save(tmp_path / "x.jsonlines")], domain="d")
    assert cells_of(responses) == {("m", "default", "q"): 1} | {
        ("m", "default", "r"): 0,
        ("n", "default", "q"): 0,
    }
    assert [run.records for run in report.runs] == [2, 2]
    assert report.missing == 1


@pytest.mark.parametrize(
    ("line", "said"),
    [
        ({"subject_id": 7, "responses": {}}, "line 3: expected subject_id, a text, and responses"),
        ({"subject_id": "k", "responses": [1]}, "line 3: expected subject_id, a text, and respon"),
        ({"subject_id": "k", "responses": {"q": 2}}, "line 3: model 'k', item 'q': correct is 2"),
        ({"subject_id": "k", "responses": {"q": [1]}}, r"line 3: correct is \[1\], expected a num"),
    ],
)
def test_what_is_refused(tmp_path, line, said):
    with pytest.raises(InputError, match=rf"x\.jsonlines {said}"):
        ingest([save(tmp_path / "x.jsonlines", [*LINES, line])])


def test_elsewhere(tmp_path, place, upload, same):
    path = save(tmp_path / "x.jsonlines")
    upload(place)
    same(ingest([path])[0], ingest([f"{place}/x.jsonlines"])[0])


@pytest.mark.data
@pytest.mark.parametrize(
    ("name", "counts"),
    [
        ("minitest.jsonlines", (4, 4, 16, 8)),
        ("minitest.amortized.jsonlines.gz", (8, 1100, 8800, 5345)),
    ],
)
def test_files_of_its_tests(data, cells_of, name, counts):
    path = data / "native" / "py_irt_jsonlines" / name
    with gzip.open(path) if path.suffix == ".gz" else path.open("rb") as file:
        lines = [json.loads(text) for text in file]
    expected = {
        (each["subject_id"], "default", item): value
        for each in lines
        for item, value in each["responses"].items()
    }
    responses, report = ingest([path])
    assert cells_of(responses) == expected
    assert (*responses.shape, report.cells, sum(expected.values())) == counts
