"""SWE-bench: denominators of reports (O14), leaderboards, and lists that cannot be read."""

import gzip
import json

import pytest

from mtlirt.errors import InputError
from mtlirt.ingest import ingest
from mtlirt.ingest.runs import Choices

NAMED = Choices(model="m", task="Verified")
COUNTS = {"resolved": 144, "unresolved": 64, "empty_patch": 276, "error": 16}


def report(counts, incomplete=0, **fields):
    """A report as the harness writes it, over instances numbered in no order of outcomes."""
    ids = [f"repo__{(7 * k) % 997:03d}" for k in range(sum(counts.values()) + incomplete)]
    lists, start = {}, 0
    for name, count in [*counts.items(), ("incomplete", incomplete)]:
        lists[name] = sorted(ids[start : start + count])
        start += count
    submitted = sorted(set(ids) - set(lists["incomplete"]))
    return {
        "total_instances": len(ids),
        "submitted_instances": len(submitted),
        **{f"{name}_instances": count for name, count in counts.items()},
        "completed_ids": sorted(lists["resolved"] + lists["unresolved"]),
        **{f"{name}_ids": members for name, members in lists.items()},
        "submitted_ids": submitted,
        "schema_version": 2,
        **fields,
    }


def save(path, content):
    path.write_text(json.dumps(content, indent=4))
    return path


def read(path, **options):
    return ingest([path], poor_domains="keep", **{"choices": NAMED, **options})


@pytest.fixture
def of(cells_of):
    def of(path, **options):
        responses, report = read(path, **options)
        cells = {(m, item): value for (m, _, item), value in cells_of(responses).items()}
        return cells, responses, report

    return of


def test_denominators(tmp_path, of):
    """Public fault O14: 144 of 484, not of 500, and not of the resolved ones."""
    cells, responses, told = of(save(tmp_path / "a__m.run.json", report(COUNTS)))
    assert (sum(cells.values()), len(cells)) == (144, 484)
    assert sum(cells.values()) / len(cells) == pytest.approx(0.29752, abs=1e-5)
    assert len(responses.item_ids("Verified")) == 500
    assert told.missing == 16
    assert told.outcomes == {"empty patch": 276, "errored": 16}
    assert told.runs[0].partial == ""


def test_unsubmitted_instances_are_missing(tmp_path, of):
    counts = COUNTS | {"unresolved": 44}
    cells, responses, told = of(save(tmp_path / "m.run.json", report(counts, incomplete=20)))
    assert (sum(cells.values()), len(cells)) == (144, 464)
    assert len(responses.item_ids("Verified")) == 500
    assert told.missing == 36
    assert told.outcomes == {"empty patch": 276, "errored": 16, "not submitted": 20}
    assert told.runs[0].partial == "20 of 500 instances not submitted"


def test_unsubmitted_instances_that_are_not_listed(tmp_path, of):
    whole = report(COUNTS | {"unresolved": 44}, incomplete=20, schema_version=1)
    del whole["incomplete_ids"]
    cells, responses, told = of(save(tmp_path / "m.run.json", whole))
    assert (sum(cells.values()), len(cells), len(responses.item_ids("Verified"))) == (144, 464, 480)
    assert told.runs[0].partial == "20 of 500 instances not submitted"


def test_lists_that_other_tools_write(tmp_path, of):
    """Unresolved ones by subtraction; empty patches among them; failed for errors; no result."""
    content = {
        "total_instances": 6,
        "resolved_ids": ["a"],
        "completed_ids": ["a", "b"],
        "failed_ids": ["d"],
        "submitted_ids": ["a", "b", "d", "e"],
    }
    cells, responses, told = of(save(tmp_path / "m.json", content))
    assert cells == {("m", "a"): 1, ("m", "b"): 0}
    assert told.outcomes == {"errored": 1, "without a result": 1}
    assert list(responses.item_ids("Verified")) == ["a", "b", "d", "e"]
    assert told.runs[0].partial == "2 of 6 instances not submitted"
    content = {"resolved_ids": ["a"], "unresolved_ids": ["b", "c"], "empty_patch_ids": ["c"]}
    cells, _, told = of(save(tmp_path / "n.json", content))
    assert cells == {("m", "a"): 1, ("m", "b"): 0, ("m", "c"): 0}
    assert told.outcomes == {"empty patch": 1}


