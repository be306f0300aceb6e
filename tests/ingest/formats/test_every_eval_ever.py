"""EvalEval's instance-level files."""

import gzip
import json

import pytest

from mtlirt.errors import InputError


def line(number, score, evaluation="gsm8k", model="o/m", raw=None, **more):
    return {
        "schema_version": "0.2.2",
        "evaluation_id": "gsm8k/o_m/1700000000",
        "model_id": model,
        "evaluation_name": evaluation,
        "sample_id": f"s{number}",
        "interaction_type": "single_turn",
        "input": {"raw": raw or f"{number}?", "reference": [str(number)], "choices": None},
        "output": {"raw": ["1"], "reasoning_trace": []},
        "answer_attribution": [],
        "evaluation": {"score": score, "is_correct": bool(score)},
        "error": None,
        **more,
    }


def result(evaluation="gsm8k", result_id=None, metric="accuracy", **config):
    return {
        "evaluation_name": evaluation,
        "evaluation_result_id": result_id,
        "metric_config": {"metric_id": metric, "lower_is_better": False, **config},
        "score_details": {"score": 0.5},
    }


def aggregate(*results, **facts):
    facts = {"evaluation_timestamp": "2024-06-01T23:30:00+02:00", **facts}
    return {
        "schema_version": "0.2.2",
        "evaluation_id": "gsm8k/o_m/1700000000",
        "retrieved_timestamp": "1800000000",
        "source_metadata": {"source_type": "evaluation_run"},
        "evaluation_results": list(results),
        **facts,
    }


@pytest.fixture
def put(write):
    """Write a file of lines, and the aggregate file beside it."""

    def put(lines, about=None, gz="", name="1b4e"):
        text = "".join(json.dumps(each) + "\n" for each in lines).encode()
        path = write(f"{name}/x_samples.jsonl{gz}", gzip.compress(text) if gz else text)
        if about is not None:
            write(f"{name}/x.json", json.dumps(about))
        return path.parent

    return put


@pytest.mark.parametrize("gz", ["", ".gz"])
def test_a_file_with_its_aggregate(put, read, gz):
    folder = put([line(0, 1.0), line(1, 0.0)], aggregate(result()), gz)
    cells, report = read(folder)
    assert cells == {("o/m", "gsm8k", "s0"): 1, ("o/m", "gsm8k", "s1"): 0}
    (run,) = report.runs
    assert run.qualifiers == {"metric": "accuracy"}
    assert run.time == "2024-06-01T21:30:00.000000+00:00"
    assert report.companions == (str(folder / "x.json"),)


def test_a_file_alone(put, read):
    cells, report = read(put([line(0, 1.0), line(1, 0.0)]))
    assert list(cells.values()) == [1, 0]
    assert report.runs[0].qualifiers == {}
    assert report.runs[0].time is None
    assert list(read(put([line(0, 1.0)]), metric="accuracy")[0].values()) == [1]


def test_seconds_are_times_too(put, read):
    about = aggregate(result(), evaluation_timestamp="1717277400")
    assert read(put([line(0, 1.0)], about))[1].runs[0].time == "2024-06-01T21:30:00.000000+00:00"


@pytest.mark.parametrize("gz", ["", ".gz"])
def test_evaluations_of_one_file_that_take_turns(put, read, gz):
    names = ["a", "b", "a", "c", "b", "a"]
    lines = [line(k, k % 2, name) for k, name in enumerate(names)]
    lines += [line(0, 1, "a", model="o/n")]
    cells, report = read(put(lines, gz=gz))
    truth = {("o/m", name, f"s{k}"): k % 2 for k, name in enumerate(names)}
    assert cells == truth | {("o/n", "a", "s0"): 1}
    assert [(run.model, run.task, run.records) for run in report.runs] == [
        ("o/m", "a", 3),
        ("o/m", "b", 2),
        ("o/m", "c", 1),
        ("o/n", "a", 1),
    ]


def test_several_results_of_one_sample(put, read):
    lines = [
        line(k, score, evaluation_result_id=name)
        for k in range(3)
        for name, score in (("r#1", 1), ("r#2", 0.25))
    ]
    two = result(result_id="r#1"), result(result_id="r#2", metric="f1")
    folder = put(lines, aggregate(*two))
    with pytest.raises(InputError, match=r"'gsm8k': several metrics: 'accuracy', 'f1'; choose"):
        read(folder)
    cells, report = read(folder, metric="accuracy")
    assert list(cells.values()) == [1, 1, 1]
    assert report.runs[0].qualifiers == {"metric": "accuracy"}
    cells, _ = read(folder, metric="f1", fractions="keep")
    assert list(cells.values()) == [0.25] * 3
    with pytest.raises(InputError, match=r"'gsm8k': no metric 'em'; it has 'accuracy', 'f1'"):
        read(folder, metric="em")
    (folder / "x.json").unlink()
    cells, report = read(folder, metric="r#1")
    assert list(cells.values()) == [1, 1, 1]
    assert report.runs[0].qualifiers == {}


def test_errors_and_no_scores_are_missing(put, read):
    lines = [line(0, 1), line(1, 0, error="timeout"), line(2, None), line(3, float("nan"))]
    cells, report = read(put(lines))
    assert cells == {("o/m", "gsm8k", "s0"): 1}
    assert report.outcomes == {"errored": 1, "unscored": 2}
    assert (report.records, report.missing) == (4, 3)


def test_scores_that_are_no_shares(put, read):
    with pytest.raises(InputError, match=r"line 1: .* correct is 62, expected 0 or 1 \(divide"):
        read(put([line(0, 62)]))
    lower = aggregate(result(lower_is_better=True))
    with pytest.raises(InputError, match=r"'gsm8k': its score is better the lower it is"):
        read(put([line(0, 1)], lower))


def test_what_was_asked_is_compared(put, read):
    first = put([line(0, 1)], name="a")
    second = put([line(0, 1, model="o/n")], name="b")
    assert len(read(first, second)[0]) == 2
    other = put([line(0, 1, model="o/n", raw="7?")], name="b")
    with pytest.raises(InputError, match=r"item 's0' of domain 'gsm8k' is not what it is in"):
        read(first, other)


def test_a_sample_twice_is_refused(put, read):
    with pytest.raises(InputError, match=r"item 's0' .*: both say correct 1"):
        read(put([line(0, 1), line(0, 1)]))


def test_broken_files(put, read, write):
    folder = put([line(0, 1), line(1, 1)])
    text = (folder / "x_samples.jsonl").read_text()
    write("1b4e/x_samples.jsonl", text[:-5])
    with pytest.raises(InputError, match=r"x_samples.jsonl line 2: broken JSON"):
        read(folder)
    write("1b4e/x_samples.jsonl", text.replace('"score": 1', '"score": "good"'))
    with pytest.raises(
        InputError, match=r"line 1: Expected `.*`, got `str` - at `\$.evaluation.sc"
    ):
        read(folder)
    write("1b4e/x_samples.jsonl", text)
    write("1b4e/x.json", json.dumps(aggregate(evaluation_results=3)))
    with pytest.raises(InputError, match=r"x.json: Expected `array`, got `int`"):
        read(folder)
    write("1b4e/x.json", json.dumps(aggregate(result(), evaluation_timestamp="soon")))
    with pytest.raises(InputError, match=r"x.json: evaluation_timestamp is 'soon', expected a d"):
        read(folder)


def test_from_remote_places(put, read, place, upload):
    folder = put([line(0, 1), line(1, 0)], aggregate(result()))
    upload(place)
    assert read(f"{place}/1b4e")[0] == read(folder)[0]
