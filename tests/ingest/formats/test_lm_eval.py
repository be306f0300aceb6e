"""Samples of the lm-evaluation-harness, in both layouts, and its results files."""

import gzip
import json
import math
import re
from datetime import UTC, datetime

import pytest

from mtlirt.errors import InputError
from mtlirt.ingest import ingest
from mtlirt.ingest.formats.batches import BATCH
from mtlirt.ingest.formats.lm_eval import LmEval
from mtlirt.ingest.registry import recognise
from mtlirt.ingest.runs import Choices

STAMP = "2024-06-01T21-45-00.000000"
RESULTS = {
    "results": {"t": {"alias": "t", "acc,none": 0.5, "acc_stderr,none": "N/A"}, "group": {}},
    "group_subtasks": {"group": ["t"]},
    "configs": {"t": {"task": "t", "num_fewshot": 5}},
    "versions": {"t": 1.0},
    "n-shot": {"t": 5},
    "n-samples": {"t": {"original": 3, "effective": 3}},
    "config": {"model": "hf", "model_args": "pretrained=org/model,dtype=auto", "limit": None},
    "date": 1717278000.5,
    "model_name": "org/model",
    "pretty_env_info": "long",
}


def line(doc_id, doc_hash=None, **keys):
    old = {
        "doc_id": doc_id,
        "doc": {"question": f"Why {doc_id}?"},
        "target": "x",
        "arguments": [["a prompt", " x"]],
        "resps": [[[-1.5, False]]],
        "filtered_resps": [[-1.5, False]],
    }
    return old | ({} if doc_hash is None else {"doc_hash": doc_hash}) | keys


def jsonl(lines):
    return "".join(json.dumps(each) + "\n" for each in lines)


@pytest.fixture
def log(write):
    """Write the samples of a task, and results beside them unless there are none."""

    def log(lines, results=RESULTS, task="t", folder="run", name=None):
        if results is not None:
            write(f"{folder}/results_{STAMP}.json", json.dumps(results, indent=2))
        return write(f"{folder}/{name or f'samples_{task}_{STAMP}.jsonl'}", jsonl(lines))

    return log


@pytest.fixture
def read(cells_of):
    """The cells of sources, by document, and the report."""

    def read(*paths, **options):
        options = {"poor_domains": "keep", "content": "report"} | options
        responses, report = ingest(list(paths), **options)
        return cells_of(responses), report

    return read


def only(cells):
    """Cells of one model and domain by item."""
    ((model, domain),) = {key[:2] for key in cells}
    return model, domain, {item: value for (_, _, item), value in cells.items()}


def choosing(**chosen):
    return {"choices": Choices(**chosen)}


def test_what_the_results_say(log, read):
    path = log([line(0, acc=1), line("1", acc=0), line(2, acc=1)])
    cells, report = read(path)
    assert only(cells) == (
        "org/model",
        "t",
        {f"{k} version=1.0 shots=5 metric=acc": v for k, v in enumerate([1, 0, 1])},
    )
    (run,) = report.runs
    assert run.qualifiers == {"version": "1.0", "shots": "5", "metric": "acc"}
    assert run.time == "2024-06-01T21:40:00.500000+00:00"
    assert run.partial == ""
    _, report = read(path.parent)
    assert report.companions == (str(path.parent / f"results_{STAMP}.json"),)
    assert report.skipped_files == ()


def test_results_may_be_named_beside_samples(log):
    """As the pattern `results/*` of a shell does."""
    path = log([line(0, acc=1), line(1, acc=0)])
    results = path.parent / f"results_{STAMP}.json"
    choices = {"choices": Choices(metric="acc")}
    whole = ingest([path.parent], poor_domains="keep", **choices)[1]
    named = ingest([path, results], poor_domains="keep", **choices)[1]
    assert named == whole
    with pytest.raises(InputError, match="no responses"):
        ingest([results], poor_domains="keep", **choices)


def test_without_results(log, read):
    """Public fault O34: the stamp of a file is read as UTC."""
    path = log([line(0, acc=1)], results=None)
    with pytest.raises(InputError, match=r"does not name its model \(.*\); name it with --model"):
        read(path)
    cells, report = read(path, **choosing(model="m"))
    assert only(cells) == ("m", "t", {"0 metric=acc": 1})
    assert report.runs[0].time == "2024-06-01T21:45:00.000000+00:00"


