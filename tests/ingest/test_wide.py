"""Wide files: one row a model, one column an item."""

import time

import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq
import pytest

from mtlirt.errors import InputError
from mtlirt.ingest import ingest

WIDE = ",q1,q2\nm1,1,0\nm2,0,\n"
EXPECTED = {("m1", "default", "q1"): 1, ("m1", "default", "q2"): 0, ("m2", "default", "q1"): 0}


@pytest.mark.parametrize(
    "content",
    [
        WIDE,
        "\ufeff" + WIDE,
        WIDE.replace("\n", "\r\n") + "\r\n",
        WIDE.replace("1,0", "1.0,False"),
        WIDE.replace(",q1,", "anything,q1,"),
    ],
)
def test_wide_csv(write, cells_of, content):
    responses, report = ingest([write("x.csv", content)])
    assert cells_of(responses) == EXPECTED
    assert (report.records, report.cells, report.missing) == (4, 3, 1)


def test_wide_is_tidy_of_the_same(write, same):
    tidy = "model_id,item_id,correct\nm2,q2,\nm1,q1,1\nm1,q2,0\nm2,q1,0\n"
    responses, _ = ingest([write("x.csv", tidy)])
    same(responses, ingest([write("y.csv", WIDE)])[0])
    same(responses, ingest([write("y.csv", ",m2,m1\nq1,0,1\nq2,,0\n")], transpose=True)[0])
    same(responses, ingest([write("y.csv", "q2,q1,m\n0,1,m1\n,0,m2\n")], model_column="m")[0])


@pytest.mark.parametrize(
    "q2", [pa.array([0, None], pa.int8()), pa.array([0.0, np.nan]), pa.array(["0", ""])]
)
def test_wide_parquet(tmp_path, cells_of, q2):
    table = pa.table({"name": ["m1", "m2"], "q1": [True, False], "q2": q2})
    pq.write_table(table, tmp_path / "x.parquet")
    assert cells_of(ingest([tmp_path / "x.parquet"])[0]) == EXPECTED
    responses, _ = ingest([tmp_path / "x.parquet"], domain="d", format="wide")
    assert list(responses.domains) == ["d"]


def test_places_name_row_and_item(write, tmp_path):
    with pytest.raises(InputError, match=r"x\.csv row 3: model 'm2', item 'q2': correct is 2,"):
        ingest([write("x.csv", ",q1,q2\nm1,1,0\nm2,0,2\n")])
    table = pa.table({"name": ["m1", "m2"], "q1": [1, 0], "q2": [0, 2]})
    pq.write_table(table, tmp_path / "x.parquet")
    with pytest.raises(InputError, match=r"x\.parquet row 2: model 'm2', item 'q2': correct is 2,"):
        ingest([tmp_path / "x.parquet"])


@pytest.mark.parametrize(
    ("content", "message"),
    [
        (",q,q\nm,1,0\n", "more than one column is called 'q'"),
        ("1,1,0,1\n0,1,0,1\n", "first row holds values, not the names of columns: write a header"),
        (",q,\nm,1,0\n", "column 3 has no name"),
        ("model\nm\n", "only one column, 'model'"),
        (",q,r\nm,1\n", "row 2: 2 cells, the header has 3"),
        (",q,r\n,1,0\n", "row 2: model_id is '', expected an id"),
    ],
)
def test_headers_and_rows_that_are_wrong(write, content, message):
    with pytest.raises(InputError, match=message):
        ingest([write("x.csv", content)], format="wide")


def test_the_named_column_must_be_there(write):
    with pytest.raises(InputError, match="0 columns are called 'm', expected 1; found '', 'q1'"):
        ingest([write("x.csv", WIDE)], model_column="m")


@pytest.mark.parametrize("name", ["x.csv", "x.tsv"])
def test_wide_without_a_header(write, cells_of, name):
    content = "1.0,0\n\n0,\n1,1\n"
    path = write(name, content.replace(",", "\t") if name.endswith("tsv") else content)
    responses, report = ingest([path], header=False)
    rows = {"1": (1, 0), "2": (0, None), "3": (1, 1)}
    expected = {
        (m, i): value
        for m, row in rows.items()
        for i, value in zip("12", row, strict=True)
        if value is not None
    }
    assert {(m, i): v for (m, _, i), v in cells_of(responses).items()} == expected
    assert report.numbered_files == (str(path),)
    assert any("models and items numbered from 1: " in line for line in report.lines())
    turned, _ = ingest([path], header=False, transpose=True)
    assert {(m, i): v for (i, _, m), v in cells_of(turned).items()} == expected
    assert ingest([write("y.csv", WIDE)])[1].numbered_files == ()


@pytest.mark.parametrize(
    ("content", "options", "said"),
    [
        ("m,1,0\n", {}, "row 1: model '1', item '1': correct is 'm', expected a number"),
        ("1,0\n1\n", {}, "row 2: 1 cells, the first row has 2"),
        ("1,0\n", {"model_column": "m"}, "has no column of names: leave out the model column"),
        ("1,0\n", {"format": "tidy"}, "format is tidy, but .* no header are of wide files"),
        ("", {}, "no responses"),
    ],
)
def test_wide_without_a_header_that_is_wrong(write, content, options, said):
    with pytest.raises(InputError, match=said):
        ingest([write("x.csv", content)], header=False, **options)


def test_parquet_has_a_header(tmp_path):
    pq.write_table(pa.table({"a": [1, 0]}), tmp_path / "x.parquet")
    with pytest.raises(InputError, match=r"x\.parquet: Parquet names its columns"):
        ingest([tmp_path / "x.parquet"], header=False)


def test_options_of_wide_files_make_files_wide(write, cells_of):
    path = write("x.csv", "item_id,m1,m2\nq1,1,0\nq2,0,\n")
    assert cells_of(ingest([path], transpose=True)[0]) == EXPECTED
    with pytest.raises(InputError, match="format is tidy, but"):
        ingest([path], format="tidy", transpose=True)
    with pytest.raises(InputError, match=r"format is 'long', expected auto, tidy, wide"):
        ingest([path], format="long")


def test_a_table_of_neither_kind_says_how_it_was_read(write):
    with pytest.raises(InputError, match=r"correct is 'q1', expected a number .*read as a wide"):
        ingest([write("x.csv", "model,question,score\nm,q1,1\n")])


def test_a_model_in_two_rows(write, cells_of):
    path = write("x.csv", ",q1,q2\nm1,1,0\nm2,0,1\nm1,1,\n")
    with pytest.raises(InputError, match=r"row 2 and .*row 4: model 'm1', item 'q1'.*both say"):
        ingest([path])
    responses, report = ingest([path], duplicates="first")
    assert cells_of(responses)["m1", "default", "q2"] == 0
    assert (report.duplicates, report.missing) == (1, 1)


def test_empty_wide_files(write, tmp_path):
    write("in/a.csv", "")
    write("in/b.csv", ",q1\n")
    write("in/c.csv", WIDE)
    _, report = ingest([tmp_path / "in"], format="wide")
    assert len(report.empty_files) == 2


def test_very_many_columns(write):
    width = 41_871
    header = ",".join(f"item-{k}" for k in range(width))
    rows = [f"m{m}," + ",".join(str((m + k) % 2) for k in range(width)) for m in range(12)]
    path = write("x.csv", f"model,{header}\n" + "\n".join(rows))
    start = time.perf_counter()
    responses, _ = ingest([path])
    assert time.perf_counter() - start < 10
    assert responses.shape == (12, width)
