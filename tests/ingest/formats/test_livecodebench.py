"""LiveCodeBench: percentages, two metrics, test cases without names."""

import gzip
import json

import pytest

from mtlirt.errors import InputError
from mtlirt.ingest import ingest
from mtlirt.ingest.runs import Choices


def entry(model, question, **fields):
    return {"model": model, "question_id": question, "date": 1683504000000, **fields}


def save(path, entries):
    path.write_text(json.dumps({"performances": entries, "models": [], "date_marks": []}))
    return path


def test_percentages_are_fractions(tmp_path, cells_of):
    entries = [
        entry("a", "q", **{"pass@1": 30.0}),
        entry("a", "r", **{"pass@1": 100.0}),
        entry("b", "q", **{"pass@1": -1.0}),
        entry("b", "r", **{"pass@1": 0}),
    ]
    path = save(tmp_path / "performances_generation.json", entries)
    with pytest.raises(InputError, match=r"entry 1: model 'a', item 'q .*correct is 0\.3, a fract"):
        ingest([path])
    responses, report = ingest([path], fractions="keep")
    domain = "livecodebench_generation"
    assert cells_of(responses) == {
        ("a", domain, "q metric=pass@1"): pytest.approx(0.3),
        ("a", domain, "r metric=pass@1"): 1,
        ("b", domain, "r metric=pass@1"): 0,
    }
    assert report.outcomes == {"unscored": 1}
    assert cells_of(ingest([path], threshold=0.3)[0])["a", domain, "q metric=pass@1"] == 1


def test_samples_have_names_and_two_metrics(tmp_path, cells_of):
    scores = {"Pass@1": 0.0, "Pass@1-COT": 100.0}
    entries = [entry(m, 7, sample_id=f"s{k}", **scores) for m in "ab" for k in range(2)]
    path = save(tmp_path / "performances_execution.json", entries)
    with pytest.raises(InputError, match=r"several metrics: 'Pass@1', 'Pass@1-COT'; .*--metric"):
        ingest([path])
    for metric, value in (("Pass@1", 0), ("Pass@1-COT", 1)):
        responses, _ = ingest([path], choices=Choices(metric=metric))
        domain = "livecodebench_execution"
        assert cells_of(responses) == {
            (m, domain, f"s{k} metric={metric}"): value for m in "ab" for k in range(2)
        }


def test_test_cases_are_told_apart_by_their_order(tmp_path, cells_of):
    values = {"a": [100, 0, 0], "b": [0, 100, 100]}
    entries = [
        entry(model, question, **{"pass@1": value})
        for model, row in values.items()
        for question, value in zip(["q", "r", "q"], row, strict=True)
    ]
    path = save(tmp_path / "performances_testgen.json", entries)
    responses, _ = ingest([path], choices=Choices())
    cells = {(m, item.split(" ")[0]): value for (m, _, item), value in cells_of(responses).items()}
    assert cells == {
        ("a", "q/1"): 1,
        ("a", "r"): 0,
        ("a", "q/2"): 0,
        ("b", "q/1"): 0,
        ("b", "r"): 1,
        ("b", "q/2"): 1,
    }
    save(path, entries[:-1])
    with pytest.raises(InputError, match="question 'q' has 2 entries of 'a' and 1 of 'b': nothing"):
        ingest([path])


@pytest.mark.parametrize(
    ("entries", "said"),
    [
        ([entry("a", "q", **{"pass@1": 101})], "entry 1: it scored 101, expected a percentage"),
        ([entry("a", "q", **{"pass@1": "x"})], "entry 1: it scored 'x', expected a percentage"),
        ([entry("a", "q", **{"pass@1": True})], "entry 1: it scored True, expected a percentage"),
        ([entry("a", "q")], "it has no metric"),
        ([entry("a", "q", **{"pass@1": 1}), entry("a", "r")], "entry 2: no pass@1"),
        ([{"question_id": "q", "pass@1": 1}], "entry 1: .*missing required field `model`"),
        ([], "no responses"),
        ([7], "Expected `object`, got `int`"),
    ],
)
def test_what_is_refused(tmp_path, entries, said):
    path = save(tmp_path / "performances_generation.json", entries)
    with pytest.raises(InputError, match=said):
        ingest([path], fractions="keep")


def test_elsewhere(tmp_path, place, upload, same):
    entries = [entry(m, q, **{"pass@1": 100}) for m in "ab" for q in "qr"]
    path = save(tmp_path / "performances_x.json", entries)
    upload(place)
    same(ingest([path])[0], ingest([f"{place}/performances_x.json"])[0])


@pytest.mark.data
@pytest.mark.parametrize(
    ("scenario", "metric", "counts"),
    [
        ("execution", "Pass@1", (37, 479, 17_723, 0)),
        ("execution", "Pass@1-COT", (37, 479, 14_849, 2874)),
        ("testgen", "pass@1", (37, 442, 16_354, 0)),
    ],
)
def test_the_files_of_the_site(data, cells_of, scenario, metric, counts):
    path = data / "native" / "livecodebench" / f"performances_{scenario}.json.gz"
    with gzip.open(path) as file:
        raw = [each for each in json.load(file)["performances"] if each[metric] >= 0]
    responses, report = ingest([path], fractions="keep", choices=Choices(metric=metric))
    cells = cells_of(responses)
    assert (*responses.shape, report.cells, report.missing) == counts
    assert len(raw) == len(cells)
    by_model = {}
    for each in raw:
        key = each["model"], str(each.get("sample_id") or each["question_id"])
        by_model.setdefault(key, []).append(each[metric] / 100)
    for (model, question), values in by_model.items():
        ends = [""] if len(values) == 1 else [f"/{k}" for k in range(1, len(values) + 1)]
        for end, value in zip(ends, values, strict=True):
            item = f"{question}{end} metric={metric}"
            assert cells[model, f"livecodebench_{scenario}", item] == pytest.approx(value)
