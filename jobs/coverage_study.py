"""How often 95 % intervals hold the truth, on simulated data.

python jobs/coverage_study.py --out FOLDER
"""

from __future__ import annotations

import sys
from pathlib import Path
from typing import Annotated

import typer

from mtlirt.cli.program import run_program, whole_numbers


def main(
    out: Annotated[
        Path,
        typer.Option(metavar="FOLDER", help="A new folder for the results.", show_default=False),
    ],
    models: Annotated[str, typer.Option(metavar="N,...", help="Models a data set.")] = "50,500",
    items: Annotated[str, typer.Option(metavar="N,...", help="Items a domain.")] = "20,200",
    replications: Annotated[int, typer.Option(min=2, help="Data sets of each size.")] = 200,
    seed: Annotated[int, typer.Option(min=0, help="Equal seeds give equal data.")] = 0,
    workers: Annotated[
        int | None, typer.Option(help="Worker processes of this machine.", show_default=False)
    ] = None,
) -> None:
    """Simulate data sets of four domains, fit them, and count the intervals that hold the truth."""
    from mtlirt.cluster.launch import ClusterOptions, open_client
    from mtlirt.storage.outfile import new_folder
    from mtlirt.studies.coverage import CoverageOptions, coverage_study, coverage_table

    asked = CoverageOptions(
        whole_numbers("models", models), whole_numbers("items", items), replications, seed
    )
    threads = None if workers is None else 1
    with new_folder(out), open_client(ClusterOptions(None, workers, threads)) as client:
        results = coverage_study(asked, client)
    table = coverage_table(results)
    results.to_parquet(out / "results.parquet", index=False)
    (out / "table.md").write_text(table)
    print(table, end="")


def run(arguments: list[str]) -> int:
    """Run the study on some arguments; the exit status, see `run_program`."""
    return run_program(main, "coverage_study", arguments)


if __name__ == "__main__":
    sys.exit(run(sys.argv[1:]))
