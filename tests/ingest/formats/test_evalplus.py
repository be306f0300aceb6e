"""EvalPlus: two test suites, several samples a task."""

import json

import pytest

from mtlirt.errors import InputError
from mtlirt.ingest import ingest
from mtlirt.ingest.runs import Choices

HASH = "fe585eb4"


def save(path, tasks, **fields):
    """Tasks with their samples as (base, plus)."""
    evaluated = {
        name: [
            {
                "task_id": name,
                "solution": "def f(): ...",
                "base_status": base,
                "plus_status": plus,
                "base_fail_tests": [],
                "plus_fail_tests": [[1]],
            }
            for base, plus in samples
        ]
        for name, samples in tasks.items()
    }
    content = {"date": "2024-05-01 12:30", "hash": HASH, "eval": evaluated, **fields}
    path.write_text(json.dumps(content))
    return path


@pytest.fixture
def read(cells_of):
    def read(path, metric="base", **options):
        choices = Choices(model="org/m", metric=metric)
        responses, report = ingest([path], poor_domains="keep", choices=choices, **options)
        return {item: value for (_, _, item), value in cells_of(responses).items()}, report

    return read


def ids(metric, **cells):
    return {f"HumanEval/{k[1:]} version={HASH} metric={metric}": v for k, v in cells.items()}


def test_plus_is_passing_both_suites(tmp_path, read):
    tasks = {
        "HumanEval/0": [("pass", "pass")],
        "HumanEval/1": [("pass", "fail")],
        "HumanEval/2": [("fail", "pass")],
        "HumanEval/3": [("timeout", "timeout")],
    }
    path = save(tmp_path / "org--m_vllm_temp_0.0_eval_results.json", tasks)
    with pytest.raises(InputError, match="several metrics: 'base', 'plus'; choose one"):
        read(path, metric=None)
    assert read(path)[0] == ids("base", _0=1, _1=1, _2=0, _3=0)
    cells, report = read(path, "plus")
    assert cells == ids("plus", _0=1, _1=0, _2=0, _3=0)
    assert report.runs[0].model == "org/m"
    assert report.runs[0].task == "HumanEval"
    assert report.runs[0].time == "2024-05-01T12:30:00.000000+00:00"


def test_several_samples_are_attempts(tmp_path, read):
    tasks = {
        "HumanEval/0": [("pass", "pass"), ("pass", "fail"), ("fail", "fail")],
        "HumanEval/1": [("pass", None)],
        "HumanEval/2": [(None, None), (None, "pass")],
        "HumanEval/3": [("pass", "pass"), ("pass", None)],
    }
    path = save(tmp_path / "eval_results.json", tasks)
    cells, report = read(path)
    assert cells == ids("base", _0=(2, 3), _1=(1, 1), _3=(2, 2))
    assert report.outcomes == {"unscored": 2}
    cells, report = read(path, "plus")
    assert cells == ids("plus", _0=(1, 3), _3=(1, 1))
    assert report.outcomes == {"unscored": 4}
    assert report.missing == 2


def test_base_tests_only(tmp_path, read):
    tasks = {"Mbpp/2": [("pass", None)], "Mbpp/3": [("fail", None)]}
    cells, _ = read(save(tmp_path / "eval_results.json", tasks), metric=None)
    assert sorted(cells.values()) == [0, 1]


@pytest.mark.parametrize(
    ("tasks", "fields", "said"),
    [
        (
            {"HumanEval/0": [("passed", None)]},
            {},
            "'HumanEval/0': status is 'passed', expected pas",
        ),
        ({}, {}, "no responses"),
        ({"HumanEval/0": [("pass", None)]}, {"date": "later"}, "date is 'later', expected a date"),
        ({}, {"eval": {"HumanEval/0": {"nfiles": 1}}}, "Expected `array`, got `object`"),
        ({}, {"eval": None}, "Expected `object`, got `null`"),
    ],
)
def test_what_is_refused(tmp_path, read, tasks, fields, said):
    path = save(tmp_path / "eval_results.json", tasks, **fields)
    with pytest.raises(InputError, match=said):
        read(path)


def test_the_model_must_be_named(tmp_path):
    path = save(tmp_path / "org--m_eval_results.json", {"HumanEval/0": [("pass", None)]})
    with pytest.raises(
        InputError, match=r"does not name its model .* / as --.*name it with --model"
    ):
        ingest([path])


def test_elsewhere(tmp_path, place, upload, same):
    tasks = {"HumanEval/0": [("pass", "pass"), ("fail", "fail")]}
    path = save(tmp_path / "eval_results.json", tasks)
    upload(place)
    options = {"choices": Choices(model="m", metric="plus"), "poor_domains": "keep"}
    same(ingest([path], **options)[0], ingest([f"{place}/eval_results.json"], **options)[0])
