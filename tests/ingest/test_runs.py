"""Runs of tools' logs: which count, as which items, and what the report says of them."""

import json
from datetime import UTC, datetime, timedelta, timezone

import pytest

from mtlirt.errors import InputError
from mtlirt.ingest import ingest
from mtlirt.ingest.aliases import MMLU_SUBJECTS, mmlu_subject, read_aliases
from mtlirt.ingest.assemble import Assembler
from mtlirt.ingest.cells import CellRule
from mtlirt.ingest.native import RunLedger, RunRule
from mtlirt.ingest.runs import Choices, Run, Samples, choose, unused_choices


def run(model="m", task="t", documents="ab", correct=(1, 0), contents=None, **facts):
    facts.setdefault("source", f"{model}-{task}.log")

    def samples():
        numbers = range(1, len(documents) + 1)
        yield Samples(list(documents), list(correct), list(numbers), contents=contents)

    return Run(model=model, task=task, samples=samples, **facts)


def assembled(*runs, cells=None, **rule):
    ledger, assembler = RunLedger(RunRule(**rule)), Assembler(cells=cells, poor_domains="keep")
    for each in runs:
        ledger.add(each)
    for batch in ledger.batches():
        assembler.add(batch)
    return assembler.finish()[0], ledger


def matrix(responses, domain="t"):
    return responses.domains[domain].array.compute().tolist()


def test_what_a_log_says_of_an_item_is_part_of_its_id():
    responses, ledger = assembled(
        run("m", version="1.0", shots="5", metric="acc"), run("n", version="2.0", metric="acc")
    )
    assert list(responses.items.index) == [
        ("t", "a version=1.0 shots=5 metric=acc"),
        ("t", "a version=2.0 metric=acc"),
        ("t", "b version=1.0 shots=5 metric=acc"),
        ("t", "b version=2.0 metric=acc"),
    ]
    assert matrix(responses) == [[1, -1, 0, -1], [-1, 1, -1, 0]]
    table = ledger.item_table(responses.items.index)
    assert list(table.columns) == ["task", "document", "version", "shots", "metric"]
    assert table["shots"].tolist() == ["5", None, "5", None]
    assert table["document"].tolist() == ["a", "a", "b", "b"]


def test_versions_are_pooled_where_asked_for():
    responses, _ = assembled(
        run("m", version="1", metric="acc"), run("n", version="2", metric="acc"), pool=("version",)
    )
    assert matrix(responses) == [[1, 0], [1, 0]]
    with pytest.raises(InputError, match="pool is 'task', expected one of version, shots"):
        RunRule(pool=("task",))


B_IS_LATER = [
    datetime(2024, 6, 1, 23, 30, tzinfo=timezone(timedelta(hours=2))),
    datetime(2024, 6, 1, 22, 0, tzinfo=UTC),
]


@pytest.mark.parametrize("order", [[0, 1], [1, 0]])
def test_the_latest_run_counts_in_whatever_zone_it_was_timed(order):
    """Public fault O34."""
    runs = [
        run(correct=(1, 1), time=B_IS_LATER[0], source="A"),
        run(correct=(0, 1), time=B_IS_LATER[1], source="B"),
    ]
    responses, ledger = assembled(*(runs[k] for k in order))
    assert matrix(responses) == [[0, 1]]
    counts = {count.source: count for count in ledger.notices().runs}
    assert counts["A"].superseded
    assert counts["A"].records == 0
    assert counts["A"].time == "2024-06-01T21:30:00.000000+00:00"
    assert not counts["B"].superseded
    assert counts["B"].records == 2


def test_a_whole_run_counts_before_a_later_partial_one():
    early, late = datetime(2024, 1, 1, tzinfo=UTC), datetime(2025, 1, 1, tzinfo=UTC)
    whole = run(correct=(1, 1), time=early)
    responses, _ = assembled(whole, run(documents="a", correct=(0,), time=late, partial="limit 1"))
    assert matrix(responses) == [[1, 1]]


