"""``mtlirt score``: models scored with the items of a snapshot, to a file."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated, Literal

import typer

from mtlirt.cli.board import board_records, print_board
from mtlirt.cli.output import TABLE_FORMATS, encoded, print_json
from mtlirt.cli.stderr import warn


def score(
    store: Annotated[
        str,
        typer.Argument(
            metavar="STORE", help="A response store: URL or URL@VERSION.", show_default=False
        ),
    ],
    snapshots: Annotated[
        str,
        typer.Option(
            metavar="URL",
            help="The snapshot: URL or URL@VERSION, else the latest.",
            show_default=False,
        ),
    ],
    out: Annotated[
        Path,
        typer.Option(
            metavar="FILE", help="Table of the scores: .parquet or .csv.", show_default=False
        ),
    ],
    estimate: Annotated[
        Literal["eap", "map"], typer.Option(help="eap: posterior means; map: posterior modes.")
    ] = "eap",
    overwrite: Annotated[
        bool, typer.Option("--overwrite", help="Replace the file if it exists.")
    ] = False,
    top: Annotated[int, typer.Option(min=1, help="Models to print.")] = 20,
    as_json: Annotated[bool, typer.Option("--json", help="Print the result as JSON.")] = False,
) -> None:
    """Score models with the items of a snapshot."""
    from mtlirt.storage.outfile import check_free, write_file

    check_free(out, TABLE_FORMATS, overwrite)
    from mtlirt.engine.fit import score as score_responses
    from mtlirt.responses.store import open_responses
    from mtlirt.scores.leaderboard import leaderboard
    from mtlirt.scores.tidy import tidy_scores
    from mtlirt.snapshots.load import read_fit
    from mtlirt.storage.root import open_version

    root, manifest = open_version(snapshots, kind="snapshot")
    fitted = read_fit(root, manifest)
    scores = score_responses(fitted, open_responses(store), estimate=estimate)
    write_file(out, encoded(tidy_scores(scores), out.suffix), overwrite)
    info, empty = dict(scores.info), int(scores.models["overall"].isna().sum())
    if not info["settled"]:
        warn("the scores did not settle: domains that answer against each other; use with care")
    board = leaderboard(scores)
    if as_json:
        counts = {"models": len(scores.models), "models_without_data": empty}
        places = {"store": store, "snapshots": root.url, "version": manifest.version}
        records = {"leaderboard": board_records(board, top)}
        print_json(places | {"out": str(out)} | counts | info | records)
        return
    print_board(board, top)
    print(
        f"{len(scores.models):,} models ({empty:,} without data) scored with version "
        f"{manifest.version} of {root.url}"
    )
    print(
        f"{info['items_used']:,} items used, {info['items_unknown']:,} unknown to the snapshot, "
        f"{info['items_not_asked']:,} of its items not asked"
    )
    print(f"wrote {out}")
