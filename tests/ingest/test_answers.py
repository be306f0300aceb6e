"""Files of one model's answers."""

import gzip
import json
from pathlib import Path

import pandas as pd
import pytest

from mtlirt.errors import InputError
from mtlirt.ingest.answers import read_answers

KNOWN = {("a", "1"), ("a", "2"), ("b", "1"), ("b", "x y")}
ROWS = [("a", "1", 1), ("b", "1", 0), ("b", "x y", True), ("a", "2", None)]
FOUND = {("a", "1"): 1, ("b", "1"): 0, ("b", "x y"): 1}


def written(folder, name, rows=ROWS, columns=("domain", "item_id", "correct")):
    path = Path(folder) / name
    if ".parquet" in name:
        frame = pd.DataFrame(rows, columns=columns)
        frame.astype({"correct": "Float64"}).to_parquet(path)
        return path
    if "jsonl" in name:
        text = "\n".join(json.dumps(dict(zip(columns, row, strict=True))) for row in rows)
    else:
        between = "\t" if "tsv" in name else ","
        cells = [["" if cell is None else str(cell) for cell in row] for row in [columns, *rows]]
        text = "\n".join(between.join(row) for row in cells)
    path.write_bytes(gzip.compress(text.encode()) if name.endswith("gz") else text.encode())
    return path


@pytest.mark.parametrize("name", ["a.csv", "a.tsv.gz", "a.jsonl", "a.parquet"])
def test_answers_of_all_formats(tmp_path, name):
    rows = [(d, i, None if v is None else int(v)) for d, i, v in ROWS]
    assert read_answers(written(tmp_path, name, rows), KNOWN) == FOUND


def test_other_spellings_and_a_model_id(tmp_path):
    rows = [("m", "a", "1", "true"), ("m", "b", "1", "0.0"), ("m", "b", "x y", "1")]
    columns = ("model_id", "domain", "item_id", "correct")
    assert read_answers(written(tmp_path, "a.csv", rows, columns), KNOWN) == FOUND


def test_an_empty_table_has_no_answers(tmp_path):
    assert read_answers(written(tmp_path, "a.csv", []), KNOWN) == {}


@pytest.mark.parametrize(
    ("rows", "said"),
    [
        ([("a", "1", 1), ("a", "7", 1)], "row 3: item '7' of domain 'a' is not among those of the"),
        ([("a", "1", 1), ("a", "1", 1)], "row 2 and .*a.csv row 3: item '1' of domain 'a' twice"),
        ([("a", "1", 0.5)], "row 2: correct is 0.5, a fraction"),
        ([("a", "1", 1), ("a", "2", 2)], "row 3: correct is 2, expected 0 or 1"),
        ([("a", "1", "yes")], "row 2: correct is 'yes', expected a number"),
        ([("a", " ", 1)], "row 2: item_id is ' ', expected an id"),
    ],
)
def test_bad_rows_are_named(tmp_path, rows, said):
    with pytest.raises(InputError, match=said):
        read_answers(written(tmp_path, "a.csv", rows), KNOWN)


@pytest.mark.parametrize(
    ("columns", "said"),
    [
        (("domain", "item_id", "right"), "a.csv: no column 'correct'; expected domain, item_id"),
        (("item_id", "what", "correct"), "a.csv: no column 'domain'; found 'item_id', 'what'"),
        (("domain", "item_id", "correct", "trials"), "a.csv: a column 'trials'; expected domain"),
    ],
)
def test_bad_columns_are_named(tmp_path, columns, said):
    with pytest.raises(InputError, match=said):
        read_answers(written(tmp_path, "a.csv", [("a", "1", 1, 1)[: len(columns)]], columns), KNOWN)


def test_two_models_are_refused(tmp_path):
    rows = [("m", "a", "1", 1), ("n", "b", "1", 0)]
    path = written(tmp_path, "a.csv", rows, ("model_id", "domain", "item_id", "correct"))
    with pytest.raises(InputError, match=r"row 3: model_id is 'n', .*a.csv row 2 has 'm'"):
        read_answers(path, KNOWN)
    with pytest.raises(InputError, match="no such file"):
        read_answers(tmp_path / "none.csv", KNOWN)
