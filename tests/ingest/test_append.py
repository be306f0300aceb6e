"""Files added to a store: as if all had been read at once, and none of them twice."""

import json
from datetime import UTC, datetime

import pandas as pd
import pytest
from hypothesis import Phase, given, settings
from hypothesis import strategies as st

from mtlirt.cli.app import run
from mtlirt.errors import InputError
from mtlirt.ingest.append import append
from mtlirt.ingest.files import ingest
from mtlirt.ingest.registry import formats
from mtlirt.ingest.runs import Run, Samples
from mtlirt.responses import growth
from mtlirt.responses.store import lineage, open_responses, open_stored, write_responses
from mtlirt.storage.root import open_root


def begin(store, sources, **options):
    responses, report = ingest(sources, **options)
    write_responses(responses, store, history={"report": report.to_dict()}, chunks=(2, 2))
    return report


def add_up(report):
    assert report.records == report.cells + report.missing + report.duplicates + report.conflicts
    return report


@pytest.fixture
def store(tmp_path):
    return tmp_path / "store"


records = st.tuples(
    st.sampled_from("abcdef"), st.sampled_from("pqrs"), st.sampled_from("xy"),
    st.sampled_from(["0", "1", "1", ""]),
)  # fmt: skip
RULES = [("first", "first"), ("first", "last"), ("attempts", "attempts")]


@settings(max_examples=20, deadline=None, phases=[Phase.generate])
@given(
    files=st.lists(st.lists(records, min_size=1, max_size=8), min_size=2, max_size=5),
    rules=st.sampled_from(RULES),
    many=st.integers(1, 50),
    fractions=st.booleans(),
)
def test_files_one_after_the_other_are_as_all_at_once(
    tmp_path_factory, cells_of, files, rules, many, fractions
):
    folder = tmp_path_factory.mktemp("split")
    fractions = fractions and "attempts" not in rules
    paths = []
    for number, rows in enumerate(files):
        rows = [
            (m, i, d, ".3" if fractions and (c, number) == ("1", 1) else c) for m, i, d, c in rows
        ]
        paths.append(folder / f"{number}.csv")
        frame = pd.DataFrame(rows, columns=["model_id", "item_id", "domain", "correct"])
        frame.assign(note=number).to_csv(paths[-1], index=False)
    options = {
        "duplicates": rules[0],
        "conflicts": rules[1],
        "poor_domains": "keep",
        "fractions": "keep" if fractions else "error",
    }
    whole, _ = ingest(paths, **options)
    reports = [begin(folder / "store", paths[:1], **options)]
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(growth, "MANY", many)
        for number, path in enumerate(paths[1:], 2):
            version, report = append([path], folder / "store", {}, **options)
            assert version == number
            reports.append(add_up(report))
    read = open_responses(folder / "store")
    assert cells_of(read) == cells_of(whole)
    assert sorted(read.models.index) == list(whole.models.index)
    assert sorted(read.items.index) == list(whole.items.index)
    assert sum(report.cells for report in reports) == len(cells_of(whole))
    assert sum(report.records for report in reports) == sum(map(len, files))
    for path in paths:
        version, report = append([path], folder / "store", {}, **options)
        assert version is None
        assert report.taken_before == (str(path),)
    assert open_root(folder / "store").versions() == [*range(1, len(paths) + 1)]


HEADER = "model_id,item_id,domain,correct\n"


def test_collisions_with_the_store_are_told_with_both_places(write, store):
    begin(store, [write("a.csv", HEADER + "m,q,d,1\nn,q,d,0\nm,r,d,1\n")])
    conflict = write("b.csv", HEADER + "o,q,d,1\nm,q,d,0\n")
    with pytest.raises(InputError) as caught:
        append([conflict], store, {})
    assert str(caught.value) == (
        f"the store and {conflict} row 3: model 'm', item 'q' of domain 'd': correct 1, then "
        "correct 0; choose conflicts first, last or attempts (--conflicts) for this and 0 other "
        "cells"
    )
    with pytest.raises(InputError, match=r"the store and .*c.csv row 2: .* both say correct 1"):
        append([write("c.csv", HEADER + "m,r,d,1\n")], store, {})
    assert open_root(store).versions() == [1]
    assert len(open_root(store).names("data")) == 1


def test_a_new_model_in_an_old_domain_is_enough_for_it(write, store, cells_of):
    begin(store, [write("a.csv", HEADER + "m,q,d,1\nn,q,d,0\n")])
    version, report = append([write("b.csv", HEADER + "o,q,d,1\n")], store, {})
    assert version == 2
    assert (report.growth.new_models, report.growth.models, report.cells) == (1, 3, 1)
    with pytest.raises(InputError, match="domain 'e': responses of only one model"):
        append([write("c.csv", HEADER + "o,q,e,1\n")], store, {})
    append([write("c.csv", HEADER + "o,q,e,1\n")], store, {}, poor_domains="keep")
    append([write("d.csv", HEADER + "n,q,e,0\n")], store, {})
    assert len(cells_of(open_responses(store))) == 5