def test_the_model_is_named_by_the_report_or_the_user(tmp_path, of):
    path = save(tmp_path / "org__m.run.json", report({"resolved": 1, "unresolved": 1}))
    with pytest.raises(
        InputError, match=r"org__m\.run\.json: it does not name its model .*--model"
    ):
        ingest([path])
    told = report({"resolved": 1, "unresolved": 1}, model_name_or_path="org/m")
    cells, _, _ = of(save(tmp_path / "org__m.run.json", told), choices=Choices())
    assert {model for model, _ in cells} == {"org/m"}


@pytest.mark.parametrize(
    ("content", "said"),
    [
        ({"resolved_ids": ["a"]}, "lists the resolved instances but not the unresolved ones"),
        ({"resolved_ids": ["a"], "submitted_ids": ["a"]}, "but not the unresolved ones"),
        (
            {"resolved_ids": ["a"], "unresolved_ids": ["b", "a"]},
            "instance 'a' is both resolved and unresolved",
        ),
        (
            {"resolved_instances": 2, "resolved_ids": ["a"], "unresolved_ids": []},
            "resolved_instances is 2, but resolved_ids has 1",
        ),
        (
            {"resolved_ids": ["a"], "unresolved_ids": [], "empty_patch_instances": 2},
            "empty_patch_instances is 2, but there are no empty_patch_ids",
        ),
        (
            {"resolved_ids": ["a"], "unresolved_ids": ["b"], "total_instances": 1},
            "total_instances is 1, but it names 2",
        ),
        ({"resolved_ids": "a", "unresolved_ids": []}, r"Expected `array \| null`, got `str`"),
        ({"total_instances": 3}, "neither a report of the harness"),
        ({"leaderboards": [{"results": []}]}, "missing required field `name`"),
        ({"leaderboards": []}, "no submission has per_instance_details"),
    ],
)
def test_what_is_refused(tmp_path, content, said):
    path = save(tmp_path / "m.json", content)
    with pytest.raises(InputError, match=rf"m\.json: .*{said}") as error:
        read(path, format="swebench")
    assert "\n" not in str(error.value)


@pytest.mark.parametrize("cut", [1, 40, 300])
def test_a_report_that_is_cut_off(tmp_path, cut):
    path = tmp_path / "m.json"
    path.write_text(json.dumps(report(COUNTS))[:-cut])
    with pytest.raises(InputError, match=r"m\.json: broken JSON: "):
        read(path)
    path = tmp_path / "m.json.gz"
    path.write_bytes(gzip.compress(json.dumps(report(COUNTS)).encode())[:-cut])
    with pytest.raises(InputError, match=r"m\.json\.gz: "):
        read(path)


def leaderboards(**boards):
    return {
        "leaderboards": [{"name": name, "results": results} for name, results in boards.items()]
    }


def submission(name, results=None, **fields):
    details = results and {key: {"cost": 0.1, "resolved": value} for key, value in results.items()}
    return {"name": name, "date": "2025-11-24", "per_instance_details": details} | fields


def test_leaderboards(tmp_path, of):
    content = leaderboards(
        Lite=[submission("a")],
        Verified=[
            submission("a", {"x": True, "y": False}),
            submission("b"),
            submission("c/d", {"x": False, "y": None}, date="2025-11-24T00:30:00+02:00"),
        ],
    )
    cells, _, told = of(save(tmp_path / "leaderboards.json", content), choices=Choices())
    assert cells == {("a", "x"): 1, ("a", "y"): 0, ("c/d", "x"): 0}
    assert told.outcomes == {"unscored": 1}
    assert [run.task for run in told.runs] == ["Verified"] * 3
    assert [run.partial for run in told.runs] == ["", "no results of instances", ""]
    assert told.runs[2].time == "2025-11-23T22:30:00.000000+00:00"
    assert told.runs[0].time == "2025-11-24T00:00:00.000000+00:00"