def test_all_runs_count_where_asked_for_and_then_collide():
    times = {"time": datetime(2024, 1, 1, tzinfo=UTC)}, {"time": datetime(2024, 1, 2, tzinfo=UTC)}
    runs = run(correct=(1, 1), **times[0]), run(correct=(0, 1), **times[1])
    with pytest.raises(InputError, match="item 'b' of domain 't': both say correct 1"):
        assembled(*runs, runs="all")
    both = CellRule("attempts", "attempts")
    responses, _ = assembled(*runs, runs="all", cells=both)
    assert matrix(responses) == [[1, 2]]


def test_runs_of_one_time_both_count_and_so_collide():
    with pytest.raises(InputError, match="item 'b' of domain 't': both say correct 1"):
        assembled(run(correct=(1, 1)), run(correct=(0, 1)))


def test_content_that_differs_between_runs_is_an_error_unless_asked_for():
    runs = run("m", contents=["x", "y"]), run("n", contents=["x", "z"])
    with pytest.raises(InputError, match=r"n-t.log: item 'b' of domain 't' is not .* m-t.log"):
        assembled(*runs)
    responses, ledger = assembled(*runs, on_content="report")
    assert matrix(responses) == [[1, 0], [1, 0]]
    assert ledger.notices().differing_items == (("t", "b"),)


def test_repeated_items_are_listed_within_and_across_domains():
    """Public fault O19."""
    _, ledger = assembled(
        run(documents="abc", correct=(1, 0, 1), contents=["x", "y", "x"]),
        run(task="u", documents="d", correct=(1,), contents=["y"]),
    )
    assert ledger.notices().copied_items == ((("t", "a"), ("t", "c")), (("t", "b"), ("u", "d")))


@pytest.mark.parametrize("order", ["ac", "ca"])
def test_repeated_items_count_once_where_asked_for(order):
    """Public fault O19: items that are there twice are not counted twice."""
    first = run("m", documents="ac", correct=(1, 0), contents=["x", "x"])
    answers = {"a": 0, "c": 1}
    second = run("n", documents=order, correct=[answers[d] for d in order], contents=["x", "x"])
    third = run("o", documents="c", correct=(1,), contents=["x"])
    responses, ledger = assembled(first, second, third, repeated="first")
    assert list(responses.items.index) == [("t", "a")]
    assert matrix(responses) == [[1], [0], [1]]
    assert ledger.notices().repeated == 2


@pytest.mark.parametrize("reverse", [False, True])
def test_which_repeated_item_counts_is_no_matter_of_lines(reverse):
    lines = [("12", "x", 1), ("3", "y", 0), ("5", "x", 0), ("2", "x", 0), ("7", "z", 1)]
    lines = lines[::-1] if reverse else lines

    def log(model, lines):
        documents, contents, correct = zip(*lines, strict=True)
        return run(model, documents=documents, correct=correct, contents=contents)

    runs = log("m", lines), log("n", lines[::-1]), log("o", [("12", "x", 1), ("5", "x", 0)])
    responses, ledger = assembled(*runs, repeated="first")
    order = {item: k for k, (_, item) in enumerate(responses.items.index)}
    assert sorted(order) == ["2", "3", "7"]
    cells = [[row[order[item]] for item in ("2", "3", "7")] for row in matrix(responses)]
    assert cells == [[0, 0, 1], [0, 0, 1], [0, -1, -1]]
    assert ledger.notices().repeated == 5


def test_a_document_that_is_there_twice_is_no_repeated_item():
    twice = run(documents="aa", correct=(1, 0), contents=["x", "x"])
    with pytest.raises(InputError, match="item 'a' of domain 't'"):
        assembled(twice, repeated="first")


def test_subjects_of_mmlu_have_one_name():
    """Public fault O18."""
    assert len(MMLU_SUBJECTS) == 57
    spellings = "hendrycksTest-anatomy", "mmlu_anatomy", "mmlu:anatomy"
    assert {mmlu_subject(name) for name in spellings} == {"anatomy"}
    runs = [run(f"m{k}", name, version=str(k % 2)) for k, name in enumerate(spellings)]
    responses, ledger = assembled(*runs, run("o", "mmlu_palmistry"))
    assert list(responses.domains) == ["anatomy", "mmlu_palmistry"]
    assert ledger.notices().unknown_subjects == ("mmlu_palmistry",)


