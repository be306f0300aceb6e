"""The response store: round trips, laziness, verification, versions."""

import json
import multiprocessing
import pickle
from concurrent.futures import ProcessPoolExecutor
from pathlib import Path

import dask
import dask.array as da
import numpy as np
import pandas as pd
import pyarrow.parquet as pq
import pytest
import zarr
from hypothesis import given, settings
from hypothesis import strategies as st
from hypothesis.extra import numpy as hnp

from mtlirt.errors import InputError
from mtlirt.responses import load
from mtlirt.responses.matrix import DomainResponses, Responses
from mtlirt.responses.store import open_responses, store_history, write_responses
from mtlirt.storage.errors import StorageError
from mtlirt.storage.root import open_root

HISTORY = {"source": "made up", "seed": 1}


@pytest.fixture
def url(tmp_path):
    return str(tmp_path / "store")


def data_folder(url, version=1):
    manifest = json.loads((Path(url) / f"manifests/{version:012d}.json").read_text())
    return Path(url) / "data" / manifest["run_id"]


def contents(folder):
    return {
        str(path.relative_to(folder)): path.read_bytes()
        for path in sorted(folder.rglob("*"))
        if path.is_file()
    }


def test_all_kinds_of_arrays_read_back(url, three_kinds, assert_same):
    assert write_responses(three_kinds, url, history=HISTORY) == 1
    assert_same(open_responses(url), three_kinds)


@pytest.mark.parametrize("chunks", [(1, 1), (4, 3), (6, 2), (100, 100), None])
def test_any_chunking_reads_back(url, three_kinds, assert_same, chunks):
    write_responses(three_kinds, url, history=HISTORY, chunks=chunks)
    assert_same(open_responses(url), three_kinds)


def test_a_chunk_is_a_dask_block(url, as_responses, binary):
    write_responses(
        as_responses({"d": binary((5, 7))}, (1, 7)), url, history=HISTORY, chunks=(2, 3)
    )
    assert open_responses(url).domains["d"].array.chunks == ((2, 2, 1), (3, 3, 1))


def test_input_of_other_chunking_is_one_block_by_default(url, as_responses, binary):
    write_responses(as_responses({"d": binary((5, 7))}, (2, 3)), url, history=HISTORY)
    assert open_responses(url).domains["d"].array.chunks == ((5,), (7,))


def test_hostile_ids_read_back(url, hostile, as_responses, binary, assert_same):
    plain = as_responses({name: binary((len(hostile), 2)) for name in hostile})
    items = [(domain, item) for domain in hostile for item in (domain, hostile[0] + "!")]
    responses = Responses(
        domains=plain.domains,
        models=pd.DataFrame(index=pd.Index(hostile, name="model_id")),
        items=pd.DataFrame(index=pd.MultiIndex.from_tuples(items, names=["domain", "item_id"])),
    )
    write_responses(responses, url, history=HISTORY)
    read = open_responses(url)
    assert_same(read, responses)
    assert list(read.models.index) == hostile
    assert list(read.item_ids(hostile[0])) == ["[", "[!"]
    assert all(read.item_ids(domain)[0] == domain for domain in hostile)
    folders = {path.name for path in data_folder(url).iterdir()}
    assert folders == {f"d{k:03d}" for k in range(len(hostile))} | {
        f"{name}.parquet" for name in ("models", "items", "domains", "history")
    }


ids = st.lists(
    st.text(st.characters(exclude_categories=["Cs"]), min_size=1),
    min_size=1,
    max_size=6,
    unique=True,
)


@settings(max_examples=10, deadline=None)
@given(models=ids, items=ids, data=st.data())
def test_any_ids_and_values_read_back(tmp_path_factory, assert_same, models, items, data):
    shape = (len(models), len(items))
    array = data.draw(hnp.arrays("int8", shape, elements=st.integers(-1, 1)))
    index = pd.MultiIndex.from_product([["d"], items], names=["domain", "item_id"])
    responses = Responses(
        domains={"d": DomainResponses(da.from_array(array))},
        models=pd.DataFrame(index=pd.Index(models, name="model_id")),
        items=pd.DataFrame(index=index),
    )
    url = tmp_path_factory.mktemp("store")
    write_responses(
        responses, url, history={}, chunks=data.draw(st.tuples(*[st.integers(1, 4)] * 2))
    )
    assert_same(open_responses(url), responses)


def test_metadata_keeps_order_and_types(url, as_responses, binary, assert_same):
    plain = as_responses({"d": binary((3, 2))})
    models = plain.models.assign(
        zeta=[1, 2, 3],
        released=pd.to_datetime(["2024-01-01", None, "2025-06-30"]),
        group=pd.Categorical(["a", "b", "a"]),
        size=pd.array([7, None, 70], dtype="Int64"),
        open=[True, False, True],
        weight=np.array([0.5, np.nan, 1], dtype="float32"),
        note=["NA", "", None],
    )
    items = plain.items.assign(guessing=[0.25, 0.0])
    responses = Responses(plain.domains, models, items)
    write_responses(responses, url, history=HISTORY)
    assert_same(open_responses(url), responses)


