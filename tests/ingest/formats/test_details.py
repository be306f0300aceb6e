"""Details in Parquet: the first Open LLM Leaderboard's, and lighteval's."""

import json
from hashlib import blake2b

import pyarrow as pa
import pyarrow.parquet as pq
import pytest

from mtlirt.errors import InputError
from mtlirt.ingest import ingest
from mtlirt.ingest.formats.details_results import parse_name
from mtlirt.ingest.registry import recognise
from mtlirt.ingest.runs import Choices

STAMP = "2023-09-03T10-57-04.203304"
COLONS = "2023-09-03T10:57:04.203304"
LEADERBOARD = {
    "config_general": {"model_name": "org/C", "model_sha": "ab", "max_samples": None},
    "results": {"harness|hendrycksTest-anatomy|5": {"acc": 0.5, "acc_stderr": float("nan")}},
    "versions": {"all": 0, "harness|hendrycksTest-anatomy|5": 1},
    "config_tasks": {"harness|hendrycksTest-anatomy": "LM Harness task"},
}
LIGHTEVAL = {
    "config_general": {"lighteval_sha": "?", "max_samples": None, "model_name": "org/L"},
    "results": {"lighteval|gsm8k|0": {"em": 0.5}, "all": {"em": 0.5}},
    "versions": {"lighteval|gsm8k|0": 0},
    "config_tasks": {"lighteval|gsm8k": {"original_num_docs": 3, "effective_num_docs": 3}},
}


def rest(k):
    """What every generation has beside."""
    return {
        "example": f"Question {k}?",
        "full_prompt": f"Shots. Question {k}?",
        "choices": ["A", "B"],
        "gold_index": [k % 2],
        "num_effective_few_shots": 5,
        "truncated": 0,
    }


def flat(k, **scores):
    return rest(k) | {"hashes": {"example": f"{k:x}", "full_prompt": "ff"}} | scores


def nested(k, **scores):
    return rest(k) | {"metrics": scores, "predictions": ["A"]}


def newest(k, **scores):
    doc = {"id": str(10 * k), "query": f"Question {k}?", "choices": ["A"], "gold_index": 0}
    return {"doc": doc, "metric": scores, "model_response": {"text": ["A"]}}


@pytest.fixture
def details(tmp_path, write):
    """Write the details of a task, with or without results, where the tools put them."""

    def details(
        rows,
        task="harness|hendrycksTest-anatomy|5",
        results=LEADERBOARD,
        folder="hub",
        stamp=STAMP,
        beside="",
    ):
        path = tmp_path / folder / stamp / f"details_{task}_{stamp}.parquet"
        path.parent.mkdir(parents=True, exist_ok=True)
        pq.write_table(pa.Table.from_pylist(rows), path)
        if results is not None:
            write(f"{beside or folder}/results_{stamp}.json", json.dumps(results, indent=1))
        return path

    return details


@pytest.fixture
def read(cells_of):
    def read(*paths, **options):
        responses, report = ingest(list(paths), **({"poor_domains": "keep"} | options))
        return cells_of(responses), report

    return read


def choosing(**chosen):
    return {"choices": Choices(**chosen)}


@pytest.mark.parametrize("row", [flat, nested])
def test_generations_of_the_leaderboard(details, read, row):
    path = details([row(k, acc=float(k % 2), acc_norm=1.0) for k in range(3)])
    cells, report = read(path.parents[1])
    version = "version=harness:1 shots=5 metric=acc"
    assert cells == {("org/C", "anatomy", f"{k} {version}"): k % 2 for k in range(3)}
    (run,) = report.runs
    assert run.time == "2023-09-03T10:57:04.203304+00:00"
    assert run.qualifiers["shots"] == "5"
    assert len(report.companions) == 1
    assert report.coerced == {"1.0/0.0": 3}


