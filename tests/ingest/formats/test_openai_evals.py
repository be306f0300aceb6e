"""OpenAI Evals' logs."""

import gzip
import json

import pytest

from mtlirt.errors import InputError

END = {"final_report": {"accuracy": 0.5}}


def spec(**facts):
    about = {
        "completion_fns": ["gpt-4"],
        "eval_name": "coqa.dev.v0",
        "base_eval": "coqa",
        "split": "dev",
        "run_config": {"max_samples": None, "seed": 1},
        "run_id": "230417220821DPM75QNS",
        "created_at": "2023-04-17 22:08:21.904498",
        **facts,
    }
    return {"spec": about}


def event(number, kind, **data):
    return {
        "run_id": "r",
        "event_id": 0,
        "sample_id": f"coqa.dev.{number}",
        "type": kind,
        "data": data,
    }


def match(number, correct):
    return event(number, "match", correct=correct, expected="a", picked=None)


@pytest.fixture
def put(write):
    """Write a log."""

    def put(*lines, about=None, name="x.jsonl"):
        text = "".join(json.dumps(each) + "\n" for each in (about or spec(), *lines)).encode()
        return write(name, gzip.compress(text) if name.endswith(".gz") else text)

    return put


@pytest.mark.parametrize("name", ["x.jsonl", "x.jsonl.gz"])
def test_a_log(put, read, name):
    events = [event(0, "sampling", prompt="?", sampled="a"), match(0, True), match(1, False)]
    cells, report = read(put(END, *events, name=name))
    assert cells == {("gpt-4", "coqa", "coqa.dev.0"): 1, ("gpt-4", "coqa", "coqa.dev.1"): 0}
    (run,) = report.runs
    assert run.qualifiers == {"version": "v0", "split": "dev", "metric": "match"}
    assert run.time == "2023-04-17T22:08:21.904498+00:00"
    assert run.partial == ""


def test_samples_that_have_no_score_are_missing(put, read):
    events = [
        event(0, "sampling", sampled="a"),
        match(0, True),
        event(1, "sampling", sampled="b"),
        event(2, "error", type="Timeout", message="..."),
        match(3, None),
        event(4, "error", type="Timeout", message="..."),
        match(4, False),
    ]
    cells, report = read(put(*events, END))
    assert {document[-1]: value for (_, _, document), value in cells.items()} == {"0": 1, "4": 0}
    assert report.outcomes == {"errored": 1, "unscored": 2}
    assert (report.records, report.missing) == (5, 3)


def test_metrics(put, read):
    events = [
        each
        for k in range(3)
        for each in (match(k, k == 0), event(k, "metrics", accuracy=float(k == 0), f1_score=k / 2))
    ]
    path = put(*events, event(3, "metrics", f1_score=float("nan"), choice="A"), END)
    cells, report = read(path)
    assert list(cells.values()) == [1, 0, 0]
    cells, report = read(path, metric="f1_score", fractions="keep")
    assert list(cells.values()) == [0, 0.5, 1]
    assert report.outcomes == {"unscored": 1}
    assert report.runs[0].qualifiers["metric"] == "f1_score"
    with pytest.raises(InputError, match=r"no metric 'bleu'; it has 'accuracy', 'f1_score', 'mat"):
        read(path, metric="bleu")
    graded = put(*(each for each in events if each["type"] == "metrics"), END)
    with pytest.raises(InputError, match=r"several metrics: 'accuracy', 'f1_score'; choose one"):
        read(graded)
    assert list(read(graded, metric="accuracy")[0].values()) == [1, 0, 0]


@pytest.mark.parametrize(
    ("about", "lines", "partial"),
    [
        (spec(), [END], ""),
        (spec(), [], "no final report"),
        (spec(run_config={"max_samples": 2}), [END], "limit 2"),
        (spec(run_config={"max_samples": 2}), [], "limit 2, no final report"),
    ],
)
def test_what_makes_a_run_partial(put, read, about, lines, partial):
    _, report = read(put(match(0, True), match(1, False), *lines, about=about))
    assert report.runs[0].partial == partial


def numbered(*events):
    return [event | {"event_id": number} for number, event in enumerate(events)]


@pytest.mark.parametrize(
    ("accuracy", "lost", "partial"),
    [
        (0.25, (), ""),
        (None, (), ""),
        (float("nan"), (), ""),
        (0.25, (5,), "4 of at least 5 events in the log"),
        (0.25, (6,), "accuracy of its events is 0.333, 0.25 by its final report"),
        (0.5, (), "accuracy of its events is 0.25, 0.5 by its final report"),
        (0.25, (1, 6), "no final report"),
    ],
)
def test_a_log_that_was_cut_is_not_whole(put, read, accuracy, lost, partial):
    """The final report is written before the last events are."""
    events = numbered(*(match(k, k == 1) for k in range(4)), event(4, "sampling", sampled="a"))
    events = [*events[:3], events[4] | {"event_id": 3}, events[3] | {"event_id": 4}]
    written = [spec(), {"final_report": {"accuracy": accuracy}}, *events]
    about, *kept = [line for number, line in enumerate(written) if number not in lost]
    _, report = read(put(*kept, about=about))
    assert report.runs[0].partial[: len(partial) or None] == partial


def test_names(put, read):
    both = spec(completion_fns=["gpt-4", "grader"], eval_name="coqa-fact", base_eval=None)
    path = put(match(0, True), match(1, False), END, about=both)
    with pytest.raises(
        InputError, match=r"does not name its model \(several completion_fns\); name it with --mod"
    ):
        read(path)
    (run,) = read(path, model="gpt-4")[1].runs
    assert (run.model, run.task) == ("gpt-4", "coqa-fact")
    none = spec(completion_fns=[])
    with pytest.raises(InputError, match=r"\(no completion_fns in its spec\)"):
        read(put(match(0, True), END, about=none))


def test_several_answers_to_one_sample_are_left_to_the_rule(put, read):
    path = put(match(0, True), match(0, False), match(1, True), END)
    with pytest.raises(InputError, match=r"item 'coqa.dev.0 .*: correct 1, then correct 0; choose"):
        read(path)
    cells, _ = read(path, conflicts="attempts", duplicates="attempts")
    assert sorted(cells.values()) == [(1, 1), (1, 2)]


def test_broken_logs(put, read, write):
    text = put(match(0, True), match(1, False), END).read_text()
    with pytest.raises(InputError, match=r"x.jsonl line 3: broken JSON"):
        read(write("x.jsonl", text.replace('"sample_id": "coqa.dev.1"', "")))
    with pytest.raises(InputError, match=r"x.jsonl line 2: correct is 'yes', expected true"):
        read(write("x.jsonl", text.replace("true", '"yes"')))
    with pytest.raises(InputError, match=r"x.jsonl: spec.created_at is 'x', expected a date"):
        read(put(match(0, True), about=spec(created_at="x")))
    with pytest.raises(InputError, match=r"line 1: Expected `array`, got `str` - at `\$.spec.comp"):
        read(put(match(0, True), about=spec(completion_fns="gpt-4")))
    with pytest.raises(InputError, match=r"x.jsonl: no log of OpenAI Evals: no line has the run's"):
        read(put(match(0, True), about=END), format="openai-evals")


def test_from_remote_places(put, read, place, upload):
    path = put(match(0, True), match(1, False), END)
    upload(place)
    assert read(f"{place}/x.jsonl")[0] == read(path)[0]
