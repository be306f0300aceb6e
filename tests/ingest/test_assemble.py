"""Whatever order records come in: the same responses, and counts that add up."""

from collections import Counter, defaultdict

import numpy as np
import pandas as pd
import pyarrow as pa
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from mtlirt.errors import InputError
from mtlirt.ingest import from_tidy, ingest
from mtlirt.ingest.assemble import Assembler
from mtlirt.ingest.cells import CellRule
from mtlirt.ingest.reader import Rows
from mtlirt.ingest.tidy import find_columns, tidy_batches
from mtlirt.ingest.values import ValueRule

IDS = st.sampled_from(["a", "A", "\u00e9", "z", "nan", "7", "07"])
RECORDS = st.lists(
    st.tuples(IDS, IDS, st.sampled_from(["d", "e"]), st.sampled_from([0, 1, 0.5, None])),
    min_size=1,
    max_size=40,
)


def assemble(records, values, cells, batch=3):
    names = ["model_id", "item_id", "domain", "correct"]
    columns = list(zip(*records, strict=True))
    table = pa.table([*columns[:3], pa.array(columns[3], pa.float64())], names=names)
    assembler = Assembler("default", values, cells)
    batches = table.to_batches(max_chunksize=batch)
    for part in tidy_batches(batches, find_columns(names, None, "t"), Rows("t", 1), frozenset()):
        assembler.add(part)
    return assembler.finish()


def brute_force(records, values, cells):
    """Cells, and how many records gave way to equal or differing ones; None where refused."""
    found = defaultdict(list)
    for model, item, domain, value in records:
        if value == 0.5 and values.threshold is not None:
            value = int(value >= values.threshold)
        if value == 0.5 and values.fractions == "error":
            return None
        if value is not None:
            found[model, domain, item].append(value)
    out, gave_way = {}, Counter()
    for cell, several in found.items():
        kind = "duplicates" if len(set(several)) == 1 else "conflicts"
        choice = getattr(cells, kind)
        if len(several) == 1:
            out[cell] = several[0], 1
            continue
        if choice == "error" or (choice == "attempts" and 0.5 in several):
            return None
        gave_way[kind] += len(several) - 1
        out[cell] = {
            "first": (several[0], 1),
            "last": (several[-1], 1),
            "attempts": (sum(several), len(several)),
        }[choice]
    for domain in {record[2] for record in records}:
        mine = {cell: pair for cell, pair in out.items() if cell[1] == domain}
        if len({model for model, _, _ in mine}) < 2:
            return None
        if {value for value, _ in mine.values()} >= {0.5} and any(n > 1 for _, n in mine.values()):
            return None
    return out, gave_way


@settings(max_examples=100, deadline=None)
@given(
    records=RECORDS,
    values=st.sampled_from([ValueRule(), ValueRule("keep"), ValueRule(threshold=0.5)]),
    duplicates=st.sampled_from(["error", "first", "attempts"]),
    conflicts=st.sampled_from(["error", "first", "last", "attempts"]),
)
def test_against_brute_force(cells_of, records, values, duplicates, conflicts):
    cells = CellRule(duplicates, conflicts)
    expected = brute_force(records, values, cells)
    if expected is None:
        with pytest.raises(InputError):
            assemble(records, values, cells)
        return
    responses, report = assemble(records, values, cells)
    found = {
        cell: value if isinstance(value, tuple) else (value, 1)
        for cell, value in cells_of(responses).items()
    }
    assert found == expected[0]
    assert {"duplicates": report.duplicates, "conflicts": report.conflicts} == {
        "duplicates": 0,
        "conflicts": 0,
    } | expected[1]
    assert report.records == len(records)
    assert report.missing == sum(value is None for *_, value in records)
    assert report.cells == len(found)
    assert list(responses.models.index) == sorted({record[0] for record in records})
    assert list(responses.items.index) == sorted({(d, i) for _, i, d, _ in records})
    by_item = defaultdict(set)
    for (_, domain, item), (successes, trials) in found.items():
        by_item[domain, item].add(successes / trials)
    constant = sorted(item for item, rates in by_item.items() if len(rates) == 1)
    assert sorted(report.constant_items) == constant