def test_generations_agree_on_what_a_document_is(details, read):
    details([flat(k, acc=1.0) for k in range(3)])
    other = LEADERBOARD | {"config_general": {"model_name": "org/D"}}
    path = details([nested(k, acc=0.0) for k in range(3)], results=other, folder="other")
    responses, report = ingest([path.parents[2]], poor_domains="keep")
    assert responses.shape == (2, 3)
    assert report.differing_items == ()
    content = blake2b(b"Question 0?", digest_size=8).hexdigest()
    assert responses.items["content"].iloc[0] == content


def test_a_document_whose_question_differs(details, read):
    details([flat(k, acc=1.0) for k in range(3)])
    other = LEADERBOARD | {"config_general": {"model_name": "org/D"}}
    path = details([flat(2 - k, acc=0.0) for k in range(3)], results=other, folder="other")
    with pytest.raises(InputError, match=r"item '0 .*' of domain 'anatomy' is not what it is in"):
        read(path.parents[2])


def test_hashes_alone_tell_documents_apart(details):
    rows = [flat(k, acc=1.0) for k in range(2)]
    for row in rows:
        del row["example"]
    responses, _ = ingest([details(rows)], poor_domains="keep")
    assert responses.items["content"].nunique() == 2


@pytest.mark.parametrize("stamp", [STAMP, COLONS])
def test_the_model_is_in_the_results_alone(details, read, stamp):
    path = details([flat(0, acc=1.0)], results=None, folder="details_org__C", stamp=stamp)
    with pytest.raises(InputError, match=r"not name its model \(config_general .*--model"):
        read(path)
    cells, _ = read(path, **choosing(model="m"))
    assert list(cells) == [("m", "anatomy", "0 version=harness shots=5 metric=acc")]
    details([flat(0, acc=1.0)], folder="details_org__C", stamp=stamp)
    assert next(iter(read(path)[0]))[0] == "org/C"


@pytest.mark.parametrize(
    ("task", "scores", "metric", "value"),
    [
        ("arc:challenge|25", {"acc": 0.0, "acc_norm": 1.0}, "acc_norm", 1),
        ("winogrande|5", {"acc": 1.0}, "acc", 1),
        ("truthfulqa:mc|0", {"mc1": 0.0, "mc2": 1.0}, "mc2", 1),
        ("drop|3", {"em": 0.0, "f1": 1.0}, "f1", 1),
    ],
)
def test_headlines_of_the_leaderboard(details, read, task, scores, metric, value):
    path = details([flat(0, **scores)], f"harness|{task}")
    cells, report = read(path)
    assert report.runs[0].qualifiers["metric"] == metric
    assert list(cells.values()) == [value]
    cells, _ = read(path, **choosing(metric=next(iter(scores))))
    assert list(cells.values()) == [next(iter(scores.values()))]
    assert read(path, **choosing(metric="absent"))[1].runs[0].qualifiers["metric"] == metric


def test_the_fractions_of_truthfulqa_are_refused(details, read):
    path = details([flat(0, mc1=1.0, mc2=0.25)], "harness|truthfulqa:mc|0")
    with pytest.raises(InputError, match=r"row 1: .*correct is 0.25, a fraction"):
        read(path)
    assert list(read(path, **choosing(metric="mc1"))[0].values()) == [1]


def gsm8k(details, rows=None, task="lighteval|gsm8k|0", results=LIGHTEVAL):
    rows = rows or [newest(k, em=k % 2) for k in range(3)]
    return details(rows, task, results, "out/details/org/L", beside="out/results/org/L")


def test_lighteval(details, read):
    path = gsm8k(details)
    cells, report = read(path)
    facts = "version=lighteval:0 shots=0 metric=em"
    assert cells == {("org/L", "gsm8k", f"{10 * k} {facts}"): k % 2 for k in range(3)}
    assert report.runs[0].partial == ""
    assert report.coerced == {}
    _, report = read(path.parents[4])
    assert len(report.companions) == 1


