"""Broken and odd files: counts that are right or one line that says what is wrong, never half."""

import csv
import gzip
import io
import json
import math
import random

import pandas as pd
import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from mtlirt.cli.app import run
from mtlirt.errors import InputError
from mtlirt.ingest.files import ingest
from mtlirt.ingest.registry import formats
from mtlirt.responses.store import open_responses, open_stored
from mtlirt.storage.root import open_root

QUIET = {
    "deadline": None,
    "suppress_health_check": [HealthCheck.function_scoped_fixture, HealthCheck.too_slow],
}
OPTIONS = {
    "duplicates": "first",
    "conflicts": "last",
    "fractions": "keep",
    "poor_domains": "keep",
}
ARGUMENTS = [f"--{name.replace('_', '-')}={value}" for name, value in OPTIONS.items()]

# --- rows of tables -------------------------------------------------------------------------

names = st.one_of(
    st.sampled_from(["a", "b", "A", "7", "007", "NA", "null", "1e5", " x ", 'q"', "i,j", "k\nl"]),
    st.text(
        st.characters(exclude_categories=["Cs", "Cc", "Zs", "Zl", "Zp"]), min_size=1, max_size=4
    ),
)
bad_names = st.sampled_from(["", " ", "\t"])
good_values = st.sampled_from(["0", "1", "1", "0", "1.0", "true", "False", "0.5", "", "nan", "NaN"])
bad_values = st.sampled_from(["2", "-1", "inf", "yes", "1_0", "0x1", "1e400", "--", "½"])


def mostly(good, bad):
    """Values that are seldom bad."""
    return st.integers(0, 60).flatmap(lambda n: bad if n == 30 else good)


tidy_rows = st.lists(
    st.tuples(
        mostly(names, bad_names), mostly(names, bad_names), st.sampled_from("xy"),
        mostly(good_values, bad_values),
    ),
    min_size=1,
    max_size=12,
)  # fmt: skip


def value_of(text):
    """0, 1, a fraction, None for a missing value; ValueError for what is none."""
    word = text.strip().lower()
    if word in ("", "nan"):
        return None
    if word in ("true", "false"):
        return float(word == "true")
    if not set(word) <= set("0123456789.-+e"):
        raise ValueError(text)
    number = float(word)
    if not 0 <= number <= 1:
        raise ValueError(text)
    return number


def expected_of(rows):
    """Cells that rows make, and how many of the rows miss a value; None if one is bad."""
    cells, missing = {}, 0
    for model, item, domain, text in rows:
        if not model.strip() or not item.strip():
            return None
        try:
            value = value_of(text)
        except ValueError:
            return None
        if value is None:
            missing += 1
        else:
            cells[model, domain, item] = value
    return cells, missing


def check_rows(path, rows, records, cells_of, **options):
    """Check that a table is refused if a row is bad, and else gives its cells and counts."""
    expected = expected_of(rows)
    if expected is None:
        with pytest.raises(InputError) as caught:
            ingest([path], **OPTIONS, **options)
        assert str(path) in str(caught.value)
        assert "\n" not in str(caught.value)
        return
    cells, missing = expected
    responses, report = ingest([path], **OPTIONS, **options)
    found = cells_of(responses)
    assert found.keys() == cells.keys()
    assert all(math.isclose(found[key], cells[key], rel_tol=1e-6) for key in cells)
    assert (report.records, report.cells, report.missing) == (records, len(cells), missing)
    assert report.duplicates + report.conflicts == records - len(cells) - missing


@settings(max_examples=25, **QUIET)
@given(rows=tidy_rows, kind=st.sampled_from(["csv", "tsv", "csv.gz", "jsonl", "parquet"]))
def test_rows_of_tidy_tables(tmp_path_factory, cells_of, rows, kind):
    path = tmp_path_factory.mktemp("rows") / f"x.{kind}"
    columns = ["model_id", "item_id", "domain", "correct"]
    if kind == "parquet":
        pd.DataFrame(rows, columns=columns).to_parquet(path)
    elif kind == "jsonl":
        lines = (json.dumps(dict(zip(columns, row, strict=True))) + "\n" for row in rows)
        path.write_text("".join(lines))
    else:
        text = delimited([columns, *rows], "\t" if kind == "tsv" else ",")
        path.write_bytes(gzip.compress(text.encode()) if kind == "csv.gz" else text.encode())
    check_rows(path, rows, len(rows), cells_of)


def delimited(rows, delimiter):
    out = io.StringIO()
    csv.writer(out, delimiter=delimiter, lineterminator="\n").writerows(rows)
    return out.getvalue()