def test_details_that_are_not_those_of_the_count(tmp_path, of):
    results = {"x": True, "y": False}
    content = leaderboards(
        A=[submission("a", results, resolved=50.4), submission("b", results, resolved=99)]
    )
    cells, _, told = of(save(tmp_path / "leaderboards.json", content))
    assert len(cells) == 4
    assert [run.partial for run in told.runs] == [
        "",
        "50.0% of its instances are resolved, 99.0% by its own count",
    ]


def test_one_of_several_leaderboards_is_chosen(tmp_path, of):
    content = leaderboards(
        A=[submission("a", {"x": True, "y": False})], B=[submission("b", {"x": False, "y": True})]
    )
    path = save(tmp_path / "leaderboards.json", content)
    with pytest.raises(InputError, match="several splits: 'A', 'B'; choose one with --split"):
        read(path)
    cells, responses, _ = of(path, choices=Choices(split="B"))
    assert cells == {("b", "x"): 0, ("b", "y"): 1}
    assert list(responses.domains) == ["B"]
    content["leaderboards"][0]["results"][0]["date"] = "soon"
    with pytest.raises(
        InputError, match=r"leaderboards\.json: date of 'a' is 'soon', expected a date"
    ):
        read(save(path, content), choices=Choices(split="A"))


def test_a_report_and_a_leaderboard_are_of_the_same_items(tmp_path, cells_of):
    board = save(
        tmp_path / "leaderboards.json",
        leaderboards(Verified=[submission("a", {"x": True, "y": False})]),
    )
    one = save(tmp_path / "m.run.json", {"resolved_ids": ["y"], "unresolved_ids": ["x"]})
    responses, _ = ingest([board, one], choices=NAMED)
    assert cells_of(responses) == {
        ("a", "Verified", "x"): 1,
        ("a", "Verified", "y"): 0,
        ("m", "Verified", "x"): 0,
        ("m", "Verified", "y"): 1,
    }


def test_reports_of_single_instances_lie_beside(tmp_path):
    save(tmp_path / "m.run.json", report({"resolved": 1, "unresolved": 1}))
    (tmp_path / "x").mkdir()
    one = {"x": {"patch_is_None": False, "resolved": True}}
    beside = save(tmp_path / "x" / "report.json", one)
    _, told = read(tmp_path)
    assert told.companions == (str(beside),)


def test_elsewhere(tmp_path, place, upload, same):
    path = save(tmp_path / "m.run.json", report(COUNTS))
    upload(place)
    same(read(path)[0], read(f"{place}/m.run.json")[0])


@pytest.mark.data
@pytest.mark.parametrize("board", ["Verified", "bash-only"])
def test_the_leaderboards_of_the_site(data, cells_of, board):
    path = data / "native" / "swebench" / "leaderboards_724fb0e5.json.gz"
    with gzip.open(path) as file:
        (raw,) = [each for each in json.load(file)["leaderboards"] if each["name"] == board]
    expected = {
        (each["name"], board, item): int(told["resolved"])
        for each in raw["results"]
        for item, told in (each.get("per_instance_details") or {}).items()
    }
    responses, report = ingest([path], choices=Choices(split=board))
    assert cells_of(responses) == expected
    assert (len(expected), sum(expected.values())) == (12_500, 6532)
    assert len(report.runs) == len(raw["results"])
    (apart,) = [run for run in report.runs if run.partial and run.records]
    assert apart.model.endswith("Claude 3.7 Sonnet (20250219)")
    assert apart.partial == "10.2% of its instances are resolved, 52.8% by its own count"


@pytest.mark.data
def test_a_list_of_who_resolved_what_is_refused(data):
    path = data / "native" / "swebench" / "resolved_submissions.json.gz"
    with pytest.raises(InputError, match="does not tell who failed at it: leave the file out"):
        ingest([path])