def test_results_that_lack_the_task_are_not_its_own(log, read):
    path = log([line(0, acc=1)], task="another_task")
    with pytest.raises(InputError, match="does not name its model"):
        read(path)


@pytest.mark.parametrize(
    ("told", "model"),
    [
        ({"model_name": None}, "org/model"),
        ({"model_name": ""}, "org/model"),
        ({"model_name": None, "config": {"model_args": {"pretrained": "o/dict"}}}, "o/dict"),
        ({"model_name": None, "config": {"model_args": "pretrained=o/b,peft=o/lora"}}, "o/lora"),
        ({"model_name": None, "config": {"model_args": "model=gpt-4, base_url=http"}}, "gpt-4"),
        ({"config": {"model_args": "pretrained=org/model,revision=main"}}, "org/model"),
        ({"config": {"model_args": "pretrained=org/model,revision=step9"}}, "org/model@step9"),
    ],
)
def test_names_of_models(log, read, told, model):
    cells, _ = read(log([line(0, acc=1)], RESULTS | told))
    assert only(cells)[0] == model


def test_a_results_file_with_another_name(log, write, read):
    path = log([line(0, acc=1)], results=None)
    write(f"run/another_{STAMP}.json", json.dumps(["no results"]))
    write(f"run/mine_{STAMP}.json", json.dumps(RESULTS))
    cells, report = read(path.parent)
    assert only(cells)[0] == "org/model"
    assert len(report.companions) == 1


def test_metrics_that_may_disagree_are_refused(log, read):
    path = log([line(0, acc=1, acc_norm=0), line(1, acc=1, acc_norm=1)])
    with pytest.raises(InputError, match=r"several metrics: 'acc', 'acc_norm'; .* --metric"):
        read(path)
    cells, _ = read(path, **choosing(metric="acc_norm"))
    assert list(cells.values()) == [0, 1]
    with pytest.raises(InputError, match="no metric 'em'; it has 'acc', 'acc_norm'"):
        read(path, **choosing(metric="em"))


def test_a_choice_counts_only_where_there_is_one(log, read):
    log([line(0, acc=1, acc_norm=0)])
    path = log([line(0, exact_match=1, filter="none", metrics=["exact_match"])], task="u")
    told = json.loads(json.dumps(RESULTS))
    told["results"]["u"] = {"exact_match,none": 1}
    (path.parent / f"results_{STAMP}.json").write_text(json.dumps(told))
    cells, _ = read(path.parent, **choosing(metric="acc", filter="strict-match"))
    assert {(domain, item.split()[-1]): value for (_, domain, item), value in cells.items()} == {
        ("t", "metric=acc"): 1,
        ("u", "metric=exact_match"): 1,
    }


def test_less_is_better(log, read):
    told = RESULTS | {"higher_is_better": {"t": {"acc": False}, "group": None}}
    with pytest.raises(InputError, match="less is better of metric 'acc'"):
        read(log([line(0, acc=1)], told))


STRICT, FLEXIBLE = [1, 0, 0], [1, 1, 0]


def filtered(**keys):
    """Public fault O11: three documents, two filters, filter after filter."""
    return [
        line(doc, exact_match=score, metrics=["exact_match"], **dict.fromkeys(keys, name))
        for name, scores in (("strict-match", STRICT), ("flexible-extract", FLEXIBLE))
        for doc, score in enumerate(scores)
    ]


GSM8K = {"t": {"exact_match,strict-match": 1 / 3, "exact_match,flexible-extract": 2 / 3}}


@pytest.mark.parametrize("results", [None, RESULTS | {"results": GSM8K}])
@pytest.mark.parametrize(
    ("name", "scores"), [("strict-match", STRICT), ("flexible-extract", FLEXIBLE)]
)
def test_one_filter_of_several(log, read, results, name, scores):
    path = log(filtered(filter=0), results)
    with pytest.raises(InputError, match=r"several filters.*choose one with --filter"):
        read(path, **choosing(model="m"))
    cells, report = read(path, **choosing(model="m", filter=name))
    assert list(cells.values()) == scores
    assert report.records == 3
    assert report.runs[0].qualifiers["filter"] == name
    with pytest.raises(InputError, match="no filter 'x'; it has 'flexible-extract', 'strict-match"):
        read(path, **choosing(model="m", filter="x"))


