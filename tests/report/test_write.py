"""A report as a file."""

import pytest

import mtlirt
from mtlirt.errors import InputError


def test_a_report_appears_whole_and_replaces_on_request_alone(make_fit, tmp_path, monkeypatch):
    out = tmp_path / "r.html"
    mtlirt.write_report(make_fit(), out)
    text = out.read_text(encoding="utf-8")
    assert text.startswith("<!DOCTYPE html>")
    with pytest.raises(InputError, match="exists already"):
        mtlirt.write_report(make_fit(seed=1), str(out))
    assert out.read_text(encoding="utf-8") == text
    mtlirt.write_report(make_fit(seed=1), out, overwrite=True)
    assert out.read_text(encoding="utf-8") != text
    assert list(tmp_path.iterdir()) == [out]


def test_what_cannot_be_written_leaves_nothing(make_fit, tmp_path):
    for out, said in (
        ("r.txt", "ends in .html or .htm"),
        ("no/r.html", "no folder"),
        ("s3://bucket/r.html", "not to a URL"),
    ):
        with pytest.raises(InputError, match=said):
            mtlirt.write_report(make_fit(), tmp_path / out if "://" not in out else out)
    (tmp_path / "d.html").mkdir()
    with pytest.raises(InputError, match="is a folder"):
        mtlirt.write_report(make_fit(), tmp_path / "d.html", overwrite=True)
    out = tmp_path / "r.html"
    with pytest.raises(InputError, match="expected a table"):
        mtlirt.write_report(make_fit(), out, findings=[])
    assert not out.exists()
