"""The simulation study: every method on the paper's designs and on harder ones.

python jobs/simulation_study.py --out FOLDER --workers 2
"""

from __future__ import annotations

import sys
from typing import TYPE_CHECKING, Annotated

import typer

from mtlirt.cli.program import run_program

if TYPE_CHECKING:
    from mtlirt.studies.study import Progress


def main(
    out: Annotated[
        str,
        typer.Option(
            metavar="FOLDER",
            help="Where results go, a path or s3:// URL; a study that was interrupted goes on.",
            show_default=False,
        ),
    ],
    rows: Annotated[
        str,
        typer.Option(
            metavar="NAME,...", help="paper, variants, harder, all, or names of rows, by commas."
        ),
    ] = "all",
    methods: Annotated[
        str, typer.Option(metavar="NAME,...", help="all, or names of methods, by commas.")
    ] = "all",
    replications: Annotated[int, typer.Option(help="Data sets of each row.")] = 20,
    seed: Annotated[int, typer.Option(help="Equal seeds give equal numbers.")] = 0,
    small: Annotated[
        bool, typer.Option("--small", help="Few models and items, for a try.")
    ] = False,
    workers: Annotated[
        int | None,
        typer.Option(help="Worker processes of this machine.", show_default=False),
    ] = None,
    scheduler: Annotated[
        str | None,
        typer.Option(
            metavar="ADDRESS", help="A Dask cluster that runs already.", show_default=False
        ),
    ] = None,
) -> None:
    """Simulate data with a known truth, fit them by every method, and tell how near each came."""
    from mtlirt.cluster.launch import ClusterOptions, open_client
    from mtlirt.studies.options import StudyOptions
    from mtlirt.studies.study import run_study

    options = StudyOptions(
        rows=tuple(rows.split(",")),
        methods=tuple(methods.split(",")),
        replications=replications,
        seed=seed,
        small=small,
    )
    threads = None if workers is None else 1
    with open_client(ClusterOptions(scheduler, workers, threads)) as client:
        files = run_study(out, options, client, tell)
    print("\n".join(f"{out.rstrip('/')}/{name}" for name in files))


def tell(progress: Progress) -> None:
    """Print how far the study is."""
    done = f"{progress.done}/{progress.of} replications"
    print(f"{done} {progress.name}".rstrip(), file=sys.stderr, flush=True)


def run(arguments: list[str]) -> int:
    """Run the study on some arguments; the exit status, see `run_program`."""
    return run_program(main, "simulation_study", arguments)


if __name__ == "__main__":
    sys.exit(run(sys.argv[1:]))
