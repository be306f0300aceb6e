"""Tidy files: hygiene (O25), types of ids (O26), clashing parts (O27), hostile ids (O33)."""

import csv
import gzip
import io
import json

import pyarrow as pa
import pyarrow.parquet as pq
import pytest

from mtlirt.errors import InputError
from mtlirt.ingest import ingest

THREE = """\
{"model_id":"a","item_id":"q","correct":1}
{"model_id":"b","item_id":"q","correct":0}
{"model_id":"c","item_id":"q","correct":1}
"""
CSV = "model_id,item_id,correct\na,q,1\nb,q,0\n"


def line(model, item, correct=1, **more):
    return json.dumps({"model_id": model, "item_id": item, "correct": correct, **more})


@pytest.mark.parametrize(
    "content",
    [
        THREE,
        "\ufeff" + THREE,
        THREE.replace("\n", "\r\n"),
        THREE + "\n",
        THREE + "  \r\n\n",
        THREE.rstrip(),
    ],
    ids=["plain", "BOM", "CRLF", "blank tail", "blank tails", "no tail"],
)
def test_json_lines_by_any_hygiene(write, cells_of, content):
    responses, report = ingest([write("x.jsonl", content)])
    assert cells_of(responses) == {
        ("a", "default", "q"): 1,
        ("b", "default", "q"): 0,
        ("c", "default", "q"): 1,
    }
    assert report.records == 3


@pytest.mark.parametrize(
    "content",
    [
        CSV,
        "\ufeff" + CSV,
        CSV.replace("\n", "\r\n"),
        CSV + "\n\r\n",
        CSV.rstrip(),
        CSV + ",,\n",
        "\n\n" + CSV,
        CSV.replace("\nb", "\n\nb"),
    ],
    ids=["plain", "BOM", "CRLF", "blank tail", "no tail", "commas", "blank head", "blank inside"],
)
@pytest.mark.parametrize("name", ["x.csv", "x.csv.gz", "x.tsv"])
def test_csv_by_any_hygiene(write, cells_of, content, name):
    if name.endswith(".tsv"):
        content = content.replace(",", "\t")
    data = content.encode()
    responses, report = ingest([write(name, gzip.compress(data) if name.endswith("gz") else data)])
    assert cells_of(responses) == {("a", "default", "q"): 1, ("b", "default", "q"): 0}
    assert report.records == 2


def test_rows_are_numbered_as_a_person_counts_them(write):
    path = write("x.csv", '\nmodel_id,item_id,correct\na,"q\n1",1\n\nb,q,7\n')
    with pytest.raises(InputError, match=r"x\.csv row 5: model 'b', item 'q': correct is 7"):
        ingest([path])
    path = write("x.jsonl", f"{line('a', 'q')}\n\n{line('b', 'q', 7)}\n")
    with pytest.raises(InputError, match=r"x\.jsonl line 3: model 'b'"):
        ingest([path])


def test_a_folder_with_empty_files(write, cells_of, tmp_path):
    write("in/b.jsonl", THREE)
    write("in/a.csv", "")
    write("in/c.csv", "model_id,item_id,correct\n")
    write("in/d.parquet", b"")
    write("in/e.jsonl", "\n\n")
    write("in/f.tsv", "\n")
    write("in/deeper/g.csv", CSV.replace("q", "r"))
    write("in/README.md", "read me")
    write("in/.hidden.csv", "nonsense")
    pq.write_table(
        pa.table({"model_id": pa.array([], pa.string()), "item_id": [], "correct": []}),
        tmp_path / "in" / "h.parquet",
    )
    responses, report = ingest([tmp_path / "in"])
    assert len(cells_of(responses)) == 5
    names = [f"{tmp_path}/in/{name}" for name in ("a.csv", "b.jsonl", "c.csv", "d.parquet")]
    assert [file.name for file in report.files][:4] == names
    assert len(report.empty_files) == 6
    assert report.skipped_files == (f"{tmp_path}/in/README.md",)
    assert any(text.startswith("6 empty files: ") for text in report.lines())