def test_lighteval_without_a_suite(details, read):
    path = gsm8k(details, task="gsm8k", results=LIGHTEVAL | {"versions": {}})
    assert ("org/L", "gsm8k", "0 metric=em") in read(path)[0]


def test_lighteval_has_no_headline(details, read):
    path = gsm8k(details, [newest(k, acc=1, acc_norm=0, judged="yes") for k in range(3)])
    with pytest.raises(InputError, match=r"several metrics: 'acc', 'acc_norm'; .*--metric"):
        read(path)
    assert set(read(path, **choosing(metric="acc_norm"))[0].values()) == {0}


def test_scores_that_are_missing(details, read):
    scores = [1.0, None, float("nan"), 0.0]
    path = gsm8k(details, [nested(k, em=score) for k, score in enumerate(scores)])
    cells, report = read(path)
    assert list(cells.values()) == [1, 0]
    assert report.outcomes == {"unscored": 2}
    assert report.missing == 2


@pytest.mark.parametrize(
    ("limit", "counts", "partial"),
    [
        (10, None, "limit 10"),
        (None, (9, 3), "3 of 9 documents"),
        (10, (3, 3), ""),
        (10, (-1, -1), "limit 10"),
    ],
)
def test_limits(details, read, limit, counts, partial):
    """Public fault O23."""
    names = "original_num_docs", "effective_num_docs"
    told = {
        "config_general": {"max_samples": limit, "model_name": "m"},
        "config_tasks": {"lighteval|gsm8k": counts and dict(zip(names, counts, strict=True))},
    }
    _, report = read(gsm8k(details, results=LIGHTEVAL | told))
    assert report.runs[0].partial == partial


def test_three_tools_one_domain(details, write, read):
    """Public fault O18: versions and shots stay apart unless they are pooled."""

    def samples(folder, task, results, score):
        stamp = "2024-06-01T21-45-00.000000"
        lines = [{"doc_id": k, "doc": {"q": k}, **score} for k in range(3)]
        write(f"{folder}/samples_{task}_{stamp}.jsonl", "\n".join(map(json.dumps, lines)))
        return write(f"{folder}/results_{stamp}.json", json.dumps(results))

    old = {
        "results": {"hendrycksTest-anatomy": {"acc": 1.0}},
        "versions": {"hendrycksTest-anatomy": 0},
        "config": {"model_args": "pretrained=org/A", "num_fewshot": 5},
    }
    new = {
        "results": {"mmlu_anatomy": {"acc,none": 0.0}, "mmlu": {"acc,none": 0.0}},
        "groups": {"mmlu": {"acc,none": 0.0}},
        "versions": {"mmlu_anatomy": 1, "mmlu": "N/A"},
        "n-shot": {"mmlu_anatomy": 0},
        "model_name": "org/B",
    }
    samples("A", "hendrycksTest-anatomy", old, {"acc": 1.0})
    samples("B", "mmlu_anatomy", new, {"filter": "none", "metrics": ["acc"], "acc": 0.0})
    path = details([flat(k, acc=1.0) for k in range(3)], folder="C")
    cells, report = read(path.parents[2])
    assert {domain for _, domain, _ in cells} == {"anatomy"}
    assert {(model, item) for model, _, item in cells if item.startswith("0 ")} == {
        ("org/A", "0 version=0 shots=5 metric=acc"),
        ("org/B", "0 version=1 shots=0 metric=acc"),
        ("org/C", "0 version=harness:1 shots=5 metric=acc"),
    }
    assert len(cells) == 9
    assert any("task 'anatomy' in 3 forms" in line for line in report.lines())
    cells, _ = read(path.parents[2], pool=["version", "shots"])
    assert {item for *_, item in cells} == {f"{k} metric=acc" for k in range(3)}
    assert len(cells) == 9


