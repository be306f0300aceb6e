"""How well few items tell the full scores of benchmarks, by every method.

python jobs/sparse_study.py STORE --items 150,300 --out FOLDER
"""

from __future__ import annotations

import sys
from pathlib import Path
from typing import Annotated

import typer

from mtlirt.cli.program import run_program, whole_numbers
from mtlirt.cli.stderr import stages


def main(
    store: Annotated[
        str, typer.Argument(metavar="STORE", help="A response store.", show_default=False)
    ],
    out: Annotated[
        Path,
        typer.Option(metavar="FOLDER", help="A new folder for the results.", show_default=False),
    ],
    items: Annotated[
        str, typer.Option(metavar="N,...", help="Items over all benchmarks.", show_default=False)
    ],
    splits: Annotated[int, typer.Option(min=1, help="Random splits of models.")] = 1,
    test_share: Annotated[float, typer.Option(help="Share of models kept for the test.")] = 0.1,
    seed: Annotated[int, typer.Option(min=0, help="Equal seeds give equal draws.")] = 0,
    folds: Annotated[int, typer.Option(help="Of cross-validation, for intervals.")] = 5,
    floors: Annotated[
        str | None,
        typer.Option(
            metavar="DOMAIN=C,...",
            help="Chances of guessing right: also a fit that knows them.",
            show_default=False,
        ),
    ] = None,
    workers: Annotated[
        int | None, typer.Option(help="Worker processes of this machine.", show_default=False)
    ] = None,
    threads: Annotated[
        int | None, typer.Option(help="Threads of this process.", show_default=False)
    ] = None,
) -> None:
    """Choose items, tell scores, compare with those of models kept for the test."""
    from mtlirt.cluster.launch import ClusterOptions, open_client
    from mtlirt.responses.store import open_responses
    from mtlirt.storage.outfile import new_folder
    from mtlirt.studies.sparse import (
        SparseOptions,
        coverage_of_splits,
        sparse_study,
        sparse_table,
    )
    from mtlirt.studies.sparse_figures import sparse_figures

    counts = whole_numbers("items", items)
    options = SparseOptions(counts, splits, test_share, seed, folds, _floors(floors))
    responses = open_responses(store)
    cluster = ClusterOptions(None, workers, threads)
    with new_folder(out), stages() as listener, open_client(cluster) as client:
        local = threads if client is None else None
        results = sparse_study(responses, options, client, local, listener)
        intervals = coverage_of_splits(responses, options, client, local, listener)
    table = sparse_table(results, list(results["target"].unique()))
    results.to_parquet(out / "results.parquet", index=False)
    intervals.to_parquet(out / "intervals.parquet", index=False)
    (out / "table.md").write_text(table)
    for name, picture in sparse_figures(results).items():
        (out / name).write_bytes(picture)
    print(table)
    held = intervals.groupby(["by", "target"], sort=False)["coverage"].mean().unstack("by")
    print(f"coverage of 95 % intervals from {max(counts):,} items\n")
    print("| target | all strengths | the strongest |\n| --- | --- | --- |")
    for target, row in held.iterrows():
        print(f"| {target} | {row['score']:.3f} | {row['strength']:.3f} |")


def _floors(text: str | None) -> dict[str, float] | None:
    from mtlirt.errors import InputError

    if text is None:
        return None
    try:
        pairs = [part.rsplit("=", 1) for part in text.split(",")]
        return {name: float(value) for name, value in pairs}
    except ValueError:
        raise InputError(f"floors {text!r}: expected DOMAIN=C, by commas") from None


def run(arguments: list[str]) -> int:
    """Run the study on some arguments; the exit status, see `run_program`."""
    return run_program(main, "sparse_study", arguments)


if __name__ == "__main__":
    sys.exit(run(sys.argv[1:]))
