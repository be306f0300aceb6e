"""How well traits from a few items of each domain predict its other items.

python jobs/held_out_study.py STORE --out FOLDER
"""

from __future__ import annotations

import sys
from pathlib import Path
from typing import Annotated, Literal

import typer

from mtlirt.cli.program import run_program, whole_numbers


def main(
    store: Annotated[
        str, typer.Argument(metavar="STORE", help="A response store.", show_default=False)
    ],
    out: Annotated[
        Path,
        typer.Option(metavar="FOLDER", help="A new folder for the results.", show_default=False),
    ],
    models: Annotated[
        Literal["complete", "partial"],
        typer.Option(help="Models with every item; or others with the anchor and two domains."),
    ] = "complete",
    anchor: Annotated[
        str | None,
        typer.Option(help="With partial: a domain that the models took.", show_default="mmlu"),
    ] = None,
    items: Annotated[str, typer.Option(metavar="N,...", help="Items a domain.")] = "10,30",
    splits: Annotated[int, typer.Option(min=1, help="Random draws of items.")] = 20,
    seed: Annotated[int, typer.Option(min=0, help="Equal seeds give equal draws.")] = 0,
    methods: Annotated[
        str, typer.Option(metavar="NAME,...", help="all, or names of methods, by commas.")
    ] = "all",
    workers: Annotated[
        int | None, typer.Option(help="Worker processes of this machine.", show_default=False)
    ] = None,
) -> None:
    """Fit every method to random items of each domain; score it on the remaining ones."""
    from mtlirt.cluster.launch import ClusterOptions, open_client
    from mtlirt.responses.store import open_responses
    from mtlirt.storage.outfile import new_folder
    from mtlirt.studies.held_out import (
        HeldOutOptions,
        held_out_study,
        held_out_table,
    )

    counts = whole_numbers("items", items)
    asked = None if methods == "all" else tuple(methods.split(","))
    options = HeldOutOptions(counts, splits, seed, models, anchor, asked)
    responses = open_responses(store)
    threads = None if workers is None else 1
    with new_folder(out), open_client(ClusterOptions(None, workers, threads)) as client:
        results = held_out_study(responses, options, client)
    table = held_out_table(results, list(responses.domains))
    results.to_parquet(out / "results.parquet", index=False)
    (out / "table.md").write_text(table)
    print(table, end="")


def run(arguments: list[str]) -> int:
    """Run the study on some arguments; the exit status, see `run_program`."""
    return run_program(main, "held_out_study", arguments)


if __name__ == "__main__":
    sys.exit(run(sys.argv[1:]))