def test_names_are_replaced_by_the_users(tmp_path):
    """Public fault O20."""
    table = tmp_path / "alias.csv"
    table.write_text("kind,from,to\nmodel,old/X,new/X\ntask,mmlu_anatomy,bodies\n")
    aliases = read_aliases(table)
    responses, _ = assembled(
        run("old/X", "mmlu_anatomy", documents="a", correct=(1,)),
        run("new/X", "mmlu_anatomy", documents="b", correct=(0,), metric=None),
        aliases=aliases,
        runs="all",
    )
    assert list(responses.models.index) == ["new/X"]
    assert matrix(responses, "bodies") == [[1, 0]]


@pytest.mark.parametrize(
    ("rows", "message"),
    [
        ("tool,a,b", r"alias.csv row 2: kind is 'tool', expected model or task"),
        ("model,a,b\nmodel,a,c", r"row 3: model 'a' is to be 'c', and 'b' in a row before"),
        ("model,a,b\nmodel,b,c", r"model 'a' is to be 'b', which is itself to be 'c'"),
    ],
)
def test_bad_tables_of_names(tmp_path, rows, message):
    table = tmp_path / "alias.csv"
    table.write_text(f"kind,from,to\n{rows}\n")
    with pytest.raises(InputError, match=message):
        read_aliases(table)


def test_names_in_tables_are_replaced_too(tmp_path):
    results, table = tmp_path / "r.csv", tmp_path / "alias.csv"
    results.write_text("model_id,item_id,domain,correct\nold,q,d,1\nold,r,d,0\nm,q,d,0\nm,r,d,1\n")
    table.write_text("kind,from,to\nmodel,old,new\ntask,d,e\n")
    responses, _ = ingest([results], aliases=table)
    assert list(responses.models.index) == ["m", "new"]
    assert matrix(responses, "e") == [[0, 1], [1, 0]]


def test_choices():
    assert choose(None, ["acc"], "metric", "x.jsonl") == "acc"
    assert choose("f1", ["acc", "f1"], "metric", "x.jsonl") == "f1"
    assert choose(None, ["valid", "test"], "split", "x.jsonl", default="test") == "test"
    with pytest.raises(
        InputError, match=r"x.jsonl: several metrics: 'acc', 'f1'; choose .*--metric"
    ):
        choose(None, ["f1", "acc"], "metric", "x.jsonl")
    with pytest.raises(InputError, match=r"x.jsonl: no metric 'em'; it has 'acc', 'f1'"):
        choose("em", ["acc", "f1"], "metric", "x.jsonl", default="acc")
    assert choose("em", ["acc"], "metric", "x.jsonl") == "acc"


def test_a_choice_that_no_log_left_is_told():
    runs = run(metric="acc", split=None), run("n", metric="f1")
    asked = Choices(metric="em", filter="strict", split="test")
    assert unused_choices(asked, runs) == ("--metric em",)
    assert unused_choices(Choices(metric="f1"), runs) == ()


def test_a_log_and_a_table_in_one_folder(tmp_path):
    lines = [{"subject_id": "m", "responses": {"q": 1, "r": 0}}]
    (tmp_path / "a.jsonl").write_text("\n".join(map(json.dumps, lines)))
    (tmp_path / "b.csv").write_text("model_id,item_id,correct\nn,q,0\nn,r,1\n")
    (tmp_path / "c.txt").write_text("notes")
    responses, report = ingest([tmp_path])
    assert matrix(responses, "default") == [[1, 0], [0, 1]]
    assert [count.records for count in report.files] == [2, 2]
    assert report.skipped_files == (str(tmp_path / "c.txt"),)
    (run_count,) = report.runs
    assert (run_count.model, run_count.records, run_count.partial) == ("m", 2, "")
    with pytest.raises(InputError, match=r"format is 'tidyy', expected auto, tidy, wide, "):
        ingest([tmp_path], format="tidyy")


def test_a_folder_read_as_logs_of_a_tool_has_no_tables(tmp_path):
    (tmp_path / "a.jsonl").write_text('{"subject_id": "m", "responses": {"q": 1, "r": 0}}')
    (tmp_path / "b.csv").write_text("model_id,item_id,correct\nn,q,0\nn,r,1\n")
    responses, report = ingest([tmp_path], format="py-irt", poor_domains="keep")
    assert list(responses.models.index) == ["m"]
    assert report.skipped_files == (str(tmp_path / "b.csv"),)