@settings(max_examples=25, **QUIET)
@given(
    models=st.lists(mostly(names, bad_names), min_size=1, max_size=4),
    items=st.lists(names, min_size=1, max_size=4, unique=True),
    data=st.data(),
)
def test_rows_of_wide_tables(tmp_path_factory, cells_of, models, items, data):
    items = [item for item in items if item not in ("item_id", "correct")]
    values = data.draw(
        st.lists(
            st.lists(mostly(good_values, bad_values), min_size=len(items), max_size=len(items)),
            min_size=len(models),
            max_size=len(models),
        )
    )
    path = tmp_path_factory.mktemp("rows") / "x.csv"
    body = [[model, *line] for model, line in zip(models, values, strict=True)]
    path.write_text(delimited([["model", *items], *body], ","))
    rows = [
        (model, item, "default", text)
        for model, *line in body
        if any([model, *line])
        for item, text in zip(items, line, strict=True)
    ]
    if not rows:
        with pytest.raises(InputError, match="no responses"):
            ingest([path], **OPTIONS, format="wide")
        return
    check_rows(path, rows, len(rows), cells_of, format="wide")


objects = st.recursive(
    st.none() | st.booleans() | st.integers(-3, 9) | st.floats() | names,
    lambda inner: st.lists(inner, max_size=2) | st.dictionaries(names, inner, max_size=2),
    max_leaves=3,
)
json_values = st.one_of(st.sampled_from([0, 1, 0.5, True, False, None, "1", "0", ""]), objects)


@settings(max_examples=30, **QUIET)
@given(
    lines=st.lists(
        st.fixed_dictionaries(
            {
                "model_id": mostly(names | st.integers(0, 9), objects),
                "item_id": mostly(names | st.integers(0, 9), objects),
                "correct": mostly(json_values, objects),
            },
            optional={"domain": st.just("x"), "trials": mostly(st.integers(1, 3), objects)},
        ),
        min_size=1,
        max_size=5,
    )
)
def test_json_lines_of_any_types(tmp_path_factory, lines):
    folder = tmp_path_factory.mktemp("lines")
    text = "".join(json.dumps(line) + "\n" for line in lines)
    (folder / "x.jsonl").write_text(text)
    try:
        responses, report = ingest([folder / "x.jsonl"], **OPTIONS)
    except InputError:
        return
    assert report.records == len(lines)
    for line in lines:
        assert isinstance(line["correct"], int | float | str | None)
        assert isinstance(line["model_id"], int | str)
        assert not isinstance(line["model_id"], bool)
        assert str(line["model_id"]) in responses.models.index


# --- whole files ----------------------------------------------------------------------------

ROWS = [(m, i, d, str((len(m) + int(i)) % 2)) for m in ("m", "nn") for i in "0123" for d in "xy"]


def make_tidy_csv(folder):
    header = ["model_id", "item_id", "domain", "correct"]
    (folder / "x.csv").write_text(delimited([header, *ROWS], ","))


def make_tidy_gz(folder):
    make_tidy_csv(folder)
    (folder / "x.csv.gz").write_bytes(gzip.compress((folder / "x.csv").read_bytes()))
    (folder / "x.csv").unlink()


def make_tidy_lines(folder):
    keys = ["model_id", "item_id", "domain", "correct"]
    lines = [
        json.dumps({**dict(zip(keys, row, strict=True)), "correct": int(row[3])}) for row in ROWS
    ]
    (folder / "x.jsonl").write_text("\n".join(lines))


def make_tidy_parquet(folder):
    table = pd.DataFrame(ROWS, columns=["model_id", "item_id", "domain", "correct"])
    table.to_parquet(folder / "x.parquet", row_group_size=5)


def make_wide_csv(folder):
    header = ["model", *(f"i{k}" for k in range(5))]
    rows = [[m, *(str((len(m) + k) % 2) for k in range(5))] for m in ("m", "nn", "ooo")]
    (folder / "x.csv").write_text(delimited([header, *rows], ","))


def make_wide_parquet(folder):
    columns = {"model": ["m", "n"], "a": [1, 0], "b": [None, 1.0], "c": [True, False]}
    pd.DataFrame(columns).to_parquet(folder / "x.parquet")


def make_py_irt(folder):
    lines = [
        json.dumps({"subject_id": m, "responses": {f"i{k}": (len(m) + k) % 2 for k in range(4)}})
        for m in ("m", "nn")
    ]
    (folder / "x.jsonlines").write_text("\n".join(lines))


TABLES = {
    "tidy csv": make_tidy_csv,
    "tidy csv.gz": make_tidy_gz,
    "tidy jsonl": make_tidy_lines,
    "tidy parquet": make_tidy_parquet,
    "wide csv": make_wide_csv,
    "wide parquet": make_wide_parquet,
}

LOGS = {"py-irt": make_py_irt}
"""By the name of a format: writes small whole logs of it into a folder, ids of ASCII letters."""


def cut(content, chance):
    return content[: chance.randrange(len(content) + 1)]


