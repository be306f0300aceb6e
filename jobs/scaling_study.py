"""The scaling study: what a fit costs by size and cores, and a projection to far larger ones.

python jobs/scaling_study.py --out FOLDER
"""

from __future__ import annotations

import sys
from typing import TYPE_CHECKING, Annotated

import typer

from mtlirt.cli.program import run_program

if TYPE_CHECKING:
    from mtlirt.studies.study import Progress

COUNTS = "1, 2, 4, ... up to the cores"


def main(
    out: Annotated[
        str,
        typer.Option(
            metavar="FOLDER",
            help="Where results go, a path or s3:// URL; a study that was interrupted goes on.",
            show_default=False,
        ),
    ],
    workers: Annotated[
        str | None,
        typer.Option(
            metavar="N,...", help="Numbers of worker processes to compare.", show_default=COUNTS
        ),
    ] = None,
    threads: Annotated[
        str | None,
        typer.Option(metavar="N,...", help="Numbers of threads to compare.", show_default=COUNTS),
    ] = None,
    rounds: Annotated[int, typer.Option(help="Rounds of each fit.")] = 4,
    turns: Annotated[int, typer.Option(help="Fits of each run; the best of them counts.")] = 3,
    seed: Annotated[int, typer.Option(help="Of the simulated responses.")] = 0,
    small: Annotated[bool, typer.Option("--small", help="Tiny sizes, for a try.")] = False,
) -> None:
    """Time fits over threads, workers and sizes, fit a cost model, and project it."""
    from mtlirt.studies.scaling import run_scaling
    from mtlirt.studies.scaling_options import ScalingOptions

    options = ScalingOptions(
        workers=counts("workers", workers),
        threads=counts("threads", threads),
        rounds=rounds,
        turns=turns,
        seed=seed,
        small=small,
    )
    files = run_scaling(out, options, tell)
    print("\n".join(f"{out.rstrip('/')}/{name}" for name in files))


def counts(name: str, asked: str | None) -> tuple[int, ...]:
    """Numbers by commas; None is those that this machine has."""
    from mtlirt.errors import InputError
    from mtlirt.studies.scaling_options import powers_of_two

    if asked is None:
        return powers_of_two()
    try:
        return tuple(int(part) for part in asked.split(","))
    except ValueError:
        raise InputError(f"{name} {asked!r}: expected whole numbers, by commas") from None


def tell(progress: Progress) -> None:
    """Print how far the study is."""
    print(
        f"{progress.done}/{progress.of} runs {progress.name}".rstrip(), file=sys.stderr, flush=True
    )


def run(arguments: list[str]) -> int:
    """Run the study on some arguments; the exit status, see `run_program`."""
    return run_program(main, "scaling_study", arguments)


if __name__ == "__main__":
    sys.exit(run(sys.argv[1:]))