@settings(max_examples=50, deadline=None)
@given(records=RECORDS, data=st.data())
def test_the_order_of_rows_never_matters(same, records, data):
    unique = list({record[:3]: record for record in records}.values())
    shuffled = data.draw(st.permutations(unique))
    rules = ValueRule("keep"), CellRule()
    try:
        responses, _ = assemble(unique, *rules)
    except InputError:
        with pytest.raises(InputError):
            assemble(shuffled, *rules)
        return
    same(responses, assemble(shuffled, *rules, batch=5)[0])


def test_ids_are_in_the_order_of_their_bytes():
    ids = ["\U0001f600", "\uffff", "\u00e9", "z", "Z", "10", "9", "a b", "a"]
    frame = pd.DataFrame({"model_id": ids, "item_id": ids[0], "correct": [0, 1] * 4 + [0]})
    expected = sorted(ids, key=lambda text: text.encode())
    assert list(from_tidy(frame).models.index) == expected


def test_the_same_item_id_in_two_domains_is_two_items(write):
    text = "model_id,item_id,domain,correct\na,q,x,1\nb,q,x,0\na,q,y,0\nb,q,y,0\n"
    responses, report = ingest([write("x.csv", text)])
    assert list(responses.items.index) == [("x", "q"), ("y", "q")]
    assert report.shared_items == ("q",)
    assert report.constant_items == (("y", "q"),)
    assert report.constant_domains == ("y",)


def test_ids_that_differ_only_in_case_stay_two(write):
    models = ["Meta-Llama-3.1-70B-Instruct-Turbo", "meta-llama-3.1-70b-instruct-turbo"]
    text = f"model_id,item_id,correct\n{models[0]},Q,1\n{models[1]},q,0\n"
    responses, report = ingest([write("x.csv", text)])
    assert responses.shape == (2, 2)
    assert report.same_folded_models == (tuple(models),)
    assert report.same_folded_items == ((("default", "Q"), ("default", "q")),)


def test_models_and_items_with_nothing_but_missing_cells_stay(write):
    text = "model_id,item_id,correct\na,q,1\nb,q,0\nc,q,\na,r,\n"
    responses, report = ingest([write("x.csv", text)])
    assert responses.domains["default"].array.compute().tolist() == [[1, -1], [0, -1], [-1, -1]]
    assert report.empty_models == ("c",)
    assert report.empty_items == (("default", "r"),)
    assert report.constant_items == ()


def test_domains_too_poor_to_use(write):
    head = "model_id,item_id,domain,correct\na,q,x,1\nb,q,x,0\n"
    with pytest.raises(
        InputError, match="domain 'y': nothing but missing values, a fit needs at least 2 models"
    ):
        ingest([write("x.csv", f"{head}a,q,y,\nb,q,y,\n")])
    with pytest.raises(InputError, match="2 domains 'y', 'z': responses of only one model"):
        ingest([write("x.csv", f"{head}a,q,y,1\nb,q,y,\na,q,z,0\n")])


def test_fractions_are_kept_in_the_domains_that_have_them(write):
    text = "model_id,item_id,domain,correct\na,q,x,.8888\nb,q,x,\na,q,y,1\nb,q,y,0\nc,q,x,1\n"
    responses, _ = ingest([write("x.csv", text)], fractions="keep")
    kept = responses.domains["x"].array.compute()
    assert kept.dtype == np.float32
    np.testing.assert_array_equal(kept, np.float32([[0.8888], [np.nan], [1]]))
    assert responses.domains["y"].array.dtype == np.int8


def test_items_constant_only_after_thresholding(write):
    rows = "".join(f"m{k},q,{value}\n" for k, value in enumerate([0.817, 0.9, 0.991]))
    more = "m0,r,0\nm1,r,1\nm2,r,1\nm0,s,1\nm1,s,1\n"
    path = write("x.csv", f"model_id,item_id,correct\n{rows}{more}")
    responses, report = ingest([path], threshold=0.8)
    assert responses.domains["default"].array.compute().tolist() == [
        [1, 0, 1],
        [1, 1, 1],
        [1, 1, -1],
    ]
    assert report.threshold_constant_items == (("default", "q"),)
    assert report.constant_items == (("default", "q"), ("default", "s"))


@pytest.mark.parametrize("name", ["", "  "])
def test_a_default_domain_needs_a_name(name):
    with pytest.raises(InputError, match=r"domain is .*, expected a name"):
        ingest([], domain=name)
