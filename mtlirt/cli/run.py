"""``mtlirt run``: a job file to what it asks for."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

import typer

from mtlirt.cli.distill import print_distillation
from mtlirt.cli.refit import print_refit
from mtlirt.cli.stderr import fit_progress, stages
from mtlirt.errors import InputError


def run_job(
    job: Annotated[
        Path, typer.Argument(metavar="JOB", help="A job file (TOML).", show_default=False)
    ],
    resume: Annotated[
        bool,
        typer.Option("--resume", help="Go on where an earlier run of this job was broken off."),
    ] = False,
    top: Annotated[int, typer.Option(min=1, help="Models to print.")] = 20,
    as_json: Annotated[bool, typer.Option("--json", help="Print the result as JSON.")] = False,
) -> None:
    """Run a job file; its paths are relative to the folder it is run in."""
    from mtlirt.jobs.distill import distillation
    from mtlirt.jobs.read import read_job
    from mtlirt.jobs.refit import refit
    from mtlirt.jobs.schema import DistillJob

    asked = read_job(job)
    if isinstance(asked, DistillJob):
        if resume:
            raise InputError(f"{job}: a distillation begins anew; leave --resume out")
        with stages() as show:
            distilled = distillation(
                asked.responses.url,
                asked.distilled.url,
                asked.distill.options,
                asked.cluster.options,
                show,
            )
        print_distillation(distilled, as_json)
        return
    with fit_progress() as listener:
        done = refit(
            asked.responses.url,
            asked.snapshots.url,
            asked.fit.options,
            asked.cluster.options,
            listener,
            resume,
            asked.snapshots.warm_start,
            asked.snapshots.anchor,
            asked.responses.deweight_clones,
        )
    print_refit(done, top, as_json)
