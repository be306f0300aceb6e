"""Tables as text."""

import sys

from mtlirt.cli.output import print_table

ROWS = [("\u00e9 b", 1234, 0.5), ("[red]\n", 5, 10.25)]


def test_plain_columns(capsys):
    print_table(("name", "count", "share"), ROWS)
    assert capsys.readouterr().out.splitlines() == [
        "name     count  share",
        "\u00e9 b      1,234    0.5",
        "[red]\\n      5  10.25",
    ]


def test_a_drawn_table(capsys, monkeypatch):
    monkeypatch.setattr(sys.stdout, "isatty", lambda: True)
    print_table(("name", "count", "share"), ROWS)
    assert "[red]\\n" in capsys.readouterr().out


def test_no_rows(capsys):
    print_table(("name", "count"), [])
    assert capsys.readouterr().out == "name  count\n"