@pytest.mark.parametrize(
    ("name", "expected"),
    [
        ("harness|hendrycksTest-anatomy|5", ("harness", "hendrycksTest-anatomy", "5")),
        ("leaderboard|mmlu:anatomy|5|0", ("leaderboard", "mmlu:anatomy", "5")),
        ("lighteval|gsm8k", ("lighteval", "gsm8k", None)),
        ("gsm8k|4", (None, "gsm8k", "4")),
        ("my_task", (None, "my_task", None)),
    ],
)
def test_names(name, expected):
    found = parse_name(f"details_{name}_{STAMP}.parquet")
    assert found is not None
    assert (found.suite, found.task, found.shots) == expected


@pytest.mark.parametrize(
    ("task", "results", "expected"),
    [
        ("harness|gsm8k|5", LEADERBOARD, "openllm-details"),
        ("lighteval|gsm8k|5", LIGHTEVAL, "lighteval"),
        ("gsm8k", LIGHTEVAL, "lighteval"),
    ],
)
def test_recognised(details, task, results, expected):
    path = details([flat(0, acc=1.0)], task, results)
    beside = path.parents[1] / f"results_{STAMP}.json"
    for file, role in ((path, "log"), (beside, "companion")):
        told = recognise(file)
        assert told is not None
        assert (told[0].name, told[1]) == (expected, role)


def test_a_table_of_results_is_no_wide_table(details, read):
    path = gsm8k(details)
    pq.write_table(pa.table({"results": ["{}"]}), path.parents[1] / f"results_{STAMP}.parquet")
    _, report = read(path.parents[4])
    assert len(report.companions) == 2


def test_a_parquet_table_of_another_name_is_no_log(details):
    path = details([flat(0, acc=1.0)], results=None)
    assert recognise(path.rename(path.with_name("details.parquet"))) is None
    with pytest.raises(InputError, match="expected a name such as details_"):
        ingest([path.with_name("details.parquet")], format="lighteval")


def test_metrics_as_text(details, read):
    path = details([rest(0) | {"metrics": "{'acc': 1}"}])
    with pytest.raises(InputError, match=r"metrics holds .*string, expected a number by metric"):
        read(path)


def test_a_document_without_an_id_among_others(details, read):
    rows = [newest(k, em=1) for k in range(3)]
    rows[1]["doc"]["id"] = None
    with pytest.raises(InputError, match=r"parquet row 2: doc\.id is null, expected an id"):
        read(gsm8k(details, rows))
    for row in rows:
        row["doc"]["id"] = None
    assert [item.split()[0] for _, _, item in read(gsm8k(details, rows))[0]] == ["0", "1", "2"]


def test_two_columns_of_one_name(details, read):
    path = details([flat(0, acc=1.0, acc_norm=0.0)])
    table = pq.read_table(path)
    names = ["acc" if name == "acc_norm" else name for name in table.column_names]
    pq.write_table(table.rename_columns(names), path)
    with pytest.raises(InputError, match=r"parquet: column 'acc' is there twice"):
        read(path)


def test_no_metric(details, read):
    with pytest.raises(InputError, match="it has no metric"):
        read(details([rest(0)]))


def test_a_file_that_is_cut(details, read):
    path = details([flat(0, acc=1.0)])
    path.write_bytes(path.read_bytes()[:-20])
    with pytest.raises(InputError, match="details_harness"):
        read(path)


def test_no_rows(details):
    path = details([flat(0, acc=1.0)])
    pq.write_table(pq.read_table(path).slice(0, 0), path)
    with pytest.raises(InputError, match="no responses: 1 files without a record"):
        ingest([path])


@pytest.mark.parametrize("row", [flat, nested, newest])
def test_in_remote_folders(details, place, upload, same, row):
    path = gsm8k(details, [row(k, acc=k % 2) for k in range(5)])
    upload(place)
    options = {"poor_domains": "keep"}
    here, there = (ingest([source], **options) for source in (path.parents[4], place))
    same(here[0], there[0])
    assert list(here[0].models.index) == ["org/L"]
