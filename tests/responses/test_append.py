"""Stores that grow: all cells are where they were, new ones are there, the rest stays as it is."""

from pathlib import Path

import dask.array as da
import numpy as np
import pandas as pd
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from mtlirt.errors import InputError
from mtlirt.responses import growth
from mtlirt.responses.append import append_version
from mtlirt.responses.growth import grow, pick
from mtlirt.responses.matrix import DomainResponses, Responses, answered
from mtlirt.responses.store import lineage, open_responses, open_stored, write_responses
from mtlirt.storage.errors import StorageError
from mtlirt.storage.root import Root, open_root


def responses_of(cells, models, items):
    """Responses with some cells: (model, domain, item) -> (value, trials); and a dtype a domain."""
    columns = {}
    for domain, item in items:
        columns.setdefault(domain, []).append(item)
    domains = {}
    for domain, names in columns.items():
        values = {key: value for key, value in cells.items() if key[1] == domain}
        fraction = any(value != int(value) for value, _ in values.values())
        repeated = any(trials > 1 for _, trials in values.values())
        array = np.full((len(models), len(names)), np.nan if fraction else -1, "float32")
        attempts = np.zeros(array.shape, "int16")
        for (model, _, item), (value, trials) in values.items():
            array[models.index(model), names.index(item)] = value
            attempts[models.index(model), names.index(item)] = trials
        dtype = "float32" if fraction else "int16" if repeated else "int8"
        domains[domain] = DomainResponses(
            da.from_array(array.astype(dtype)), da.from_array(attempts) if repeated else None
        )
    ordered = [(domain, item) for domain, names in columns.items() for item in names]
    return Responses(domains, model_table(models), item_table(ordered))


def model_table(models):
    return pd.DataFrame(index=pd.Index(models, name="model_id", dtype=object))


def item_table(items):
    return pd.DataFrame(index=pd.MultiIndex.from_tuples(items, names=["domain", "item_id"]))


def cells_of(responses):
    found = {}
    for domain, part in responses.domains.items():
        array = part.array.compute()
        trials = answered(array).astype(int) if part.trials is None else part.trials.compute()
        items = responses.item_ids(domain)
        assert array.shape == trials.shape == (len(responses.models), len(items))
        assert (trials[~answered(array)] == 0).all()
        for i, j in zip(*np.nonzero(answered(array)), strict=True):
            key = responses.models.index[i], domain, items[j]
            found[key] = (round(float(array[i, j]), 6), int(trials[i, j]))
    return found


def extended(first, second):
    """Two lists of ids in the order that a store keeps."""
    return [*first, *(each for each in second if each not in first)]


def items_extended(first, second):
    every = extended(first, second)
    domains = list(dict.fromkeys(domain for domain, _ in every))
    return sorted(every, key=lambda item: domains.index(item[0]))


def takers(cells):
    answered_by = {}
    for model, domain, _ in cells:
        answered_by.setdefault(domain, set()).add(model)
    return {domain: len(models) for domain, models in answered_by.items()}


@st.composite
def steps(draw):
    """Cells of several writes, each domain of a kind that may widen from write to write."""
    kinds = {domain: draw(st.sampled_from(["attempts", "fractions"])) for domain in "xyz"}
    written = []
    for _ in range(draw(st.integers(2, 4))):
        keys = st.tuples(
            st.sampled_from("abcdefgh"), st.sampled_from("xyz"), st.sampled_from("12345")
        )
        cells = {}
        for key in draw(st.lists(keys, min_size=1, max_size=12, unique=True)):
            if kinds[key[1]] == "attempts":
                trials = draw(st.integers(1, 2))
                cells[key] = (draw(st.integers(0, trials)), trials)
            else:
                cells[key] = (draw(st.sampled_from([0, 1, 0.25])), 1)
        written.append(cells)
    return written