@pytest.mark.parametrize("choice", [None, "strict-match"])
@pytest.mark.parametrize("results", [None, RESULTS | {"results": GSM8K}])
def test_filters_that_the_lines_do_not_name(log, read, results, choice):
    path = log(filtered(), results)
    with pytest.raises(InputError, match=r"line 4: doc_id '0' is there twice.*ambiguous filter"):
        read(path, **choosing(model="m", filter=choice))


def test_the_filter_of_lines_without_one_is_that_of_the_results(log, read):
    told = RESULTS | {"results": {"t": {"exact_match,strict-match": 1}}}
    _, report = read(log([line(0, exact_match=1)], told))
    assert report.runs[0].qualifiers["filter"] == "strict-match"


def test_a_line_without_a_filter_among_others(log, read):
    path = log([line(0, acc=1, filter="none"), line(1, acc=1)])
    with pytest.raises(InputError, match="line 2: filter is null, and 'none' in lines before"):
        read(path)


PROMPT = [True, 1, 1.0, "1", "True", None, False, math.nan]


def ifeval():
    """Public fault O12: one value a prompt, a list of values for its instructions."""
    lists = {"inst_level_strict_acc": [False, True, True]}
    return [line(k, prompt_level_strict_acc=score, **lists) for k, score in enumerate(PROMPT)]


def test_scores_of_many_spellings(log, read):
    cells, report = read(log(ifeval()))
    assert [value for _, value in sorted(cells.items())] == [1, 1, 1, 1, 1, 0]
    assert report.missing == 2
    assert report.outcomes == {"unscored": 2}
    assert report.coerced == {"1.0/0.0": 1, "true/false": 3}


def test_lists_of_scores_are_no_metric(log, read):
    path = log(ifeval())
    with pytest.raises(
        InputError,
        match=r"'inst_level_strict_acc' is '\[False, True, True\]', not scalar: .*"
        r"choose another with --metric: 'prompt_level_strict_acc'",
    ):
        read(path, **choosing(metric="inst_level_strict_acc"))
    with pytest.raises(InputError, match=r"'f1' is '\[0, 1\]', not scalar"):
        read(log([line(0, f1=[0, 1])]))
    path = log([line(0, acc=True), line(1, acc=[True, False])])
    with pytest.raises(InputError, match=r"line 2: correct is \[True, False\], expected a number"):
        read(path)


@pytest.mark.parametrize(
    ("told", "partial"),
    [
        ({"n-samples": {}, "config": {"limit": 10.0}}, "limit 10"),
        ({"n-samples": {}, "config": {"limit": 0.5}}, "limit 0.5"),
        ({"n-samples": {"t": {"original": 9, "effective": 2}}, "config": {"limit": 2}}, "limit 2"),
        ({"n-samples": {"t": {"original": 9, "effective": 2}}}, "2 of 9 documents"),
        ({"n-samples": {"t": {"original": 2, "effective": 2}}, "config": {"limit": 9}}, ""),
    ],
)
def test_a_limit_makes_a_run_partial(log, read, told, partial):
    """Public fault O23: what a limit left out is missing, not wrong."""
    log([line(k, acc=1) for k in range(3)], RESULTS | {"model_name": "whole"}, folder="whole")
    path = log([line(k, acc=0) for k in range(2)], RESULTS | told, folder="part")
    cells, report = read(path.parents[1], pool=["shots"])
    assert [run.partial for run in report.runs] == [partial, ""]
    assert sorted(value for (model, *_), value in cells.items() if model != "whole") == [0, 0]
    assert len(cells) == 5


def test_a_whole_run_counts_before_a_later_limited_one(log, read):
    log([line(k, acc=1) for k in range(3)], folder="whole")
    later = {"config": {"limit": 1}, "n-samples": {}, "date": 2e9, "model_name": "org/model"}
    path = log([line(0, acc=0)], RESULTS | later, folder="part")
    cells, report = read(path.parents[1])
    assert list(cells.values()) == [1, 1, 1]
    assert [run.superseded for run in report.runs] == [True, False]


