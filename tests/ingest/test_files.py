"""Parquet files of every make: the cells, counts and error messages of a plain loop over rows."""

import os
import sys
import tracemalloc
from collections import Counter, defaultdict
from itertools import pairwise

import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq
import pytest

from mtlirt.errors import InputError
from mtlirt.ingest import ingest

ROWS = 600
TEXT = {"string": pa.string(), "large": pa.large_string(), "view": pa.string_view()}


def random_table(rng, repeated, ids):
    """Responses of 12 models to 3 x 20 items in random order, some missing, some repeated."""
    cells = rng.permutation(12 * 60)[:ROWS]
    correct = rng.integers(0, 2, ROWS).astype(object)
    correct[rng.random(ROWS) < 0.1] = None
    again = rng.integers(0, ROWS, 6 if repeated else 0)
    flipped = correct[again].copy()
    if repeated == "conflicts":
        flipped = np.array([None if value is None else 1 - value for value in flipped], object)
    places = rng.integers(0, ROWS, len(again))
    cells = np.insert(cells, places, cells[again])
    correct = np.insert(correct, places, flipped)
    model, item = np.divmod(cells, 60)
    columns = {
        "model_id": model.astype(str).astype(object),
        "item_id": (item % 20).astype(str).astype(object),
        "domain": np.array(["x", "y", "z"], object)[item // 20],
        "correct": pa.array(correct.tolist(), pa.int64()),
    }
    for field in ("model_id", "item_id", "domain"):
        texts = pa.array(columns[field].tolist(), TEXT.get(ids, pa.string()))
        if ids == "dictionary":
            texts = texts.dictionary_encode()
        elif ids == "integer" and field != "domain":
            texts = texts.cast(pa.int32())
        columns[field] = texts
    return pa.table(columns)


def write_parts(table, folder, rng, **options):
    """Write the table as four files; gives the place of each row."""
    cuts = [0, *sorted(rng.integers(0, len(table), 3).tolist()), len(table)]
    places = []
    for number, (begin, end) in enumerate(pairwise(cuts)):
        path = folder / f"{number}.parquet"
        pq.write_table(table.slice(begin, end - begin), path, **options)
        places += [f"{path} row {row + 1}" for row in range(end - begin)]
    return places


def plain_loop(table, places):
    """The cells, how many gave way, and the errors where duplicates and conflicts are refused."""
    found = defaultdict(list)
    for row, place in zip(table.to_pylist(), places, strict=True):
        if row["correct"] is not None:
            cell = str(row["model_id"]), row["domain"], str(row["item_id"])
            found[cell].append((row["correct"], place))
    cells, gave_way, errors = {}, Counter(), {}
    refused = Counter()
    for cell, several in found.items():
        cells[cell] = several[0][0]
        if len(several) == 1:
            continue
        other = next((pair for pair in several if pair[0] != several[0][0]), None)
        kind = "conflicts" if other else "duplicates"
        first, second = several[0], other or several[1]
        name = f"model {cell[0]!r}, item {cell[2]!r} of domain {cell[1]!r}"
        said = (
            f"correct {first[0]}, then correct {second[0]}"
            if other
            else f"both say correct {first[0]}"
        )
        errors.setdefault(kind, f"{first[1]} and {second[1]}: {name}: {said}; choose {kind} ")
        gave_way[kind] += len(several) - 1
        refused[kind] += 1
    ends = {kind: f"this and {count - 1} other cells" for kind, count in refused.items()}
    return cells, gave_way, {kind: (error, ends[kind]) for kind, error in errors.items()}


@pytest.mark.parametrize("ids", ["string", "large", "view", "dictionary", "integer"])
@pytest.mark.parametrize("repeated", [None, "duplicates", "conflicts"])
@pytest.mark.parametrize(
    "options",
    [{}, {"row_group_size": 37}, {"use_dictionary": False, "row_group_size": 150}],
    ids=["one row group", "small row groups", "plain"],
)
def test_against_a_plain_loop(tmp_path, cells_of, ids, repeated, options):
    rng = np.random.default_rng([len(ids), len(options), len(repeated or "")])
    table = random_table(rng, repeated, ids)
    cells, gave_way, errors = plain_loop(table, write_parts(table, tmp_path, rng, **options))
    assert bool(repeated) == bool(errors)
    for kind, (begin, end) in errors.items():
        with pytest.raises(InputError) as error:
            ingest([tmp_path], **{"duplicates": "first", "conflicts": "first", kind: "error"})
        assert str(error.value).startswith(begin)
        assert str(error.value).endswith(end)
    responses, report = ingest([tmp_path], duplicates="first", conflicts="first")
    assert cells_of(responses) == cells
    assert report.missing == table["correct"].null_count
    assert (report.duplicates, report.conflicts) == (gave_way["duplicates"], gave_way["conflicts"])


@pytest.mark.parametrize("value", [2, -1])
def test_a_wrong_value_is_named_whoever_decodes(tmp_path, value):
    rng = np.random.default_rng(3)
    table = random_table(rng, None, "string")
    correct = table["correct"].fill_null(0).to_numpy().copy()
    correct[[400, 401, 555]] = value
    places = write_parts(
        table.set_column(3, "correct", pa.array(correct)), tmp_path, rng, row_group_size=100
    )
    threads = pa.cpu_count()
    try:
        for count in (1, 2):
            pa.set_cpu_count(count)
            with pytest.raises(InputError) as error:
                ingest([tmp_path])
            assert str(error.value).startswith(f"{places[400]}: model ")
    finally:
        pa.set_cpu_count(threads)


def test_several_batches_a_row_group(tmp_path, monkeypatch, same):
    rng = np.random.default_rng(4)
    write_parts(random_table(rng, "conflicts", "string"), tmp_path, rng)
    rules = {"duplicates": "first", "conflicts": "last"}
    responses, report = ingest([tmp_path], **rules)
    monkeypatch.setattr("mtlirt.ingest.tidy.BATCH_ROWS", 23)
    again, same_report = ingest([tmp_path], **rules)
    same(responses, again)
    assert report == same_report


def test_memory_grows_by_a_few_bytes_a_record(tmp_path):
    def peak(models):
        """Bytes that NumPy, and that Arrow, hold at most."""
        cells = np.random.default_rng(5).permutation(models * 1000)
        model, item = np.divmod(cells, 1000)
        names = pa.array([f"model-{k}" for k in range(models)])
        columns = {
            "model_id": names.take(pa.array(model)),
            "item_id": pa.array([f"{k}" for k in range(1000)]).take(pa.array(item)),
            "domain": pa.array([f"domain-{k}" for k in range(10)]).take(pa.array(item % 10)),
            "correct": pa.array(cells % 2),
        }
        path = tmp_path / f"{models}.parquet"
        pq.write_table(pa.table(columns), path, row_group_size=1 << 15)
        del columns, model, item, cells
        pool = pa.proxy_memory_pool(pa.default_memory_pool())
        usual = pa.default_memory_pool()
        pa.set_memory_pool(pool)
        tracemalloc.start()
        try:
            ingest([path])
            return tracemalloc.get_traced_memory()[1], pool.max_memory()
        finally:
            tracemalloc.stop()
            pa.set_memory_pool(usual)

    peak(300)
    (before, _), (after, arrow) = peak(300), peak(2300)
    assert (after - before) / 2_000_000 < 8  # 5 a record, 2 a cell
    assert arrow < 20_000_000  # all of it decoded would be 46 MB


@pytest.mark.skipif(sys.platform != "linux", reason="names of files are Unicode")
def test_a_name_that_is_no_text(tmp_path):
    path = tmp_path / os.fsdecode(b"x\xff.csv")
    path.write_text("model_id,item_id,correct\nm,a,1\n")
    for source in (tmp_path, path):
        with pytest.raises(
            InputError, match=r"x\\udcff\.csv': its name is not UTF-8 text: rename it"
        ):
            ingest([source])