@settings(max_examples=40, deadline=None)
@given(
    steps=steps(), chunks=st.tuples(st.integers(1, 4), st.integers(1, 4)), many=st.integers(1, 99)
)
def test_a_store_that_grows_holds_all_that_came(tmp_path_factory, steps, chunks, many):
    url = tmp_path_factory.mktemp("store")
    expected, models, items = {}, [], []
    states = []
    for number, cells in enumerate(steps):
        models = extended(models, sorted({model for model, _, _ in cells}))
        items = items_extended(items, sorted({key[1:] for key in cells}))
        before = dict(expected)
        expected |= cells
        with pytest.MonkeyPatch.context() as patch:
            patch.setattr(growth, "MANY", many)
            if not number:
                write_responses(responses_of(cells, models, items), url, history={}, chunks=chunks)
            else:
                stored = open_stored(url)
                lost = lost_cells(before, stored.responses) if number == 2 else {}
                dropped = {next(iter(before))} if lost else set()
                expected = {k: v for k, v in expected.items() if k not in dropped or k in cells}
                names = sorted({model for model, _, _ in cells})
                some = responses_of(cells, names, sorted({key[1:] for key in cells}))
                grown = grow(stored, some, lost, model_table(models), item_table(items))
                assert cells_of(grown) == expected
                append_version(grown, {"step": number})
        states.append((dict(expected), list(models), list(items)))
    for version, (cells, models, items) in enumerate(states, 1):
        read = open_stored(url, version)
        assert cells_of(read.responses) == cells
        assert list(read.responses.models.index) == models
        assert list(read.responses.items.index) == items
        counts = {domain: row["models"] for domain, row in read.rows.items() if row["models"]}
        assert counts == takers(cells)
        assert not list(read.root.damaged(read.manifest))
    assert [entry.version for entry in lineage(read.root, read.manifest)] == [
        *range(1, len(states) + 1)
    ]


def lost_cells(before, responses):
    """The first cell, as `grow` takes those that become missing."""
    model, domain, item = next(iter(before))
    row = responses.models.index.get_loc(model)
    column = list(responses.item_ids(domain)).index(item)
    return {domain: (np.array([row]), np.array([column]))}


def square(models, items, seed=0):
    values = np.random.default_rng(seed).integers(0, 2, (len(models), len(items)))
    return responses_of(
        {
            (model, domain, item): (int(values[i, j]), 1)
            for i, model in enumerate(models)
            for j, (domain, item) in enumerate(items)
        },
        models,
        items,
    )


ITEMS = [(domain, str(k)) for domain in "xy" for k in range(4)]


@pytest.fixture
def url(tmp_path):
    return tmp_path / "store"


def test_chunks_that_gain_nothing_are_taken_over(url):
    write_responses(square(list("abcd"), ITEMS), url, history={}, chunks=(2, 4))
    stored = open_stored(url)
    some = square(["d"], [("x", "0")], 1)
    grown = grow(stored, some, {}, stored.responses.models, stored.responses.items)
    assert append_version(grown, {}) == 2
    new = open_stored(url)
    assert sorted(path_below(url, new.manifest)) == [
        "d000/responses/c/1/0", "d000/responses/zarr.json", "domains.parquet", "history.parquet",
        "items.parquet", "models.parquet",
    ]  # fmt: skip
    own = f"data/{new.manifest.run_id}/"
    assert {file.path for file in new.manifest.files if not file.path.startswith(own)} == {
        file.path for file in stored.manifest.files
        if file.name.startswith("d001/") or file.name == "d000/responses/c/0/0"
    }  # fmt: skip


def path_below(url, manifest):
    folder = Path(url) / "data" / str(manifest.run_id)
    return [str(path.relative_to(folder)) for path in folder.rglob("*") if path.is_file()]


def test_only_the_chunks_of_new_models_are_read(url, monkeypatch):
    write_responses(square(list("abcd"), ITEMS), url, history={}, chunks=(2, 2))
    stored = open_stored(url)
    read, original = [], Root.read_bytes
    monkeypatch.setattr(growth, "MANY", 99)
    monkeypatch.setattr(
        Root, "read_bytes", lambda *place: read.append(place[1]) or original(*place)
    )
    some = square(["e"], ITEMS, 1)
    models = model_table([*"abcde"])
    append_version(grow(stored, some, {}, models, stored.responses.items), {})
    assert not [path for path in read if "/c/" in path]


def test_growing_by_one_model_at_a_time_ends_in_few_chunks(url):
    models = [f"m{k:02d}" for k in range(40)]
    write_responses(square(models[:2], ITEMS), url, history={})
    for count in range(3, 41):
        stored = open_stored(url)
        some = square(models[count - 1 : count], ITEMS, count)
        grown = grow(stored, some, {}, model_table(models[:count]), stored.responses.items)
        append_version(grown, {})
    blocks = open_responses(url).domains["x"].array.numblocks
    assert blocks[0] * blocks[1] <= growth.MANY
    assert len(cells_of(open_responses(url))) == 40 * len(ITEMS)