def test_a_log_that_was_cut_is_not_whole(log, read):
    log([line(k, acc=1) for k in range(3)], folder="whole")
    path = log([line(k, acc=0) for k in range(2)], RESULTS | {"date": 2e9}, folder="part")
    cells, report = read(path.parents[1])
    assert list(cells.values()) == [1, 1, 1]
    assert [run.partial for run in report.runs] == ["2 of 3 samples in the log", ""]
    assert [run.superseded for run in report.runs] == [True, False]


def test_a_log_of_several_filters_that_was_cut_is_not_whole(log, read):
    told = RESULTS | {"results": GSM8K}
    _, report = read(log(filtered(filter=0), told), **choosing(filter="flexible-extract"))
    assert report.runs[0].partial == ""
    cells, report = read(log(filtered(filter=0)[:-1], told), **choosing(filter="flexible-extract"))
    assert list(cells.values()) == FLEXIBLE[:-1]
    assert report.runs[0].partial == "2 of 3 samples in the log"


def test_a_hash_that_is_no_text(log, read):
    path = log([line(0, "ab", acc=1), line(1, "\ud800", acc=0)])
    with pytest.raises(InputError, match=r"line 2: its content's hash is '\\ud800', not Unicode"):
        read(path)


def test_deep_json_is_broken(log, read):
    path = log([line(0, acc=1), line(1, acc=0)])
    deep = path.read_text() + '{"doc_id": 2, "acc": 1, "zz": ' + "[" * 5000 + "]" * 5000 + "}\n"
    path.write_text(deep)
    with pytest.raises(InputError, match=r"line 3: its JSON is nested too deeply"):
        read(path)


OLD = {
    "results": {"hendrycksTest-anatomy": {"acc": 0.5, "acc_stderr": 0.1, "acc_norm": 0.5}},
    "versions": {"hendrycksTest-anatomy": 0},
    "config": {
        "model": "hf-causal",
        "model_args": "pretrained=org/A",
        "num_fewshot": 5,
        "limit": None,
    },
}


def test_the_layout_of_old_releases(write, read):
    """One array, a name that begins with the arguments, and results without a time."""
    name = "pretrained__org__A_hendrycksTest-anatomy.jsonl"
    lines = [line(k, acc=k % 2) for k in range(3)]
    path = write(f"old/{name}", json.dumps(lines, indent=2))
    with pytest.raises(InputError, match="does not name its model"):
        read(path)
    assert only(read(path, domain="d", choices=Choices("m", task="d"))[0])[:2] == ("m", "d")
    write("old/results.json", json.dumps(OLD))
    cells, report = read(path.parent)
    assert only(cells) == (
        "org/A",
        "anatomy",
        {f"{k} version=0 shots=5 metric=acc": k % 2 for k in range(3)},
    )
    assert report.runs[0].time is None
    assert len(report.companions) == 1


def test_arrays_and_other_endings_read_alike(write, read):
    lines = [line(k, acc=k % 2, filter="none") for k in range(3)]
    contents = {
        "jsonl": jsonl(lines).encode(),
        "json": jsonl(lines).encode(),
        "jsonl.gz": gzip.compress(jsonl(lines).encode()),
        "json.gz": gzip.compress(json.dumps(lines).encode()),
    }
    contents["ndjson"] = b"\xef\xbb\xbf" + contents["jsonl"].replace(b"\n", b"\r\n\n")
    found = []
    for suffix, content in contents.items():
        path = write(f"{suffix}/samples_leaderboard_t_{STAMP}.{suffix}", content)
        found.append(read(path, **choosing(model="m"))[0])
    assert len(found[0]) == 3
    assert all(cells == found[0] for cells in found)


def test_the_hash_of_a_document_is_its_content(log, read):
    log([line(0, "aa", acc=1), line(1, "bb", acc=1)], folder="a")
    other = RESULTS | {"model_name": "other"}
    path = log([line(0, "aa", acc=1), line(1, "cc", acc=1)], other, folder="b")
    with pytest.raises(InputError, match=r"item '1 .*' of domain 't' is not what it is in "):
        read(path.parents[1], content="error")
    _, report = read(path.parents[1])
    assert [item for _, item in report.differing_items] == ["1 version=1.0 shots=5 metric=acc"]