def test_the_same_table_in_another_domain_is_another(write, store, cells_of):
    path = write("a.csv", "model_id,item_id,correct\nm,q,1\nn,q,0\n")
    begin(store, [path], domain="x")
    version, _ = append([path], store, {}, domain="y")
    assert version == 2
    assert set(cells_of(open_responses(store))) == {(m, d, "q") for m in "mn" for d in "xy"}
    assert append([path], store, {}, domain="y")[0] is None


def test_metadata_is_joined(write, store, tmp_path):
    begin(
        store,
        [write("a.csv", HEADER + "m,q,d,1\nn,q,d,0\n")],
        models=write("m1.csv", "model_id,maker,weight\nm,acme,2\nn,acme,\n"),
        items=write("i1.csv", "domain,item_id,guessing\nd,q,0.25\n"),
    )
    append(
        [write("b.csv", HEADER + "a,q,d,1\na,b,d,1\n")],
        store,
        {},
        models=write("m2.csv", "model_id,maker,size\na,zeta,7\nn,omega,8\n"),
    )
    read = open_responses(store)
    assert read.models["maker"].tolist() == ["acme", "omega", "zeta"]
    assert read.models["size"].isna().tolist() == [True, False, False]
    assert read.models["weight"].fillna(-1).tolist() == [2, -1, -1]
    assert list(read.items.index) == [("d", "q"), ("d", "b")]
    assert read.items["guessing"].fillna(-1).tolist() == [0.25, -1]
    again = {"models": tmp_path / "m2.csv"}
    assert append([tmp_path / "b.csv"], store, {}, **again)[0] is None
    again = {"models": write("m3.csv", "model_id,size\nm,9\n")}
    version, report = append([tmp_path / "b.csv"], store, {}, **again)
    assert (version, report.records) == (3, 0)
    assert open_responses(store).models["size"].tolist() == ["9", "8", "7"]
    with pytest.raises(InputError, match="no response has model 'x'"):
        append([tmp_path / "b.csv"], store, {}, models=write("m4.csv", "model_id,size\nx,9\n"))


class Toy:
    """One JSON object a file: a run of one model on one task."""

    name = "toy"

    def role(self, path, head):
        return "log" if path.name.endswith(".toy") else None

    def runs(self, path, choices):
        told = json.loads(path.read_text())
        results = told.pop("results")
        numbers = [*range(1, len(results) + 1)]
        samples = Samples([*results], [*results.values()], numbers, contents=told.pop("contents"))
        time = told.pop("time")
        when = None if time is None else datetime(2024, 1, time, tzinfo=UTC)
        yield Run(str(path), samples=lambda: iter([samples]), time=when, **told)


@pytest.fixture(scope="module")
def toy():
    """A format whose runs tell their time."""
    with pytest.MonkeyPatch.context() as patch:
        patch.setitem(formats(), "toy", Toy())
        yield


def toy_log(folder, number, model="m", task="t", results=None, contents=None, time=None, **facts):
    path = folder / f"{number}.toy"
    told = {"model": model, "task": task, "results": results or {"a": 1}, "contents": contents}
    path.write_text(
        json.dumps({**told, "time": time, **facts, "partial": facts.get("partial", "")})
    )
    return path


runs = st.fixed_dictionaries(
    {
        "model": st.sampled_from("mn"),
        "task": st.sampled_from("tu"),
        "results": st.dictionaries(st.sampled_from("abcd"), st.integers(0, 1), min_size=1),
        "time": st.integers(1, 5),
        "partial": st.sampled_from(["", "", "limit"]),
        "version": st.sampled_from([None, "1"]),
    }
)


@settings(max_examples=20, deadline=None, phases=[Phase.generate])
@given(told=st.lists(runs, min_size=2, max_size=7), data=st.data())
def test_later_runs_replace_those_of_the_store(toy, tmp_path_factory, cells_of, told, data):
    folder = tmp_path_factory.mktemp("runs")
    paths = [toy_log(folder, number, **each) for number, each in enumerate(told)]
    options = {"poor_domains": "keep", "duplicates": "first", "conflicts": "first"}
    whole, _ = ingest(paths, **options)
    begin(folder / "store", paths[:1], **options)
    replaced, rest = 0, paths[1:]
    while rest:
        count = data.draw(st.integers(1, len(rest)))
        before = len(cells_of(open_responses(folder / "store")))
        _, report = append(rest[:count], folder / "store", {}, **options)
        after = len(cells_of(open_responses(folder / "store")))
        assert after == before + add_up(report).cells - report.growth.replaced_cells
        replaced += len(report.growth.replaced_runs)
        rest = rest[count:]
    read = open_responses(folder / "store")
    assert cells_of(read) == cells_of(whole)
    facts = ["task", "document", "version"]
    assert all(
        told_of(read, item, facts) == told_of(whole, item, facts) for item in whole.items.index
    )


