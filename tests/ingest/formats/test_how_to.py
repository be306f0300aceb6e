"""The page on formats: its importer, installed as a package of its own, reads its example."""

import re
import sys
import tomllib
from pathlib import Path

import pytest

from mtlirt.errors import InputError
from mtlirt.ingest import ingest
from mtlirt.ingest.registry import GROUP, formats

PAGE = Path(__file__).parents[3] / "docs" / "formats.md"


def blocks():
    """The code below "Add a format", by language."""
    text = PAGE.read_text(encoding="utf-8").split("## Add a format")[1]
    found = re.findall(r"```(\w+)\n(.*?)```", text, re.DOTALL)
    assert len(found) == len(dict(found))
    return dict(found)


@pytest.fixture
def installed(tmp_path, monkeypatch):
    """The package of the page, as an installer lays it out."""
    code = blocks()
    project = tomllib.loads(code["toml"])["project"]
    ((name, target),) = project["entry-points"][GROUP].items()
    site = tmp_path / "site"
    info = site / f"mtlirt_quiz-{project['version']}.dist-info"
    info.mkdir(parents=True)
    module = target.split(":")[0]
    (site / f"{module}.py").write_text(code["python"])
    (info / "METADATA").write_text(f"Name: {project['name']}\nVersion: {project['version']}\n")
    (info / "entry_points.txt").write_text(f"[{GROUP}]\n{name} = {target}\n")
    monkeypatch.syspath_prepend(site)
    formats.cache_clear()
    yield name
    formats.cache_clear()
    sys.modules.pop(module, None)


def test_the_importer_of_the_page_is_short():
    code = blocks()
    assert len((code["toml"] + code["python"]).splitlines()) < 60


def test_the_importer_of_the_page_is_found_and_reads(tmp_path, installed, cells_of):
    assert installed in formats()
    folder = tmp_path / "logs"
    folder.mkdir()
    example = blocks()["json"]
    (folder / "a.quiz.jsonl").write_text(example)
    (folder / "b.quiz.jsonl").write_text(example.replace("org/m", "n").replace("true", "false"))
    (folder / "notes.txt").write_text("-")
    responses, report = ingest([folder])
    assert cells_of(responses) == {
        ("org/m", "capitals", "q1 version=2"): 1,
        ("org/m", "capitals", "q2 version=2"): 0,
        ("n", "capitals", "q1 version=2"): 0,
        ("n", "capitals", "q2 version=2"): 0,
    }
    assert list(responses.item_ids("capitals")) == [f"q{k} version=2" for k in (1, 2, 3)]
    assert report.outcomes == {"errored": 2}
    assert report.missing == 2
    assert report.runs[0].time == "2024-06-01T21:45:00.000000+00:00"


@pytest.mark.parametrize(
    ("old", "new", "said"),
    [
        ('"org/m"', "7", "line 1: expected model, str"),
        ('"q2"', "2", "line 3: expected question, str"),
        ('"q2"', '"q\n2"', "line 3: broken JSON"),
    ],
)
def test_the_importer_of_the_page_names_what_is_broken(tmp_path, installed, old, new, said):
    path = tmp_path / "a.quiz.jsonl"
    path.write_text(blocks()["json"].replace(old, new))
    with pytest.raises(InputError, match=rf"a\.quiz\.jsonl {said}"):
        ingest([path])


def test_all_formats_are_on_the_page():
    table = PAGE.read_text(encoding="utf-8").split("## Add a format")[0]
    listed = re.findall(r"^\| `([\w-]+)` \|", table, re.MULTILINE)
    project = tomllib.loads((PAGE.parents[1] / "pyproject.toml").read_text())["project"]
    assert sorted(listed) == sorted(project["entry-points"][GROUP])
