"""How verbs show a leaderboard."""

from __future__ import annotations

import re
import shutil
from collections.abc import Sequence
from dataclasses import dataclass
from math import isnan
from typing import TYPE_CHECKING, Any

from mtlirt.cli.output import print_table

if TYPE_CHECKING:
    import pandas as pd

BORROWED = "* borrowed: no response in that domain, the score comes from the model's others"
TABLE_EDGE, TABLE_GAP = 1, 3
"""What a drawn table adds to the width of its cells, in all and for each column."""


@dataclass(frozen=True)
class Column:
    """A column as text.

    Attributes
    ----------
    name
        Its heading.
    cells
        One a model.
    borrowed
        Whether any of them is marked as borrowed.
    """

    name: str
    cells: Sequence[str]
    borrowed: bool = False


def print_board(board: pd.DataFrame, top: int | None, left_out: int = 0) -> None:
    """Print the top of a leaderboard with as many domains as the terminal is wide.

    Parameters
    ----------
    left_out
        Models that the fit left out, if any: then those are the ones without a score.
    """
    shown = board.iloc[:top]
    first, domains = _model_columns(shown, left_out), _domain_columns(shown)
    taken = domains[: _fitting(first, domains)]
    columns = [*first, *taken]
    cells = [column.cells for column in columns]
    print_table([column.name for column in columns], list(zip(*cells, strict=True)))
    if any(column.borrowed for column in taken):
        print(BORROWED)
    if "component" in board:
        print(_apart(board))
    if left_out:
        print(_unranked(board, left_out))
    if len(taken) < len(domains):
        print(
            f"left out for their width: {len(domains) - len(taken):,} of {len(domains):,} domains"
        )
    if len(shown) < len(board):
        print(f"top {len(shown):,} of {len(board):,} models")


def print_markdown(board: pd.DataFrame, top: int | None, left_out: int = 0) -> None:
    """Print the top of a leaderboard as a Markdown table with all domains."""
    shown = board.iloc[:top]
    columns = [*_model_columns(shown, left_out), *_domain_columns(shown)]
    lines = [[column.name for column in columns], ["---"] * len(columns)]
    for line in [*lines, *zip(*(column.cells for column in columns), strict=True)]:
        print("|", " | ".join(map(_markdown, line)), "|")
    if any(column.borrowed for column in columns):
        print(f"\n{_markdown(BORROWED)}")
    if "component" in board:
        print(f"\n{_markdown(_apart(board))}")
    if left_out:
        print(f"\n{_markdown(_unranked(board, left_out))}")


def board_records(board: pd.DataFrame, top: int | None) -> list[dict[str, Any]]:
    """The top of a leaderboard for JSON: a record a model by the columns of `leaderboard`."""
    rows = board.iloc[:top].reset_index().astype(object)
    values = rows.where(rows.notna(), None).to_numpy()
    return [dict(zip(rows.columns, row, strict=True)) for row in values]


def _model_columns(board: pd.DataFrame, left_out: int) -> list[Column]:
    """Rank with its interval, component, id, score with its interval, coverage."""
    import pandas as pd

    ranks = board["rank"].astype("string").fillna("-").tolist()
    width = max(map(len, ranks), default=0)
    between = [
        "" if low is pd.NA else f"{low}-{high}"
        for low, high in zip(board["rank_lower"], board["rank_upper"], strict=True)
    ]
    components = [
        "-" if component is pd.NA else str(component) for component in board.get("component", [])
    ]
    name = str(board.columns[list(board.columns).index("lower") - 1])
    absent = "left out" if left_out else "no data"
    scores = [
        absent if isnan(mean) else _score(mean, lower, upper)
        for mean, lower, upper in zip(board[name], board["lower"], board["upper"], strict=True)
    ]
    answered = [
        "-" if left_out and not cells else f"{cells:,}/{known:,}"
        for cells, known in zip(board["answered"], board["known"], strict=True)
    ]
    return [
        Column("rank", [rank.rjust(width) for rank in ranks]),
        *([Column("ranks", between)] if any(between) else []),
        *([Column("component", components)] if "component" in board else []),
        Column("model", [str(model) for model in board.index]),
        Column(name, scores),
        Column("answered", answered),
    ]


def _apart(board: pd.DataFrame) -> str:
    """That the models do not hang together."""
    return (
        f"{board['component'].nunique():,} components that share no item, directly or through a "
        "chain: models of different ones are not ranked against each other"
    )


def _unranked(board: pd.DataFrame, left_out: int) -> str:
    """That the fit left models out."""
    return f"{left_out:,} of {len(board):,} models lack a domain: left out of the fit, not ranked"


def _score(mean: float, lower: float, upper: float) -> str:
    """A score with its interval, if it has one."""
    return f"{mean:.2f}" if isnan(lower) else f"{mean:.2f} [{lower:.2f}, {upper:.2f}]"


def _domain_columns(board: pd.DataFrame) -> list[Column]:
    """The trait in each domain, marked where it is borrowed."""
    prefix = "trait_"
    names = [name.removeprefix(prefix) for name in board.columns if name.startswith(prefix)]
    columns = []
    for name in names:
        traits, borrowed = board[f"{prefix}{name}"], board[f"borrowed_{name}"]
        cells = [
            "    -" if isnan(mean) else f"{mean:5.2f}{'*' if other else ''}"
            for mean, other in zip(traits, borrowed, strict=True)
        ]
        columns.append(Column(name, cells, bool(borrowed.any())))
    return columns


def _fitting(first: Sequence[Column], domains: Sequence[Column]) -> int:
    """How many domains fit beside the first columns."""
    room = shutil.get_terminal_size((140, 24)).columns - TABLE_EDGE - sum(map(_width, first))
    for count, column in enumerate(domains):
        room -= _width(column)
        if room < 0:
            return count
    return len(domains)


def _width(column: Column) -> int:
    from rich.cells import cell_len

    return max(map(cell_len, [column.name, *column.cells])) + TABLE_GAP


def _markdown(cell: str) -> str:
    """A cell that no letter of it ends or formats."""
    return re.sub(r"([\\`*_\[\]<>|])", r"\\\1", " ".join(cell.split()))
