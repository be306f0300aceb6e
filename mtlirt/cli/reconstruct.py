"""``mtlirt reconstruct``: full scores told from answers to a sparse benchmark, to a file."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

import typer

from mtlirt.cli.output import TABLE_FORMATS, encoded, print_json, print_table
from mtlirt.cli.stderr import warn


def reconstruct(
    store: Annotated[
        str,
        typer.Argument(
            metavar="STORE", help="A response store: URL or URL@VERSION.", show_default=False
        ),
    ],
    distilled: Annotated[
        str,
        typer.Option(
            metavar="URL",
            help="The distilled benchmark: URL or URL@VERSION, else the latest.",
            show_default=False,
        ),
    ],
    out: Annotated[
        Path,
        typer.Option(
            metavar="FILE", help="Table of the scores: .parquet or .csv.", show_default=False
        ),
    ],
    level: Annotated[float, typer.Option(help="Of the intervals.")] = 0.95,
    overwrite: Annotated[
        bool, typer.Option("--overwrite", help="Replace the file if it exists.")
    ] = False,
    top: Annotated[int, typer.Option(min=1, help="Models to print.")] = 20,
    as_json: Annotated[bool, typer.Option("--json", help="Print the result as JSON.")] = False,
) -> None:
    """Tell models' full scores from their answers to a distilled benchmark."""
    from mtlirt.storage.outfile import check_free, write_file

    check_free(out, TABLE_FORMATS, overwrite)
    from mtlirt.distill.predict import reconstruct as tell
    from mtlirt.distill.reconstruction.benchmarks import GRAND_MEAN
    from mtlirt.distill.stored import read_distilled
    from mtlirt.responses.store import open_responses
    from mtlirt.storage.root import open_version

    root, manifest = open_version(distilled, kind="distilled")
    benchmark = read_distilled(root, manifest)
    scores = tell(benchmark, open_responses(store), level=level)
    write_file(out, encoded(scores.reset_index(), out.suffix), overwrite)
    means = scores[scores.index.get_level_values("target") == GRAND_MEAN].droplevel("target")
    empty = int(means["score"].isna().sum())
    beyond = int(means["extrapolated"][means["score"].notna()].sum())
    if beyond:
        warn(
            f"{beyond:,} models are beyond those that the benchmark was distilled with, or "
            "answered less: their intervals are wider, and flagged as extrapolated"
        )
    best = means.dropna().sort_values("score", ascending=False, kind="stable").head(top)
    points = (100.0 * best[["score", "lower", "upper"]]).round(2).to_numpy().tolist()
    answered = best["answered"].tolist()
    rows = [(m, *row, n) for m, row, n in zip(best.index, points, answered, strict=True)]
    counts = {"models": len(means), "models_without_data": empty, "extrapolated": beyond}
    asked = len(benchmark.chosen)
    if as_json:
        columns = "model_id", "score", "lower", "upper", "answered"
        board = [dict(zip(columns, row, strict=True)) for row in rows]
        places = {"store": store, "distilled": root.url, "version": manifest.version}
        told = {"out": str(out), "items": asked, "level": level}
        print_json(places | told | counts | {GRAND_MEAN: board})
        return
    print(f"{GRAND_MEAN} in points, with {level:.0%} intervals")
    print_table(("model_id", "score", "lower", "upper", "answered"), rows)
    print(
        f"{len(means):,} models ({empty:,} without data) by {asked:,} items of version "
        f"{manifest.version} of {root.url}"
    )
    print(f"wrote {out}")
