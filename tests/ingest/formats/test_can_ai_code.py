"""can-ai-code: questions with weighted checks, in several languages."""

import json

import pytest

from mtlirt.errors import InputError
from mtlirt.ingest import ingest
from mtlirt.ingest.runs import Choices

NAME = "eval_senior_python-javascript_chat-x_none_greedy-vllm_org-m_1708309313.ndjson"
STATUS, PASSED = Choices(metric="status"), Choices(metric="passed")


def line(name="F", language="python", status="FAIL", passed=1, total=4, model="org/m", **fields):
    return {
        "Signature": f"{name}(n)",
        "Input": "n",
        "name": name,
        "language": language,
        "prompt": "...",
        "model": model,
        "checks": [{"assert": "f.call(1)", "status": 1}],
        "status": status,
        "passed": passed,
        "total": total,
        **fields,
    }


def save(path, *lines):
    path.write_text("\n".join(map(json.dumps, lines)))
    return path


@pytest.fixture
def read(cells_of):
    def read(*paths, **options):
        responses, report = ingest(paths, poor_domains="keep", **options)
        return cells_of(responses), report

    return read


def test_two_metrics(tmp_path, read):
    lines = (
        line(),
        line(language="javascript", status="PASS", passed=4),
        line("G", status="NO_CODE", passed=0),
    )
    path = save(tmp_path / NAME, *lines)
    with pytest.raises(InputError, match="several metrics: 'passed', 'status'; choose one"):
        read(path)
    cells, report = read(path, choices=STATUS)
    assert cells == {
        ("org/m", "senior", "F/python metric=status"): 0,
        ("org/m", "senior", "F/javascript metric=status"): 1,
        ("org/m", "senior", "G/python metric=status"): 0,
    }
    assert report.outcomes == {"without code": 1}
    assert report.runs[0].time == "2024-02-19T02:21:53.000000+00:00"
    cells, _ = read(path, choices=PASSED, fractions="keep")
    assert sorted(cells.values()) == [0, 0.25, 1]
    with pytest.raises(
        InputError, match=r"line 1: model 'org/m', item 'F/python .*is 0\.25, a frac"
    ):
        read(path, choices=PASSED)


def test_another_question_of_that_name_is_noticed(tmp_path, read):
    save(tmp_path / NAME, line())
    save(tmp_path / NAME.replace("m_", "n_"), line(model="org/n", Input="two numbers"))
    with pytest.raises(InputError, match="its content differs"):
        read(tmp_path, choices=STATUS)


def test_the_later_evaluation_counts(tmp_path, read):
    save(tmp_path / NAME, line(status="PASS", passed=4))
    save(tmp_path / NAME.replace("1708309313", "1808309313"), line())
    cells, report = read(tmp_path, choices=STATUS)
    assert list(cells.values()) == [0]
    assert sorted(run.superseded for run in report.runs) == [False, True]


@pytest.mark.parametrize(
    ("lines", "said"),
    [
        ([line(status="OK")], "line 1: status is 'OK', expected one of PASS, FAIL, NO_CODE"),
        ([line(), line(passed=5)], "line 2: passed is 5 of 4, expected at least 0"),
        ([line(passed=0, total=0)], "line 1: passed is 0 of 0, expected"),
        ([line(), line(model="n")], "line 2: model is 'n', but 'org/m' in the lines before"),
        ([line(), {"name": "F"}], "line 2: .*missing required field `model`"),
    ],
)
def test_what_is_refused(tmp_path, read, lines, said):
    path = save(tmp_path / NAME, *lines)
    with pytest.raises(InputError, match=said):
        read(path, choices=PASSED, fractions="keep", format="can-ai-code")


def test_elsewhere(tmp_path, place, upload, same):
    path = save(tmp_path / NAME, line(), line("G"))
    upload(place)
    options = {"choices": STATUS, "poor_domains": "keep"}
    same(ingest([path], **options)[0], ingest([f"{place}/{NAME}"], **options)[0])


@pytest.mark.data
@pytest.mark.parametrize(("metric", "total"), [("status", 47), ("passed", None)])
def test_published_evaluations(data, cells_of, metric, total):
    folder = data / "native" / "can_ai_code"
    expected = {}
    for path in folder.glob("*.ndjson"):
        for text in path.read_text().splitlines():
            each = json.loads(text)
            domain = "junior-v2" if "junior-v2" in path.name else "senior"
            item = f"{each['name']}/{each['language']} metric={metric}"
            value = each["passed"] / each["total"]
            key = each["model"], domain, item
            assert key not in expected
            expected[key] = float(each["passed"] == each["total"]) if total else value
    responses, report = ingest([folder], fractions="keep", choices=Choices(metric=metric))
    assert cells_of(responses) == pytest.approx(expected)
    assert len(report.runs) == 8
    assert (report.cells, len(responses.models), len(responses.items)) == (92, 6, 34)
    if total:
        assert sum(expected.values()) == total