def told_of(responses, item, facts):
    """What the item table says of an item, without what it leaves open."""
    row = responses.items.loc[item]
    return {name: row[name] for name in facts if name in row and pd.notna(row[name])}


def test_what_a_later_run_leaves_out_is_gone(toy, tmp_path, store, cells_of):
    begin(
        store,
        [
            toy_log(tmp_path, 1, "m", results={"a": 1, "b": 1}, time=2),
            toy_log(tmp_path, 2, "n", results={"a": 0, "b": 1}, time=2),
        ],
    )
    later = toy_log(tmp_path, 3, "m", results={"a": 0, "c": 1}, time=3)
    _, report = append([later], store, {})
    assert cells_of(open_responses(store)) == {
        ("m", "t", "a"): 0, ("m", "t", "c"): 1, ("n", "t", "a"): 0, ("n", "t", "b"): 1,
    }  # fmt: skip
    assert report.growth.replaced_runs == (("m", "t"),)
    assert (report.growth.replaced_cells, report.cells) == (2, 2)
    assert any(line.startswith("1 runs of the store gave way") for line in report.lines())
    earlier = toy_log(tmp_path, 4, "m", results={"a": 1, "d": 1}, time=1)
    _, report = append([earlier], store, {})
    assert [(count.superseded, count.records) for count in report.runs] == [(True, 0)]
    assert len(cells_of(open_responses(store))) == 4
    again = toy_log(tmp_path, 5, "m", results={"a": 1}, time=4, partial="limit 1")
    assert append([again], store, {})[1].runs[0].superseded
    again = toy_log(tmp_path, 6, "m", results={"a": 1}, time=4)
    with pytest.raises(InputError, match=r"the store and .*6.toy sample 1: .*correct 0, then"):
        append([again], store, {}, runs="all")


def test_content_is_compared_with_the_stores(toy, tmp_path, store):
    begin(
        store,
        [toy_log(tmp_path, k, m, contents=["x"], time=1) for k, m in enumerate("mn")],
    )
    other = toy_log(tmp_path, 3, "o", contents=["y"], time=1)
    with pytest.raises(InputError, match=r"3.toy: item 'a' of domain 't' is not what it is in the"):
        append([other], store, {})
    _, report = append([other], store, {}, content="report")
    assert report.differing_items == (("t", "a"),)
    copy = toy_log(tmp_path, 4, "o", results={"z": 1}, contents=["x"], time=2)
    append([copy], store, {}, repeated="first")
    assert list(open_responses(store).items.index) == [("t", "a")]


def test_the_command_line_tells_what_it_added_and_that_nothing_is_new(write, store, capsys):
    one = write("a.csv", HEADER + "m,q,d,1\nn,q,d,0\n")
    two = write("b.csv", HEADER + "o,q,d,1\no,q,e,1\nm,q,e,0\n")
    assert run(["ingest", str(one), "--out", str(store), "--append"]) == 0
    assert run(["ingest", str(one), str(two), "--out", str(store), "--append"]) == 0
    shown = capsys.readouterr().out
    assert "added to version 1: 1 new models, 1 new items, 1 new domains; now 3 models" in shown
    assert f"1 files taken in before: '{one}'" in shown
    assert "wrote version 2" in shown
    for _ in range(2):
        assert run(["ingest", str(two), str(one), "--out", str(store), "--append"]) == 0
        assert capsys.readouterr().out.endswith(f"nothing new: {store} stays at version 2\n")
    stored = open_stored(store)
    history = [entry.history for entry in lineage(stored.root, stored.manifest)]
    assert [[file["name"] for file in told["report"]["taken"]] for told in history] == [
        [str(one)], [str(two)],
    ]  # fmt: skip
    assert run(["ingest", str(one), "--out", str(store), "--append", "--json"]) == 0
    assert json.loads(capsys.readouterr().out)["version"] is None
    assert run(["ingest", str(one), "--out", str(store), "--overwrite"]) == 0
    assert run(["ingest", str(two), "--out", str(store), "--append"]) == 0
    assert len(open_responses(store).models) == 3
    assert len(lineage(open_stored(store).root, open_stored(store).manifest)) == 2


def test_stores_in_object_storage_grow(write, bucket, cells_of):
    begin(f"{bucket}/store", [write("a.csv", HEADER + "m,q,d,1\nn,q,d,0\n")])
    append([write("b.csv", HEADER + "o,q,d,1\n")], f"{bucket}/store", {})
    assert len(cells_of(open_responses(f"{bucket}/store"))) == 3
    assert len(cells_of(open_responses(f"{bucket}/store@1"))) == 2
