"""Broken and odd files: counts that are right or one line that says what is wrong, never half."""

import functools
import gzip
import json
import math
import random
import shutil
from dataclasses import dataclass
from pathlib import Path

import numpy as np
import pandas as pd
import pytest
import typer
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from mtlirt.cli.app import run
from mtlirt.errors import InputError
from mtlirt.ingest.files import ingest
from mtlirt.ingest.registry import formats
from mtlirt.responses.store import open_responses, open_stored
from mtlirt.storage.root import open_root
from tests.ingest.damage import damage
from tests.ingest.logs import LAYOUTS, delimited

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


# --- whole logs -----------------------------------------------------------------------------


@pytest.fixture
def one_command(monkeypatch):
    """Build the command once, which takes longer than to read a small log."""
    monkeypatch.setattr(typer.main, "get_command", functools.cache(typer.main.get_command))


def cells_in(store):
    """(model, domain, item) -> document, successes and trials, of a store."""
    responses = open_responses(store)
    items = responses.items
    documents = items["document"] if "document" in items.columns else None
    cells = {}
    for domain, part in responses.domains.items():
        values = np.asarray(part.array.compute(), float)
        trials = np.ones_like(values) if part.trials is None else part.trials.compute()
        for j, item in enumerate(responses.item_ids(domain)):
            told = None if documents is None else documents[domain, item]
            document = told if isinstance(told, str) else item
            for i in np.flatnonzero(values[:, j] >= 0):
                cell = document, float(values[i, j]), int(trials[i, j])
                cells[responses.models.index[i], domain, item] = cell
    return cells


def by_document(cells):
    return {
        (model, domain, document): (successes, trials)
        for (model, domain, _), (document, successes, trials) in cells.items()
    }


def close(cell, other):
    return cell[-1] == other[-1] and math.isclose(cell[-2], other[-2], rel_tol=1e-6)


def alike(cell, other):
    return math.isclose(cell[-2] / cell[-1], other[-2] / other[-1], rel_tol=1e-6)


def within(cell, whole):
    """Whether a cell may be what is left of the attempts of another."""
    (successes, trials), (all_successes, all_trials) = cell[-2:], whole[-2:]
    failures, all_failures = trials - successes, all_trials - all_successes
    return close(cell, whole) or (successes <= all_successes and failures <= all_failures)


def check_claim(claim, cells, whole, report, *, counted):
    """Check what must hold of the cells of damaged logs, given those of the whole ones."""
    if claim.equal:
        fits = within if claim.none_new and not claim.none_lost else close
        wrong = {key for key in cells.keys() & whole.keys() if not fits(cells[key], whole[key])}
        assert not wrong
    if claim.places is not None:
        changed = [key for key in cells.keys() & whole.keys() if not alike(cells[key], whole[key])]
        assert len(changed) <= 2 * claim.places
    found, known = by_document(cells), by_document(whole)
    if claim.none_new:
        assert not found.keys() - known.keys()
    lost = {key for key in known if key not in found or not close(found[key], known[key])}
    if claim.none_lost:
        assert not lost
    if claim.in_content and counted and not any(run["partial"] for run in report["runs"]):
        ran = {(run["model"], run["task"]) for run in report["runs"] if run["records"]}
        assert not {key for key in lost if key[:2] in ran}


def check_others(name, cells, whole):
    """Check that runs are as they were whose log is not the damaged one."""
    if name in whole.logs.values():
        for key, cell in whole.cells.items():
            if whole.logs.get(key[:2], name) != name:
                assert close(cells[key], cell)


@dataclass(frozen=True)
class Whole:
    """What is in undamaged logs: their cells, and the log of each model and task."""

    cells: dict
    logs: dict


def check_whole(layout, source, out, capsys):
    """What is in whole logs, which must be what their maker says."""
    expected = layout.write(source)
    assert run(command(layout, source, out)) == 0
    report = json.loads(capsys.readouterr().out)
    cells = cells_in(out)
    found = by_document(cells)
    assert found.keys() == expected.keys()
    assert all(close(found[key], expected[key]) for key in found)
    assert report["cells"] == len(expected)
    assert not [each["partial"] for each in report["runs"] if each["partial"]]
    logs = {
        (each["model"], each["task"]): str(Path(each["source"]).relative_to(source))
        for each in report["runs"]
    }
    return Whole(cells, logs)


def command(layout, source, out):
    chosen = [*ARGUMENTS, *layout.arguments]
    return ["ingest", str(source), "--out", str(out), "--json", *chosen]


def check_damaged(layout, folder, whole, chance, capsys):
    """Damage whole logs: a whole store of right cells and sums, or one line and nothing.

    Gives whether they were read.
    """
    source, out = folder / "source", folder / "out"
    source.mkdir(parents=True)
    layout.write(source)
    claim, damaged = damage(source, chance)
    status = run(command(layout, source, out))
    shown, told = capsys.readouterr()
    if status:
        assert status == 2
        assert told.startswith("mtlirt: error: ")
        assert told.count("\n") == 1
        assert shown == ""
        assert open_root(out).versions() == []
        assert open_root(out).names("data") == []
        return False
    assert told == ""
    report = json.loads(shown)
    stored = open_stored(out)
    assert not list(stored.root.damaged(stored.manifest))
    assert stored.root.names("data") == [str(stored.manifest.run_id)]
    cells = cells_in(out)
    assert report["cells"] == len(cells) == sum(domain["cells"] for domain in report["domains"])
    gone = report["missing"] + report["duplicates"] + report["conflicts"]
    assert report["records"] == len(cells) + gone
    assert report["records"] == sum(file["records"] for file in report["files"])
    assert open_responses(out).shape == (report["models"], report["items"])
    check_claim(claim, cells, whole.cells, report, counted=layout.counted)
    if layout.local:
        check_others(damaged, cells, whole)
    return True


def check_many(tmp_path, capsys, layout, count):
    (tmp_path / "whole").mkdir()
    whole = check_whole(layout, tmp_path / "whole", tmp_path / "store", capsys)
    read = 0
    for seed in range(count):
        folder = tmp_path / str(seed)
        try:
            chance = random.Random(f"{layout}{seed}")
            read += check_damaged(layout, folder, whole, chance, capsys)
        except Exception as error:
            error.add_note(f"{layout}, seed {seed}: see {folder}")
            raise
        shutil.rmtree(folder)
    assert read < count
    assert read or count < 100


def test_every_format_has_logs():
    assert {layout.format for layout in LAYOUTS} == {*formats(), "tidy", "wide"}


@pytest.mark.parametrize("layout", LAYOUTS, ids=str)
@pytest.mark.usefixtures("one_command")
def test_damage(tmp_path, capsys, layout):
    check_many(tmp_path, capsys, layout, 12)


@pytest.mark.slow
@pytest.mark.parametrize("layout", LAYOUTS, ids=str)
@pytest.mark.usefixtures("one_command")
def test_damage_in_large_numbers(tmp_path, capsys, layout):
    check_many(tmp_path, capsys, layout, 500)