@pytest.mark.parametrize("columns", [["model_id"], [3], ["a", "a"]])
def test_metadata_columns_must_be_distinct_names(url, as_responses, binary, columns):
    plain = as_responses({"d": binary((3, 2))})
    models = pd.DataFrame(np.ones((3, len(columns))), plain.models.index, columns)
    with pytest.raises(InputError, match="metadata columns"):
        write_responses(Responses(plain.domains, models, plain.items), url, history=HISTORY)


def test_metadata_without_a_type_is_bad_input(url, as_responses, binary):
    plain = as_responses({"d": binary((3, 2))})
    models = plain.models.assign(mixed=[1, "a", None])
    with pytest.raises(InputError, match="mixed"):
        write_responses(Responses(plain.domains, models, plain.items), url, history=HISTORY)


@pytest.mark.parametrize(("bad", "told"), [(1, "must be a string"), (None, "missing")])
def test_ids_must_be_strings(url, as_responses, binary, bad, told):
    plain = as_responses({"d": binary((2, 2))})
    models = pd.DataFrame(index=pd.Index(["a", bad], dtype=object, name="model_id"))
    with pytest.raises(InputError, match=f"model_id.*{told}"):
        write_responses(Responses(plain.domains, models, plain.items), url, history=HISTORY)
    assert open_root(url).names("data") == []


def test_opening_reads_no_chunk(url, three_kinds, monkeypatch):
    write_responses(three_kinds, url, history=HISTORY)
    read = []
    original = load.Root.read_bytes

    def recording(root, path):
        read.append(path)
        return original(root, path)

    monkeypatch.setattr(load.Root, "read_bytes", recording)
    responses = open_responses(url)
    assert {path.rsplit("/", 1)[1] for path in read} == {
        "000000000001.json", "models.parquet", "items.parquet", "domains.parquet",
    }  # fmt: skip
    read.clear()
    responses.domains["binary"].array.compute()
    assert {path.split("/", 2)[2] for path in read if "data/" in path} == {
        "d000/responses/zarr.json", "d000/responses/c/0/0",
    }  # fmt: skip


def test_the_graph_holds_no_data(url, as_responses, binary):
    write_responses(
        as_responses({"d": binary((300, 300))}), url, history=HISTORY, chunks=(200, 200)
    )
    array = open_responses(url).domains["d"].array
    assert len(pickle.dumps(array)) < 3000


def test_another_process_computes_it(url, three_kinds, assert_same, monkeypatch):
    monkeypatch.chdir(Path(url).parent)
    write_responses(three_kinds, "store", history=HISTORY, chunks=(4, 4))
    responses = open_responses("store")
    monkeypatch.chdir("/")
    with (
        ProcessPoolExecutor(1, multiprocessing.get_context("spawn")) as pool,
        dask.config.set(scheduler="processes", pool=pool),
    ):
        computed = responses.domains["binary"].array.compute()
    np.testing.assert_array_equal(computed, three_kinds.domains["binary"].array.compute())


def test_equal_input_gives_equal_bytes(tmp_path, three_kinds):
    for name in ("one", "other"):
        write_responses(three_kinds, tmp_path / name, history=HISTORY, chunks=(4, 4))
    one, other = (contents(data_folder(tmp_path / name)) for name in ("one", "other"))
    assert one == other
    assert len(one) == 4 + 4 + (4 + 2 + 2 + 2)  # tables, array metadata, chunks


def test_any_zarr_reader_reads_the_arrays(url, three_kinds):
    write_responses(three_kinds, url, history=HISTORY, chunks=(4, 4))
    array = zarr.open_array(data_folder(url) / "d000/responses", mode="r")
    np.testing.assert_array_equal(array[:], three_kinds.domains["binary"].array.compute())
    assert array.fill_value == -1
    assert array.chunks == (4, 4)


def test_the_domain_table_tells_takers_and_layout(url, as_responses):
    array = np.array([[-1, -1, 1], [-1, -1, -1], [0, -1, -1]], dtype="int8")
    write_responses(as_responses({"d": array}), url, history=HISTORY, chunks=(2, 2))
    assert pq.read_table(data_folder(url) / "domains.parquet").to_pylist() == [
        {
            "domain": "d",
            "key": "d000",
            "models": 2,
            "items": 3,
            "dtype": "int8",
            "has_trials": False,
            "model_chunk": 2,
            "item_chunk": 2,
        }
    ]


def chunk(url, name="d000/responses/c/0/0"):
    return data_folder(url) / name


@pytest.fixture
def stored(url, as_responses):
    """A store whose second chunk holds nothing but missing cells."""
    array = np.array([[1, 0, -1, -1]] * 4, dtype="int8")
    write_responses(as_responses({"d": array}), url, history=HISTORY, chunks=(4, 2))
    return open_responses(url).domains["d"].array