def flip(content, chance):
    changed = bytearray(content)
    for _ in range(chance.choice([1, 1, 2, 8])):
        changed[chance.randrange(len(changed))] ^= 1 << chance.randrange(8)
    return bytes(changed)


def put_in(content, chance):
    place = chance.randrange(len(content) + 1)
    noise = chance.choice([b"\x00", b"\xff\xfe", b'"', b"\n", b",", b"}", b"\xef\xbb\xbf", b"\r"])
    return content[:place] + noise + content[place:]


def drop_a_line(content, chance):
    lines = content.split(b"\n")
    del lines[chance.randrange(len(lines))]
    return b"\n".join(lines)


def repeat_a_line(content, chance):
    lines = content.split(b"\n")
    lines.insert(chance.randrange(len(lines) + 1), chance.choice(lines))
    return b"\n".join(lines)


def mistype(content, chance):
    """Another value or no value at a random place of a JSON document or of a line of them."""
    try:
        documents = [json.loads(content)]
    except ValueError:
        try:
            documents = [json.loads(line) for line in content.splitlines()]
        except ValueError:
            return flip(content, chance)
    documents[k] = mistyped(documents[k := chance.randrange(len(documents))], chance)
    return "\n".join(map(json.dumps, documents)).encode()


STRANGE = [
    None,
    True,
    -1,
    2,
    1e400,
    math.nan,
    "",
    "x",
    [],
    {},
    [1],
    {"a": 1},
    10**30,
    "\ud800",
    0.5,
]


def mistyped(value, chance):
    if isinstance(value, dict) and value and chance.random() < 0.8:
        key = chance.choice(list(value))
        action = chance.random()
        if action < 0.15:
            return {name: each for name, each in value.items() if name != key}
        return {**value, key: mistyped(value[key], chance)}
    if isinstance(value, list) and value and chance.random() < 0.8:
        place = chance.randrange(len(value))
        return [*value[:place], mistyped(value[place], chance), *value[place + 1 :]]
    return chance.choice(STRANGE)


DAMAGE = [cut, flip, put_in, drop_a_line, repeat_a_line, mistype, mistype]


def check_damaged(folder, make, chance, capsys):
    """Damage one file of a whole log: a whole store and right sums, or one line and nothing."""
    source, out = folder / "source", folder / "out"
    source.mkdir(parents=True)
    make(source)
    path = chance.choice(sorted(path for path in source.rglob("*") if path.is_file()))
    path.write_bytes(chance.choice(DAMAGE)(path.read_bytes(), chance))
    status = run(["ingest", str(source), "--out", str(out), "--json", *ARGUMENTS])
    shown, told = capsys.readouterr()
    if status:
        assert status in (1, 2)
        assert told.startswith("mtlirt: error: ")
        assert told.count("\n") == 1
        assert shown == ""
        assert open_root(out).versions() == []
        assert open_root(out).names("data") == []
        return
    assert told == ""
    report = json.loads(shown)
    stored = open_stored(out)
    assert not list(stored.root.damaged(stored.manifest))
    assert stored.root.names("data") == [str(stored.manifest.run_id)]
    cells = sum(int((part.array >= 0).sum()) for part in stored.responses.domains.values())
    assert report["cells"] == cells == sum(domain["cells"] for domain in report["domains"])
    gone = report["missing"] + report["duplicates"] + report["conflicts"]
    assert report["records"] == cells + gone == sum(file["records"] for file in report["files"])
    assert open_responses(out).shape == (report["models"], report["items"])


def check_many(tmp_path, capsys, name, make, count):
    whole = tmp_path / "whole"
    whole.mkdir()
    make(whole)
    assert ingest([whole], **OPTIONS)[1].records > 0
    for seed in range(count):
        try:
            check_damaged(tmp_path / str(seed), make, random.Random(f"{name}{seed}"), capsys)
        except Exception as error:
            error.add_note(f"{name}, seed {seed}: see {tmp_path / str(seed)}")
            raise


@pytest.mark.parametrize("name", TABLES)
def test_damaged_tables(tmp_path, capsys, name):
    check_many(tmp_path, capsys, name, TABLES[name], 12)


@pytest.mark.slow
@pytest.mark.parametrize("name", TABLES)
def test_damaged_tables_in_large_numbers(tmp_path, capsys, name):
    check_many(tmp_path, capsys, name, TABLES[name], 1000)


def maker(name):
    if name not in LOGS:
        pytest.skip(f"LOGS has no maker of logs of {name}")
    return LOGS[name]


@pytest.mark.parametrize("name", sorted(formats()))
def test_damaged_logs(tmp_path, capsys, name):
    check_many(tmp_path, capsys, name, maker(name), 15)


@pytest.mark.slow
@pytest.mark.parametrize("name", sorted(formats()))
def test_damaged_logs_in_large_numbers(tmp_path, capsys, name):
    check_many(tmp_path, capsys, name, maker(name), 4000 // len(LOGS))
