"""``mtlirt leaderboard``: the leaderboard of a snapshot."""

from __future__ import annotations

from typing import Annotated, Literal

import typer

from mtlirt.cli.board import board_records, print_board, print_markdown
from mtlirt.cli.output import print_json


def leaderboard(
    snapshot: Annotated[
        str,
        typer.Argument(
            metavar="URL",
            help="A snapshot: URL or URL@VERSION, else the latest.",
            show_default=False,
        ),
    ],
    layout: Annotated[
        Literal["table", "csv", "json", "markdown"],
        typer.Option("--format", help="csv and json hold all digits."),
    ] = "table",
    top: Annotated[
        int | None, typer.Option(min=1, help="Models to print, if not all.", show_default=False)
    ] = None,
    by: Annotated[
        str,
        typer.Option(
            metavar="SCORE",
            help="What orders models: overall, general, factor, accuracy, raw, or domain:NAME.",
        ),
    ] = "overall",
    weights: Annotated[
        Literal["equal", "items"],
        typer.Option(help="Of the domains, in overall, accuracy, raw: equal, or by their items."),
    ] = "equal",
    level: Annotated[
        float, typer.Option(help="Of the intervals of scores and ranks, between 0 and 1.")
    ] = 0.95,
    seed: Annotated[
        int | None,
        typer.Option(
            min=0,
            help="Of the orders that intervals of ranks are drawn from, if not the snapshot's.",
            show_default=False,
        ),
    ] = None,
) -> None:
    """Print the leaderboard of a snapshot."""
    from mtlirt.scores.leaderboard import leaderboard as rank_models
    from mtlirt.scores.overall import factor_share
    from mtlirt.snapshots.load import load

    fitted = load(snapshot)
    board = rank_models(fitted, by=by, weights=weights, level=level, seed=seed)
    left_out = fitted.info.get("models_left_out", 0)
    if layout == "csv":
        print(board.iloc[:top].to_csv(), end="")
    elif layout == "json":
        print_json(board_records(board, top))
    elif layout == "markdown":
        print_markdown(board, top, left_out)
    else:
        print_board(board, top, left_out)
        if by == "factor":
            share = factor_share(fitted)
            print(f"the first factor explains {share:.0%} of the variance of the traits")
        elif by == "raw":
            alike = "equally" if weights == "equal" else "by the items answered"
            print(
                f"raw: the share of right answers, domains weighed {alike}; models that lack "
                "domains or items are not comparable"
            )
