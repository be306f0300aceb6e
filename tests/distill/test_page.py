"""The page on adaptive tests: its code runs as it stands."""

import re
from pathlib import Path

import pytest

import mtlirt

PAGE = Path(__file__).parents[2] / "docs" / "adaptive.md"


def test_the_code_of_the_page_drives_a_test(board, key, tmp_path, monkeypatch, capsys):
    (code,) = re.findall(r"```python\n(.*?)```", PAGE.read_text(encoding="utf-8"), re.DOTALL)
    mtlirt.publish(board.fit, tmp_path / "snapshots")
    monkeypatch.chdir(tmp_path)
    asked = []

    def grade(domain, item):
        asked.append((domain, item))
        return key[domain, item]

    names = {"grade": grade}
    exec(code, names)
    test = names["test"]
    assert test.reason == "standard error"
    assert test.scores["sd"].mean() <= 0.3
    assert len(asked) == test.scores["answered"].sum()
    printed = capsys.readouterr().out
    assert printed.startswith("standard error\n")
    assert f"sd={test.overall.sd!r}" in printed
    assert test.overall.mean == pytest.approx(test.scores["mean"].mean())
