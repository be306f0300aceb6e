"""METR: several attempts a task."""

import gzip
import itertools
import json

import pytest

from mtlirt.errors import InputError
from mtlirt.ingest import ingest
from mtlirt.ingest.runs import Choices

NUMBERS = itertools.count()


def line(alias="A (Old)", task="f/main", binarized=1, score=0.7, **fields):
    return {
        "run_id": next(NUMBERS),
        "task_id": task,
        "score": score,
        "alias": alias,
        "model": "a",
        "completed_at": 1734071923976,
        "fatal_error_from": None,
        "score_binarized": binarized,
        **fields,
    }


def save(path, *lines):
    path.write_text("".join(json.dumps(each) + "\n" for each in lines))
    return path


@pytest.fixture
def read(cells_of):
    def read(path, metric=None, **options):
        choices = Choices(metric=metric, task="hcast")
        responses, report = ingest([path], poor_domains="keep", choices=choices, **options)
        return cells_of(responses), report

    return read


def test_attempts_are_successes_of_trials(tmp_path, read):
    lines = [line(), line(binarized=0), line("A (New)"), line(task="g"), line("A (New)")]
    cells, report = read(save(tmp_path / "all_runs.jsonl", *lines))
    assert cells == {
        ("A (Old)", "hcast", "f/main metric=score_binarized"): (1, 2),
        ("A (Old)", "hcast", "g metric=score_binarized"): (1, 1),
        ("A (New)", "hcast", "f/main metric=score_binarized"): (2, 2),
    }
    assert report.runs[0].time == "2024-12-13T06:38:43.976000+00:00"


def test_attempts_that_ended_by_an_error(tmp_path, read):
    lines = [
        line(binarized=0, fatal_error_from="usageLimits"),
        line(fatal_error_from="serverOrTask"),
        line(task="g", binarized=0, fatal_error_from="server"),
        line(task="h", binarized=None),
        line(task="k"),
    ]
    cells, report = read(save(tmp_path / "all_runs.jsonl", *lines))
    assert {item.split(" ")[0]: value for (_, _, item), value in cells.items()} == {
        "f/main": 0,
        "k": 1,
    }
    assert report.outcomes == {"errored": 2, "that used up their budget": 1, "unscored": 1}
    assert report.missing == 2


def test_sources_of_tasks_are_domains(tmp_path, read):
    lines = [line(task_source="SWAA"), line(task="g", task_source="HCAST")]
    cells, _ = read(save(tmp_path / "runs.jsonl", *lines))
    assert {domain for _, domain, _ in cells} == {"SWAA", "HCAST"}


def test_scores_that_are_no_zeros_and_ones(tmp_path, read):
    path = save(tmp_path / "runs.jsonl", line(), line(task="g", score=1))
    cells, _ = read(path, "score", fractions="keep")
    assert sorted(cells.values()) == [pytest.approx(0.7), 1]
    save(path, line(task="g"), line(), line(score=1))
    cells, _ = read(path, "score", fractions="keep")
    assert {item.split(" ")[0]: value for (_, _, item), value in cells.items()} == {
        "g": pytest.approx(0.7),
        "f/main": pytest.approx(0.85),
    }
    with pytest.raises(InputError, match=r"line 1: .* correct is 0\.7, a fraction"):
        read(path, "score")
    save(path, line(task="g"), line(), line(score=2))
    with pytest.raises(
        InputError, match=r"line 2: 'f/main' has 2 attempts, one with score 2\.0: expected 0 to 1"
    ):
        read(path, "score", fractions="keep")


@pytest.mark.parametrize(
    ("text", "said"),
    [
        ('{"task_id": "f", "score_binarized": 1}', "line 2: .*missing required field `alias`"),
        (
            '{"alias": "a", "task_id": "f", "score_binarized": "x"}',
            r"line 2: Expected `float \| nu",
        ),
        ('{"alias": "a", "task_id": "f\ng"}', "line 2: broken JSON: "),
        (
            json.dumps(line(completed_at=1e30)),
            r": completed_at / 1000 of 'A \(Old\)' is 1e\+27, expected seconds",
        ),
        ("[1]", "line 2: Expected `object`, got `array`"),
    ],
)
def test_what_is_refused(tmp_path, read, text, said):
    path = save(tmp_path / "runs.jsonl", line())
    with path.open("a") as file:
        file.write(text)
    with pytest.raises(InputError, match=rf"runs\.jsonl ?{said}") as error:
        read(path)
    assert "\n" not in str(error.value)
    with pytest.raises(InputError, match="no metric 'pass'; it has 'score', 'score_binarized'"):
        read(path, "pass")


def test_elsewhere(tmp_path, place, upload, same):
    path = save(tmp_path / "runs.jsonl", line(), line(binarized=0), line("B"))
    upload(place)
    same(ingest([path])[0], ingest([f"{place}/runs.jsonl"])[0])


@pytest.mark.data
def test_the_published_runs(data, cells_of):
    path = data / "native" / "metr" / "all_runs.jsonl.gz"
    expected = {}
    with gzip.open(path) as file:
        for text in file:
            each = json.loads(text)
            key = each["alias"], "default", f"{each['task_id']} metric=score_binarized"
            successes, trials = expected.get(key, (0, 0))
            expected[key] = successes + each["score_binarized"], trials + 1
    responses, report = ingest([path])
    assert cells_of(responses) == expected
    assert responses.shape == (11, 83)
    assert (report.cells, sum(s for s, _ in expected.values())) == (838, 2130)
    assert sum(trials for _, trials in expected.values()) == 7059
    with pytest.raises(
        InputError, match=r"38 attempts, one with score 1\.05.*choose another metric"
    ):
        ingest([path], choices=Choices(metric="score"))


def test_a_run_that_is_there_twice_is_refused(tmp_path, read):
    path = save(tmp_path / "runs.jsonl", line(run_id="x"), line(run_id="y"), line(run_id="x"))
    with pytest.raises(InputError, match=r"runs\.jsonl line 3: run_id 'x' again"):
        read(path)
