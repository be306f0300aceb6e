"""Leaderboards of awkward names."""

import pandas as pd

from mtlirt.cli.board import board_records, print_board, print_markdown


def board(models, domains):
    return pd.DataFrame(
        {
            "rank": pd.array([1, None], "Int64"),
            "rank_lower": pd.array([1, None], "Int64"),
            "rank_upper": pd.array([3, None], "Int64"),
            "overall": [0.5, float("nan")],
            "lower": [0.25, float("nan")],
            "upper": [0.75, float("nan")],
            "answered": [1200, 0],
            "known": 3000,
            "domains": [1, 0],
            **{f"trait_{name}": [-1.0, float("nan")] for name in domains},
            **{f"borrowed_{name}": False for name in domains},
        },
        index=pd.Index(models, name="model_id"),
    )


def test_names_stay_on_their_line(capsys):
    print_board(board(["a\nb", "模型"], ["law"]), None)
    lines = capsys.readouterr().out.splitlines()
    assert lines[1].split()[1:] == [
        "1-3",
        r"a\nb",
        "0.50",
        "[0.25,",
        "0.75]",
        "1,200/3,000",
        "-1.00",
    ]
    assert len(lines) == 3


def test_markdown_cells_stay_cells(capsys):
    print_markdown(board(["a|b", "*c*\n_d_"], ["<x>"]), None)
    lines = capsys.readouterr().out.splitlines()
    assert lines[0] == r"| rank | ranks | model | overall | answered | \<x\> |"
    assert lines[2] == r"| 1 | 1-3 | a\|b | 0.50 \[0.25, 0.75\] | 1,200/3,000 | -1.00 |"
    assert lines[3] == r"| - |  | \*c\* \_d\_ | no data | 0/3,000 | - |"
    assert len(lines) == 4


def test_domains_named_like_columns(capsys):
    print_board(board(["a", "b"], ["rank", "model"]), 1)
    assert capsys.readouterr().out.splitlines()[0].split()[-2:] == ["rank", "model"]


def test_records_are_plain_values():
    first, second = board_records(board(["a", "b"], ["x"]), None)
    assert {type(value) for value in first.values()} == {str, int, float, bool}
    assert [second[name] for name in ("rank", "overall", "trait_x")] == [None] * 3
