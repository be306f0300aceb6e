"""BFCL: only failures are listed."""

import gzip
import json

import pytest

from mtlirt.errors import InputError
from mtlirt.ingest import ingest
from mtlirt.ingest.runs import Choices

MODELS = {"a_b": "a/b", "c": "c"}


def failure(number, model="a/b", category="java", **fields):
    return {
        "id": number,
        "model_name": model,
        "test_category": category,
        "valid": False,
        "prompt": {"id": f"{category}_{number - 1}"} if isinstance(number, int) else {},
        **fields,
    }


def save(path, total, failures, **header):
    counts = {"accuracy": 0, "correct_count": total - len(failures), "total_count": total}
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_text("\n".join(map(json.dumps, [counts | header, *failures])))
    return path


@pytest.fixture
def read(cells_of):
    def read(*paths, **options):
        responses, report = ingest(paths, poor_domains="keep", **options)
        return cells_of(responses), report

    return read


def test_the_rest_passed(tmp_path, read):
    path = save(tmp_path / "java_score.json", 4, [failure(2), failure(4)])
    cells, report = read(path)
    assert cells == {("a/b", "java", str(k)): k % 2 for k in (1, 2, 3, 4)}
    assert report.records == 4


def test_a_file_without_failures_has_the_model_of_its_neighbours(tmp_path, read):
    for folder, model in MODELS.items():
        save(tmp_path / folder / "java_score.json", 2, [failure(2, model)])
        save(tmp_path / folder / "rest_score.json", 2, [])
    cells, _ = read(tmp_path)
    assert cells == {
        (model, domain, item): int(domain == "rest" or item == "1")
        for model in MODELS.values()
        for domain in ("java", "rest")
        for item in "12"
    }


def test_a_model_that_nothing_names(tmp_path, read):
    path = save(tmp_path / "a_b" / "rest_score.json", 2, [])
    with pytest.raises(InputError, match=r"rest_score\.json: it does not name its model.*--model"):
        read(path)
    cells, _ = read(path, choices=Choices(model="a/b"))
    assert cells == {("a/b", "rest", "1"): 1, ("a/b", "rest", "2"): 1}
    save(tmp_path / "a_b" / "x_score.json", 2, [failure(1, "m")])
    save(tmp_path / "a_b" / "y_score.json", 2, [failure(1, "n")])
    with pytest.raises(
        InputError,
        match=r"rest_score\.json: it does not name its model .*: x_score\.json 'm', y_score\.json "
        r"'n'; name it with --model",
    ):
        read(path)
    assert {model for model, *_ in read(path, choices=Choices(model="a/b"))[0]} == {"a/b"}


def test_a_broken_neighbour_is_named_beside_the_file_that_needs_it(tmp_path, read):
    path = save(tmp_path / "rest_score.json", 2, [])
    broken = save(tmp_path / "z_score.json", 2, [{"id": 1, "model_name": 7}])
    with pytest.raises(
        InputError, match=rf"{path}: .*one beside it is broken: {broken} line 2: Expected `str"
    ):
        read(path)


def test_named_entries_are_read_with_their_answers(tmp_path, read):
    names = ["live_simple_0-0-0", "live_simple_1-1-0", "live_simple_7-3-1"]
    failures = [failure(names[1], category="live_simple")]
    path = tmp_path / "score" / "a_b" / "live" / "BFCL_v4_live_simple_score.json"
    save(path, 3, failures)
    with pytest.raises(InputError, match="lists failures only, so which of 3 passed cannot"):
        read(path)
    answers = tmp_path / "result" / "a_b" / "live" / "BFCL_v4_live_simple_result.json"
    answers.parent.mkdir(parents=True)
    answers.write_text("".join(json.dumps({"id": n, "result": "x"}) + "\n" for n in names))
    expected = {
        ("a/b", "live_simple", f"{name} version=v4"): int(k != 1) for k, name in enumerate(names)
    }
    assert read(path)[0] == expected
    cells, report = read(tmp_path)
    assert cells == expected
    assert report.companions == (str(answers),)
    save(path, 2, failures)
    with pytest.raises(InputError, match=r"total_count is 2, but .*_result\.json has 3 ids"):
        read(path)
    save(path, 3, [failure("live_simple_9", category="live_simple")])
    with pytest.raises(InputError, match="line 2: id 'live_simple_9' is none of the 3 that were"):
        read(path)


@pytest.mark.parametrize(
    ("total", "failures", "header", "said"),
    [
        (4, [failure(2)], {"correct_count": 4}, "4 of 4 passed, but it lists 1 failures"),
        (4, [failure(5)], {}, "line 2: id '5' is none of the 4 that were scored"),
        (4, [failure(0)], {}, "line 2: id '0' is none of the 4"),
        (4, [failure(2), failure(2)], {}, "line 3: id '2' again"),
        (4, [failure(2, valid=True)], {}, "line 2: valid is true, expected failures only"),
        (
            4,
            [failure(2, prompt={"id": "java_7"})],
            {},
            "line 2: id is 2, but the prompt is 'java_7': only some were scored",
        ),
        (4, [failure(2), failure(3, "n")], {}, "line 3: model_name is 'n', but 'a/b' in the lines"),
        (
            4,
            [failure(2), failure(3, category="x")],
            {},
            "line 3: test_category is 'x', but 'java' in the lines before",
        ),
        (4, [failure("java_1")], {}, "which of 4 passed cannot be known without the answers"),
        (4, [{"valid": False}], {}, "line 2: .*missing required field `id`"),
        (4, [], {"total_count": "x"}, r"line 1: Expected `int`, got `str`"),
    ],
)
def test_what_is_refused(tmp_path, read, total, failures, header, said):
    path = save(tmp_path / "java_score.json", total, failures, **header)
    with pytest.raises(InputError, match=said):
        read(path, choices=Choices(model="m"))


def test_elsewhere(tmp_path, place, upload, same):
    for folder, model in MODELS.items():
        save(tmp_path / folder / "java_score.json", 3, [failure(2, model)])
        save(tmp_path / folder / "rest_score.json", 3, [])
    save(tmp_path / "score" / "c" / "BFCL_v3_java_score.json", 1, [failure("java_0", "c")])
    answers = tmp_path / "result" / "c" / "BFCL_v3_java_result.json"
    answers.parent.mkdir(parents=True)
    answers.write_text('{"id": "java_0", "result": ""}\n')
    upload(place)
    same(ingest([tmp_path])[0], ingest([place])[0])


@pytest.mark.data
def test_the_published_scores_of_three_models(data, cells_of):
    folder = data / "native" / "bfcl_score"
    expected, passed = {}, 0
    for path in sorted(folder.glob("*/*")):
        with gzip.open(path) if path.suffix == ".gz" else path.open("rb") as file:
            counts, *failures = [json.loads(line) for line in file if line.strip()]
        passed += counts["correct_count"]
        category = path.name.split("_score")[0]
        for number in range(1, counts["total_count"] + 1):
            expected[path.parent.name, category, str(number)] = 1
        for each in failures:
            expected[path.parent.name, category, str(each["id"])] = 0
    responses, report = ingest([folder])
    assert cells_of(responses) == expected
    assert sum(expected.values()) == passed
    assert (responses.shape, report.cells, len(report.runs)) == ((3, 1700), 5100, 36)