@pytest.mark.parametrize("shape", [(2, 11_600), (12_000, 2)])
def test_large_domains_that_nothing_new_comes_to(url, shape):
    """Dask refuses an array that is empty one way and long the other."""
    models, items = (list(np.arange(n).astype(str)) for n in shape)
    part = DomainResponses(da.from_array(np.zeros(shape, np.int8)))
    table = item_table([("x", item) for item in items])
    write_responses(Responses({"x": part}, model_table(models), table), url, history={})
    stored = open_stored(url)
    some = square(["1"], [("x", "1")], 1)
    append_version(grow(stored, some, {}, stored.responses.models, stored.responses.items), {})
    found = open_responses(url).domains["x"].array.compute()
    assert found.shape == shape
    assert found.sum() == found[1, 1]


def test_a_version_written_meanwhile_is_not_passed_over(url):
    write_responses(square(list("ab"), ITEMS), url, history={})
    stored = open_stored(url)
    for number in range(2):
        some = square(["c"], ITEMS, number)
        grown = grow(stored, some, {}, model_table([*"abc"]), stored.responses.items)
        if number:
            with pytest.raises(StorageError, match="version 2 was written meanwhile"):
                append_version(grown, {})
        else:
            append_version(grown, {})
    assert len(open_root(url).names("data")) == 2


def test_fractions_do_not_join_repeated_attempts(url):
    one = responses_of({("a", "x", "1"): (1, 2)}, ["a"], [("x", "1")])
    other = responses_of({("b", "x", "1"): (0.5, 1)}, ["b"], [("x", "1")])
    write_responses(one, url, history={})
    stored = open_stored(url)
    with pytest.raises(InputError, match="'x': fractions and repeated attempts do not mix"):
        grow(stored, other, {}, model_table([*"ab"]), stored.responses.items)


def test_rewritten_in_fewer_parts_and_appended_to_twice(url):
    """Public fault O28."""
    models = [f"m{k}" for k in range(10)]
    write_responses(square(models, ITEMS), url, history={}, chunks=(2, 8))
    assert open_responses(url).domains["x"].array.numblocks == (5, 1)
    write_responses(square(models[:6], ITEMS, 1), url, history={}, overwrite=True, chunks=(3, 8))
    for number, more in enumerate((["m6", "m7"], ["m8"])):
        stored = open_stored(url)
        names = [*stored.responses.models.index, *more]
        some = square(more, ITEMS, 2 + number)
        append_version(grow(stored, some, {}, model_table(names), stored.responses.items), {})
    read = open_responses(url)
    parts = [square(models[:6], ITEMS, 1), square(["m6", "m7"], ITEMS, 2), square(["m8"], ITEMS, 3)]
    assert list(read.models.index) == models[:9]
    for domain in "xy":
        np.testing.assert_array_equal(
            read.domains[domain].array.compute(),
            np.concatenate([part.domains[domain].array.compute() for part in parts]),
        )
    assert len(open_responses(url, 1).models) == 10


def test_picking_cells():
    rng = np.random.default_rng(3)
    values = rng.integers(-1, 2, (7, 9)).astype("int8")
    rows, columns = rng.integers(0, 7, 30), rng.integers(0, 9, 30)
    found = pick(da.from_array(values, chunks=(3, 4)), (rows, columns))
    np.testing.assert_array_equal(found, values[rows, columns])


def test_a_file_is_taken_over_once_and_only_from_an_earlier_version(url):
    write_responses(square(list("ab"), ITEMS), url, history={})
    stored = open_stored(url)
    with stored.root.draft("responses") as draft:
        own = draft.write("x.parquet", b"x")
        with pytest.raises(ValueError, match="of no earlier version"):
            draft.adopt(own)
        draft.adopt(stored.manifest.by_name["models.parquet"])
        with pytest.raises(ValueError, match=r"models.parquet was written before"):
            draft.adopt(stored.manifest.by_name["models.parquet"])
    assert not list(stored.root.damaged(stored.manifest))