def test_a_document_twice_under_one_filter_is_left_to_the_rule_of_cells(log, read):
    path = log([line(0, acc=1, filter="none"), line(0, acc=0, filter="none")])
    with pytest.raises(InputError, match=r"line 1 and .*line 2.*item '0 .*--conflicts"):
        read(path)
    cells, _ = read(path, conflicts="last")
    assert list(cells.values()) == [0]


@pytest.mark.parametrize(
    ("text", "message"),
    [
        (jsonl([line(0, acc=1)]) + '{"doc_id": 1, "acc"', r"line 2: broken JSON"),
        (jsonl([line(0, acc=1), line(1)]), r"line 2: .*missing required field `acc`"),
        (jsonl([line(0, acc=1), line(None, acc=1)]), r"line 2: .*got `null`.*doc_id"),
        (jsonl([line(0, acc=1), line(1.5, acc=1)]), r"line 2: .*got `float`.*doc_id"),
        (jsonl([line(0, acc=1), [1]]), r"line 2: Expected `object`, got `array`"),
        (jsonl([line(0, acc=1), line(1, acc="yes")]), r"line 2.*correct is 'yes'"),
        (jsonl([line(0, acc=1), line(1, acc=7)]), r"line 2.*correct is 7, expected 0 or 1"),
        (jsonl([line(0, acc=1), line(1, acc=0.5)]), r"line 2.*a fraction.*--fractions keep"),
        (jsonl([line(0, acc=1), line(" ", acc=1)]), r"line 2: document is ' ', expected an id"),
        (jsonl([line(0)]), r"it has no metric"),
        (jsonl([line(0, acc=1, filter=["none"])]), r"filter is .*, expected text"),
        (jsonl([line(0, acc=1, doc_hash=7)]), r"line 1: .*doc_hash"),
    ],
)
def test_broken_samples(log, write, text, message):
    path = log([])
    path.write_text(text)
    with pytest.raises(InputError, match=message) as caught:
        ingest([path], format="lm-eval", poor_domains="keep")
    assert str(path) in str(caught.value)
    assert "\n" not in str(caught.value)


def test_bytes_that_are_no_text(log):
    path = log([])
    path.write_bytes(jsonl([line(0, acc=1)]).encode() + b'{"doc_id": "\xff", "acc": 1}\n')
    with pytest.raises(InputError, match="line 2: not UTF-8 text"):
        ingest([path], poor_domains="keep")


def test_a_gzipped_file_that_is_cut(log, read):
    path = log([], name=f"samples_t_{STAMP}.jsonl.gz")
    whole = gzip.compress(jsonl([line(k, acc=1) for k in range(5000)]).encode())
    path.write_bytes(whole[:-40])
    with pytest.raises(InputError, match=re.escape(str(path))):
        read(path)


@pytest.mark.parametrize(
    ("results", "message"),
    [
        ('{"results": {"t": {}}', "broken JSON"),
        ('{"results": [1]}', r"Expected `object`, got `array` - at `\$.results`"),
        ('{"results": {"t": {}}, "date": 1e300}', "date is 1e.300, expected seconds since 1970"),
        ('{"results": {"t": {}}, "config": {"limit": "x"}}', r"config.limit"),
    ],
)
def test_broken_results(log, write, read, results, message):
    path = log([line(0, acc=1)], results=None)
    beside = write(f"run/results_{STAMP}.json", results)
    with pytest.raises(InputError, match=message) as caught:
        read(path)
    assert str(beside) in str(caught.value)


def test_not_a_number_in_results(log, write, read):
    path = log([line(0, acc=1)], results=None)
    told = json.dumps(RESULTS).replace('"N/A"', "NaN")
    write(f"run/results_{STAMP}.json", told)
    assert "NaN" in told
    assert only(read(path)[0])[0] == "org/model"


def test_a_time_that_is_none(log, read):
    path = log([line(0, acc=1)], None, name="samples_t_2024-13-01T21-45-00.jsonl")
    with pytest.raises(InputError, match=r"the time in its name is '2024-13-.*', expected a date"):
        read(path, **choosing(model="m"))