def test_an_altered_chunk_is_refused_by_name(url, stored):
    content = bytearray(chunk(url).read_bytes())
    content[-1] ^= 1
    chunk(url).write_bytes(content)
    with pytest.raises(StorageError, match=r"d000/responses/c/0/0 .*altered"):
        stored.compute()


def test_a_truncated_chunk_is_refused_by_name(url, stored):
    chunk(url).write_bytes(chunk(url).read_bytes()[:-1])
    with pytest.raises(StorageError, match=r"d000/responses/c/0/0 .*bytes"):
        stored.compute()


@pytest.mark.parametrize("name", ["d000/responses/c/0/0", "d000/responses/c/0/1"])
def test_a_deleted_chunk_is_refused_by_name_even_if_all_missing(url, stored, name):
    chunk(url, name).unlink()
    with pytest.raises(StorageError, match=rf"{name} .*is missing"):
        stored.compute()


@pytest.mark.parametrize("name", ["models", "items", "domains"])
def test_an_altered_table_is_refused_by_name(url, stored, name):
    chunk(url, f"{name}.parquet").write_bytes(b"PAR1")
    with pytest.raises(StorageError, match=rf"{name}\.parquet"):
        open_responses(url)


def test_a_replaced_store_is_not_mistaken_for_the_one_opened(url, stored, as_responses, binary):
    Path(url).rename(f"{url}-away")
    write_responses(as_responses({"d": binary((4, 4))}), url, history=HISTORY)
    with pytest.raises(StorageError, match="was replaced since it was opened"):
        stored.compute()


def test_an_existing_store_is_not_overwritten(url, as_responses, binary):
    responses = as_responses({"d": binary((3, 2))})
    write_responses(responses, url, history=HISTORY)
    with pytest.raises(InputError, match="holds version 1 already"):
        write_responses(responses, url, history=HISTORY)


def test_overwriting_adds_a_version_and_keeps_the_earlier(url, as_responses, binary, assert_same):
    one, two = (as_responses({"d": binary((3, 2), seed)}) for seed in (1, 2))
    write_responses(one, url, history={"seed": 1})
    assert write_responses(two, url, history={"seed": 2}, overwrite=True) == 2
    assert_same(open_responses(url), two)
    assert_same(open_responses(url, 1), one)
    assert_same(open_responses(f"{url}@1"), one)
    assert [(entry.version, entry.history) for entry in store_history(url)] == [
        (1, {"seed": 1}),
        (2, {"seed": 2}),
    ]
    assert len(store_history(f"{url}@1")) == 1


def test_a_store_rewritten_while_it_is_read_is_still_read(url, as_responses, binary):
    one, two = (as_responses({"d": binary((3, 2), seed)}) for seed in (1, 2))
    write_responses(one, url, history=HISTORY)
    opened = open_responses(url).domains["d"].array
    write_responses(two, url, history=HISTORY, overwrite=True)
    np.testing.assert_array_equal(opened.compute(), one.domains["d"].array.compute())


def test_two_versions_asked_for_at_once_are_bad_use(url, stored):
    with pytest.raises(InputError, match="names version 1, but version 2"):
        open_responses(f"{url}@1", 2)


def test_a_failed_computation_leaves_no_version(url, as_responses, binary):
    def fail(block):
        raise ZeroDivisionError

    plain = as_responses({"d": binary((3, 2))})
    array = plain.domains["d"].array.map_blocks(fail, dtype="int8", meta=np.empty((0, 0), "int8"))
    broken = Responses({"d": DomainResponses(array)}, plain.models, plain.items)
    with pytest.raises(ZeroDivisionError):
        write_responses(broken, url, history=HISTORY)
    assert open_root(url).versions() == []
    assert open_root(url).names("data") == []


def test_a_block_that_is_not_what_its_array_says_is_refused(url, as_responses, binary):
    plain = as_responses({"d": binary((3, 2))})
    array = plain.domains["d"].array.map_blocks(
        lambda block: block.astype("int64"), dtype="int8", meta=np.empty((0, 0), "int8")
    )
    broken = Responses({"d": DomainResponses(array)}, plain.models, plain.items)
    with pytest.raises(ValueError, match="computed as int64"):
        write_responses(broken, url, history=HISTORY)


def test_bad_use_is_told(url, as_responses, binary):
    responses = as_responses({"d": binary((3, 2))})
    with pytest.raises(InputError, match="chunks"):
        write_responses(responses, url, history=HISTORY, chunks=(0, 5))
    with pytest.raises(InputError, match="no domains"):
        write_responses(
            Responses({}, responses.models, responses.items.iloc[:0]), url, history=HISTORY
        )
    with pytest.raises(InputError, match="no version found, expected a responses root"):
        open_responses(url)