def test_only_empty_files(write, tmp_path):
    write("in/a.csv", "")
    write("in/c.csv", "model_id,item_id,correct\n")
    with pytest.raises(InputError, match=r"no responses: 2 files without a record: .*a\.csv"):
        ingest([tmp_path / "in"])


def test_sources_that_are_not_there(tmp_path):
    with pytest.raises(InputError, match="nowhere: no such file or folder"):
        ingest([tmp_path / "nowhere"])
    with pytest.raises(InputError, match=r"no file whose name ends in \.parquet"):
        ingest([tmp_path])
    with pytest.raises(InputError, match="no responses"):
        ingest([])


def test_files_of_other_formats(write):
    with pytest.raises(InputError, match="the name of a tidy file ends in"):
        ingest([write("x.xlsx", "?")])


def test_ids_are_texts_whatever_file_comes_first(write, same):
    a = write("a.jsonl", "\n".join(line(model, 7) for model in ("NA", "null", "nan")))
    b = write("b.csv", "model_id,item_id,correct\n1e5,7,0\nTrue,7,1\n123,7,0\n")
    c = write("c.jsonl", "\n".join(line(model, "007") for model in ("123", 123.0, "nan")[::2]))
    responses, _ = ingest([a, b, c])
    assert list(responses.models.index) == ["123", "1e5", "NA", "True", "nan", "null"]
    assert list(responses.item_ids("default")) == ["007", "7"]
    same(responses, ingest([c, b, a])[0])


@pytest.mark.parametrize(
    ("ids", "found"),
    [
        (pa.array([7, 7], pa.int16()), "7"),
        (pa.array([7, 7], pa.uint64()), "7"),
        (pa.array(["7", "7"], pa.large_string()), "7"),
        (pa.array(["7", "7"], pa.string_view()), "7"),
        (pa.array([7, 7]).dictionary_encode(), "7"),
        (pa.array([2**63 - 1] * 2), "9223372036854775807"),
    ],
    ids=lambda value: str(getattr(value, "type", "")),
)
def test_types_of_ids_that_are_allowed(tmp_path, ids, found):
    table = pa.table({"model_id": ["a", "b"], "item_id": ids, "correct": [1, 0]})
    pq.write_table(table, tmp_path / "x.parquet")
    assert list(ingest([tmp_path / "x.parquet"])[0].item_ids("default")) == [found]


@pytest.mark.parametrize("ids", [[7.0, 8.0], [True, False], [b"7", b"8"]])
def test_types_of_ids_that_are_not(tmp_path, ids):
    table = pa.table({"model_id": ["a", "b"], "item_id": ids, "correct": [1, 0]})
    pq.write_table(table, tmp_path / "x.parquet")
    with pytest.raises(
        InputError, match=r"x\.parquet: column 'item_id' holds (double|bool|binary)"
    ):
        ingest([tmp_path / "x.parquet"])


@pytest.mark.parametrize("value", [7.0, True, ["7"]])
def test_json_ids_that_are_not(write, value):
    with pytest.raises(InputError, match=r"x\.jsonl line 2: item_id is .*, expected text or a who"):
        ingest([write("x.jsonl", f"{line('a', 'q')}\n{line('b', value)}\n")])


@pytest.mark.parametrize("blank", ["", " ", "\t \u2003"])
@pytest.mark.parametrize("field", ["model_id", "item_id"])
def test_blank_ids_are_errors(write, blank, field):
    record = {"model_id": "b", "item_id": "q"} | {field: blank}
    text = f"model_id,item_id,correct\na,q,1\n{record['model_id']},{record['item_id']},0\n"
    with pytest.raises(InputError, match=rf"x\.csv row 3: {field} is '.*', expected an id"):
        ingest([write("x.csv", text)])


def test_null_ids_are_errors(write):
    with pytest.raises(InputError, match=r"x\.jsonl line 1: model_id is null, expected an id"):
        ingest([write("x.jsonl", line(None, "q"))])