@pytest.mark.parametrize(
    ("name", "head"),
    [
        ("samples.jsonl", '{"model_id": "m", "item_id": "q", "correct": 1}'),
        ("tidy.jsonl", '{"doc_id": 1, "model_id": "m", "item_id": "q", "correct": 1}'),
        (f"samples_t_{STAMP}.jsonl", '{"model_id": "m", "item_id": "q", "correct": 1}'),
        (f"samples_t_{STAMP}.csv", '{"doc_id": 1, "doc": {}}'),
        (f"results_{STAMP}.json", '{"config_general": {}, "results": {}}'),
        ("stats.json", '{"results": {}}'),
    ],
)
def test_files_of_others(tmp_path, name, head):
    assert LmEval().role(tmp_path / name, head.encode()) is None


def test_recognised_where_keys_are_in_another_order(write):
    text = json.dumps(dict(sorted(line(0, acc=1).items())))
    path = write(f"samples_t_{STAMP}.jsonl", text)
    told = recognise(path)
    assert told is not None
    assert (told[0].name, told[1]) == ("lm-eval", "log")


def test_in_remote_folders(log, place, upload, same, tmp_path):
    path = log(filtered(filter=0), RESULTS | {"results": GSM8K})
    log(filtered(filter=0), RESULTS | {"model_name": "other", "results": GSM8K}, folder="second")
    upload(place)
    options = {"choices": Choices(filter="strict-match")}
    here, there = (ingest([source], **options) for source in (path.parents[1], place))
    same(here[0], there[0])
    assert len(there[1].companions) == 2
    assert list(here[0].models.index) == ["org/model", "other"]


def test_samples_come_in_batches(log):
    (run,) = LmEval().runs(log([line(k, acc=1) for k in range(BATCH + 1)]), Choices())
    batches = list(run.samples())
    assert [len(batch.documents) for batch in batches] == [BATCH, 1]
    assert batches[1].numbers == [BATCH + 1]


def test_the_time_of_a_run_is_aware(log):
    path = log([line(0, acc=1)])
    (run,) = LmEval().runs(path, Choices())
    assert run.time == datetime.fromtimestamp(1717278000.5, UTC)


PYTHIA = "native/lm_eval/EleutherAI__pythia-14m"


@pytest.mark.data
def test_public_samples_of_the_flat_layout(data, read):
    """Their metrics: acc with acc_norm, or acc alone; no results beside them."""
    folder = data / PYTHIA
    sums, two = {}, 0
    for path in sorted(folder.iterdir()):
        lines = gzip.decompress(path.read_bytes()).splitlines()
        samples = [json.loads(text) for text in lines]
        task = re.sub(rf"samples_(.*)_{STAMP[:4]}.*", r"\1", path.name)
        sums[task] = len(samples), sum(sample["acc"] for sample in samples)
        two += "acc_norm" in samples[0]
    assert len(sums) == 15
    assert two
    with pytest.raises(InputError, match="several metrics: 'acc', 'acc_norm'"):
        read(folder, **choosing(model="pythia"))
    with pytest.raises(InputError, match="does not name its model"):
        read(folder, **choosing(metric="acc"))
    cells, report = read(folder, **choosing(model="pythia", metric="acc"))
    found = {}
    for (_, domain, _), value in cells.items():
        count, total = found.get(domain, (0, 0))
        found[domain] = count + 1, total + value
    assert found == sums
    assert report.missing == 0


@pytest.mark.data
def test_public_samples_of_the_layout_with_filters(data, read):
    folder = data / "native" / "lm_eval" / "every_eval_ever"
    (path,) = folder.glob("samples_*")
    samples = [json.loads(text) for text in path.read_text().splitlines()]
    cells, report = read(folder)
    model, domain, by_item = only(cells)
    assert model == "RylanSchaeffer/mem_Qwen3-93M_minerva_math_rep_0_sbst_1.0000_epch_1_ot_1"
    assert domain == "math_perturbed_full"
    assert by_item == {
        f"{sample['doc_id']} version=1.0 shots=0 metric=exact_match": sample["exact_match"]
        for sample in samples
    }
    assert report.companions == (str(next(folder.glob("results_*"))),)
    assert report.runs[0].time == "2026-01-21T02:59:43.859322+00:00"
