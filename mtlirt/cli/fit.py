"""``mtlirt fit``: a response store to a published snapshot."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated, Literal

import typer

from mtlirt.cli.refit import print_refit
from mtlirt.cli.report import check_report, report_of
from mtlirt.cli.stderr import fit_progress


def fit(
    store: Annotated[
        str,
        typer.Argument(
            metavar="STORE", help="A response store: URL or URL@VERSION.", show_default=False
        ),
    ],
    snapshots: Annotated[
        str, typer.Option(metavar="URL", help="Where to publish: a path or URL.")
    ] = "./snapshots",
    estimator: Annotated[
        Literal["marginal", "separate", "joint", "local", "global", "accuracy"],
        typer.Option(
            help="marginal: factors tie the domains; separate: each by itself. joint: traits are "
            "parameters, drawn to a general one (arXiv 2610.05613); local, global: its ends; "
            "accuracy: standardised shares of right answers."
        ),
    ] = "marginal",
    rank: Annotated[
        str, typer.Option(metavar="auto|R", help="Number of factors that tie the domains.")
    ] = "auto",
    no_priors: Annotated[
        bool, typer.Option("--no-priors", help="Plain maximum likelihood of the items.")
    ] = False,
    penalty: Annotated[
        str,
        typer.Option(metavar="cv|C", help="Of estimator joint; cv: by cross-validation."),
    ] = "cv",
    penalties: Annotated[
        str | None,
        typer.Option(
            metavar="C,...", help="What cross-validation tries, if not 20 values from 0.001 to 1.5."
        ),
    ] = None,
    folds: Annotated[int, typer.Option(help="Of cross-validation.")] = 5,
    lambda_scaling: Annotated[
        Literal["common", "per_domain"],
        typer.Option(help="One lambda for all domains, or by their numbers of items."),
    ] = "common",
    complete_models: Annotated[
        bool,
        typer.Option(
            "--complete-models",
            help="Leave out models that lack a domain, which joint and its like cannot use.",
        ),
    ] = False,
    tolerance: Annotated[
        float,
        typer.Option(
            help="Converged when no parameter x moves by this x (1 + |x|) in a round, and the "
            "objective by a thousandth of it; joint and its like when the objective falls by less "
            "than a millionth of it, relatively."
        ),
    ] = 1e-3,
    max_rounds: Annotated[int, typer.Option(help="Stop after so many, converged or not.")] = 200,
    scheduler: Annotated[
        str | None,
        typer.Option(
            metavar="ADDRESS",
            help="Work on the Dask cluster of this scheduler, tcp://HOST:8786.",
            show_default=False,
        ),
    ] = None,
    workers: Annotated[
        int | None,
        typer.Option(help="Work on so many worker processes of this machine.", show_default=False),
    ] = None,
    threads: Annotated[
        int | None,
        typer.Option(
            help="Threads in all, or of each worker, if not one a core.", show_default=False
        ),
    ] = None,
    memory_limit: Annotated[
        str | None,
        typer.Option(
            metavar="BYTES",
            help="Memory of this process, or of each worker, such as 2GiB, if not what there is. "
            "Stores of more than 64 MiB that need over half of it are read again in every round.",
            show_default=False,
        ),
    ] = None,
    resume: Annotated[
        bool,
        typer.Option("--resume", help="Go on where an earlier run of this fit was broken off."),
    ] = False,
    warm_start: Annotated[
        bool,
        typer.Option(
            "--warm-start", help="Start from the latest of the snapshots, if there is one."
        ),
    ] = False,
    anchor: Annotated[
        int | None,
        typer.Option(
            metavar="VERSION",
            min=1,
            help="Put the fit on the scale of this version of the snapshots, through the items "
            "that both have, so that scores compare (marginal, separate).",
            show_default=False,
        ),
    ] = None,
    deweight_clones: Annotated[
        bool,
        typer.Option(
            "--deweight-clones",
            help="Fit twice: the second time models that answered alike count as one, by groups "
            "(marginal, separate).",
        ),
    ] = False,
    report: Annotated[
        Path | None,
        typer.Option(
            metavar="FILE",
            help="Also write the report, as `mtlirt report` would: a name in .html.",
            show_default=False,
        ),
    ] = None,
    top: Annotated[int, typer.Option(min=1, help="Models to print.")] = 20,
    as_json: Annotated[bool, typer.Option("--json", help="Print the result as JSON.")] = False,
) -> None:
    """Fit a response store and publish the fit."""
    from mtlirt.cluster.launch import ClusterOptions
    from mtlirt.engine.options import PENALTIES, FitOptions
    from mtlirt.jobs.refit import refit

    if report is not None:
        check_report(report)
    options = FitOptions(
        estimator=estimator,
        rank="auto" if rank == "auto" else _factors(rank),
        priors=not no_priors,
        penalty="cv" if penalty == "cv" else _number(penalty, "--penalty"),
        penalties=PENALTIES if penalties is None else _numbers(penalties),
        folds=folds,
        lambda_scaling=lambda_scaling,
        complete_models=complete_models,
        tolerance=tolerance,
        max_rounds=max_rounds,
    )
    memory = None if memory_limit is None else _bytes(memory_limit)
    cluster = ClusterOptions(scheduler, workers, threads, memory_limit=memory)
    with fit_progress() as listener:
        done = refit(
            store,
            snapshots,
            options,
            cluster,
            listener,
            resume,
            warm_start,
            anchor,
            deweight_clones,
        )
    print_refit(done, top, as_json)
    if report is not None:
        told = report_of(f"{snapshots}@{done.version}", report)
        if not as_json:
            print(told)


def _factors(rank: str) -> int:
    try:
        return int(rank)
    except ValueError:
        raise typer.BadParameter(
            f"{rank!r} is neither 'auto' nor a number from 1 up", param_hint="'--rank'"
        ) from None


def _bytes(text: str) -> int:
    from mtlirt.cluster.launch import memory_bytes

    try:
        return memory_bytes(text)
    except ValueError as error:
        raise typer.BadParameter(str(error), param_hint="'--memory-limit'") from None


def _number(text: str, option: str) -> float:
    try:
        return float(text)
    except ValueError:
        expected = "neither 'cv' nor a number" if option == "--penalty" else "not a number"
        raise typer.BadParameter(
            f"{text!r} is {expected} from 0 up", param_hint=f"'{option}'"
        ) from None


def _numbers(penalties: str) -> tuple[float, ...]:
    return tuple(_number(text, "--penalties") for text in penalties.split(","))