def test_parts_whose_dictionaries_clash(tmp_path, cells_of):
    one = pa.table(
        {
            "model_id": ["a", "b"] * 100,
            "item_id": pa.DictionaryArray.from_arrays(
                pa.array([k // 2 for k in range(200)], pa.int8()), [f"i{k}" for k in range(120)]
            ),
            "domain": pa.nulls(200),
            "correct": [1, 0] * 100,
        }
    )
    two = pa.table(
        {
            "model_id": ["a", "b"] * 600,
            "item_id": pa.DictionaryArray.from_arrays(
                pa.array([k // 2 for k in range(1200)], pa.int16()),
                [f"j{k}" for k in range(600)],
            ),
            "domain": ["d"] * 1200,
            "correct": [True, None] * 600,
        }
    )
    pq.write_table(one, tmp_path / "1.parquet")
    pq.write_table(two, tmp_path / "2.parquet")
    with pytest.raises(InputError, match="domain 'd': responses of only one model"):
        ingest([tmp_path])
    two = two.set_column(3, "correct", pa.array([True, False] * 600))
    pq.write_table(two, tmp_path / "2.parquet")
    responses, report = ingest([tmp_path])
    assert responses.shape == (2, 700)  # part 1 uses 100 of the 120 ids of its dictionary
    assert report.without_domain == 200
    assert cells_of(responses)["a", "default", "i99"] == 1
    assert cells_of(responses)["b", "d", "j599"] == 0


def test_a_domain_left_out_in_some_rows(write):
    with pytest.raises(InputError, match=r"x\.jsonl line 2: domain is null, but the rows before"):
        ingest([write("x.jsonl", f"{line('a', 'q', domain='d')}\n{line('b', 'q')}")])
    with pytest.raises(InputError, match=r"x\.csv row 3: domain is 'd', but .* have no domain"):
        ingest([write("x.csv", "model_id,item_id,domain,correct\na,q,,1\nb,q,d,0\n")])


def test_names_of_the_domain(write):
    path = write("x.csv", "model_id,item_id,domain,subject,correct\na,q,d,s,1\nb,q,d,s,0\n")
    assert list(ingest([path])[0].domains) == ["d"]
    responses, report = ingest([path], domain_column="subject")
    assert list(responses.domains) == ["s"]
    assert report.ignored_columns == ("domain",)
    assert list(ingest([write("y.csv", CSV)], domain="mine")[0].domains) == ["mine"]
    with pytest.raises(InputError, match=r"y\.csv: no column 'subject'"):
        ingest([write("y.csv", CSV)], domain_column="subject")
    with pytest.raises(InputError, match=r"y\.jsonl line 1: no key 'subject'"):
        ingest([write("y.jsonl", THREE)], domain_column="subject")


def hostile():
    return ["[", "[100%]", "#15789", '"', "a|b|c", "x" * 10_000, "a\nb"]


def hostile_records():
    return [
        {"model_id": model, "item_id": item, "correct": (k + m) % 2}
        for m, model in enumerate(["NA", "\u00e9\U0001f600"])
        for k, item in enumerate(hostile())
    ]


def as_csv(records, path):
    text = io.StringIO()
    writer = csv.DictWriter(text, ["model_id", "item_id", "correct"])
    writer.writeheader()
    writer.writerows(records)
    path.write_bytes(text.getvalue().encode())


def as_json_lines(records, path):
    path.write_text("".join(json.dumps(record) + "\n" for record in records))


def as_parquet(records, path):
    pq.write_table(pa.Table.from_pylist(records), path)


@pytest.mark.parametrize(
    ("name", "save"),
    [("x.csv", as_csv), ("x.jsonl", as_json_lines), ("x.parquet", as_parquet)],
)
def test_hostile_ids_come_back_from_a_store(tmp_path, name, save, cells_of):
    from mtlirt.responses.store import open_responses, write_responses

    save(hostile_records(), tmp_path / name)
    responses, report = ingest([tmp_path / name])
    write_responses(responses, tmp_path / "store", history={"report": report.to_dict()})
    back = open_responses(tmp_path / "store")
    expected = {(r["model_id"], "default", r["item_id"]): r["correct"] for r in hostile_records()}
    assert cells_of(back) == expected
    assert len(back.item_ids("default")) == 7
    assert sorted(hostile()) == [item for _, item in json.loads(json.dumps(list(back.items.index)))]
    assert all("\n" not in text for text in report.lines())


def test_a_broken_json_line_is_named(write):
    path = write("x.jsonl", f'{line("a", "q")}\n{{"model_id":"b","item_id":"q\nr","correct":1}}\n')
    with pytest.raises(InputError, match=r"x\.jsonl line 2: broken JSON: ") as error:
        ingest([path])
    assert "\n" not in str(error.value)


@pytest.mark.parametrize(
    ("content", "message"),
    [
        ("{} {}\n", r"line 1: broken JSON: ' \{\}' after the object"),
        ("[1]\n", r"line 1: expected an object in braces, found '\[1\]'"),
        (
            '{"model_id":"a","item_id":"q"}',
            r"line 1: no key 'correct'; found 'model_id', 'item_id'",
        ),
        ('{"model_id":"a","item_id":"\\ud800","correct":1}', "line 1: item_id is .* not Unicode"),
        (b'{"model_id":"\xff"}', "line 1: not UTF-8 text"),
        ('{"model_id":"a","item_id":"q","correct":[1]}', r"line 1: correct is \[1\], expected a n"),
        ('{"model_id":"a","item_id":"q","correct":Infinity}', "line 1: .*correct is inf"),
    ],
)
def test_wrong_json_lines(write, content, message):
    with pytest.raises(InputError, match=rf"x\.jsonl {message}"):
        ingest([write("x.jsonl", content)])


def test_json_values_of_several_types(write, cells_of):
    values = [1, 1.0, True, "1", "True", None, float("nan"), ""]
    text = "\n".join(line(f"m{k}", "q", value) for k, value in enumerate(values))
    responses, report = ingest([write("x.jsonl", text)])
    assert list(cells_of(responses).values()) == [1] * 5
    assert report.missing == 3
    assert report.coerced == {"1.0/0.0": 1, "true/false": 2}
    assert report.empty_models == ("m5", "m6", "m7")


def test_missing_columns_are_named_with_those_found(write):
    with pytest.raises(
        InputError,
        match=r"x\.csv: no column 'item_id'; found 'model_id', 'question', 'correct'; rename",
    ):
        ingest([write("x.csv", "model_id,question,correct\na,q,1\n")])
    with pytest.raises(InputError, match="more than one column is called 'item_id'"):
        ingest([write("x.csv", "model_id,item_id,item_id,correct\na,q,r,1\n")])


@pytest.mark.parametrize(
    ("name", "content"),
    [
        ("x.csv", "model_id,item_id,correct\na,q,1\nb,q\n"),
        ("x.csv", b"model_id,item_id,correct\na,q,1\nb,\xff,0\n"),
        ("x.csv", b"\xff\xfe,item_id\n"),
        ("x.parquet", b"PAR1 no"),
        ("x.csv.gz", gzip.compress(CSV.encode() * 50, mtime=0)[:-20]),
        ("x.jsonl.gz", gzip.compress(THREE.encode() * 50, mtime=0)[:-20]),
        ("x.jsonl.gz", b"no gzip"),
    ],
)
def test_broken_files_are_named(write, name, content):
    path = write(name, content)
    with pytest.raises(InputError, match=rf"{name}: .") as error:
        ingest([path])
    assert "\n" not in str(error.value)


def test_trials(write, cells_of):
    path = write("x.csv", "model_id,item_id,correct,trials\na,q,3,5\nb,q,0,2\nb,r,1,1\na,r,,\n")
    responses, report = ingest([path])
    assert cells_of(responses) == {
        ("a", "default", "q"): (3, 5),
        ("b", "default", "q"): (0, 2),
        ("b", "default", "r"): (1, 1),
    }
    assert responses.domains["default"].trials.compute().tolist() == [[5, 0], [2, 1]]
    assert report.missing == 1


@pytest.mark.parametrize("header", ["Model_ID,Item_ID,Correct", "model_id, item_id, correct"])
def test_a_tidy_header_spelt_otherwise_is_not_read_as_wide(tmp_path, header):
    (tmp_path / "x.csv").write_text(f"{header}\n1,1,1\n0,1,0\n")
    with pytest.raises(InputError, match=r"x.csv: .*(item_id|model_id|correct)"):
        ingest([tmp_path / "x.csv"])
