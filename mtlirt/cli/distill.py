"""``mtlirt distill``: a response store to a sparse benchmark."""

from __future__ import annotations

from typing import TYPE_CHECKING, Annotated, Any, Literal

import typer

from mtlirt.cli.output import print_json, print_table
from mtlirt.cli.program import whole_numbers
from mtlirt.cli.stderr import stages, warn

if TYPE_CHECKING:
    import pandas as pd

    from mtlirt.distill.distilled import Distilled
    from mtlirt.jobs.distill import Distillation


def distill(
    store: Annotated[
        str,
        typer.Argument(
            metavar="STORE", help="A response store: URL or URL@VERSION.", show_default=False
        ),
    ],
    out: Annotated[
        str,
        typer.Option(
            metavar="URL",
            help="Where to publish: a path or URL; it may hold distilled benchmarks already.",
            show_default=False,
        ),
    ],
    items: Annotated[
        str,
        typer.Option(
            metavar="N,...",
            help="How many items to choose, over all benchmarks; of several numbers one is chosen "
            "by cross-validation.",
            show_default=False,
        ),
    ],
    rmse: Annotated[
        float | None,
        typer.Option(
            metavar="POINTS",
            help="Of several numbers take the smallest whose mean error is at most this, if not "
            "the smallest that is hardly worse than the best.",
            show_default=False,
        ),
    ] = None,
    selection: Annotated[
        str,
        typer.Option(
            metavar="NAME,...",
            help="greedy, information, kmeans, kmedoids, random or best-random: how items are "
            "chosen; of several names one is chosen by cross-validation.",
        ),
    ] = "greedy",
    reconstruction: Annotated[
        str,
        typer.Option(
            help="spline-ridge, gam, ridge, gpirt, pirt, implied, aipw or mean: how scores are "
            "told from answers."
        ),
    ] = "spline-ridge",
    test_share: Annotated[float, typer.Option(help="Share of models kept for the test.")] = 0.1,
    split: Annotated[
        Literal["score", "strength", "time"],
        typer.Option(help="Test models: of all strengths, the strongest, or the latest."),
    ] = "score",
    time_column: Annotated[
        str | None,
        typer.Option(help="Column of the model table, for --split time.", show_default=False),
    ] = None,
    group_column: Annotated[
        str | None,
        typer.Option(
            help="Column of the model table: models of one group, such as copies of one, are on "
            "one side of every split.",
            show_default=False,
        ),
    ] = None,
    folds: Annotated[int, typer.Option(help="Of cross-validation over training models.")] = 5,
    keep_negative: Annotated[
        bool,
        typer.Option("--keep-negative", help="Items that stronger models fail may be chosen."),
    ] = False,
    level: Annotated[float, typer.Option(help="Of prediction intervals.")] = 0.95,
    seed: Annotated[int, typer.Option(help="Equal seeds give equal results.")] = 0,
    scheduler: Annotated[
        str | None,
        typer.Option(
            metavar="ADDRESS",
            help="Fit on the Dask cluster of this scheduler, tcp://HOST:8786.",
            show_default=False,
        ),
    ] = None,
    workers: Annotated[
        int | None,
        typer.Option(help="Fit on so many worker processes of this machine.", show_default=False),
    ] = None,
    threads: Annotated[
        int | None,
        typer.Option(
            help="Threads in all, or of each worker, if not one a core.", show_default=False
        ),
    ] = None,
    as_json: Annotated[bool, typer.Option("--json", help="Print the result as JSON.")] = False,
) -> None:
    """Choose few items that tell the full scores of all benchmarks, and learn to tell them."""
    from mtlirt.cluster.launch import ClusterOptions
    from mtlirt.distill.options import DistillOptions
    from mtlirt.jobs.distill import distillation

    options = DistillOptions(
        counts=whole_numbers("items", items),
        rmse=rmse,
        selections=tuple(selection.split(",")),
        reconstruction=reconstruction,
        share=test_share,
        split=split,
        time_column=time_column,
        group_column=group_column,
        folds=folds,
        keep_negative=keep_negative,
        level=level,
        seed=seed,
    )
    with stages() as listener:
        cluster = ClusterOptions(scheduler, workers, threads)
        done = distillation(store, out, options, cluster, listener)
    print_distillation(done, as_json)


def print_distillation(done: Distillation, as_json: bool) -> None:
    """Print how well it tells scores, and where it is."""
    found, options, out, version = done.distilled, done.options, done.url, done.version
    info = found.info
    for warning in info["warnings"]:
        warn(warning)
    if as_json:
        print_json(
            {
                "distilled": out,
                "version": version,
                **info,
                "chosen": _records(found.chosen),
                "sizes": _records(found.sizes),
                "test": _records(found.test),
            }
        )
        return
    if len(options.counts) * len(options.selections) > 1:
        print("errors of cross-validation, in points")
        _print_sizes(found.sizes)
        print()
    print(f"on {info['test_models']:,} test models, in points")
    _print_test(found)
    print()
    reasons = found.barred["reason"].value_counts()
    barred = ", ".join(f"{count:,} {reason}" for reason, count in reasons.items())
    print(f"{len(found.barred):,} items not to be chosen" + (f": {barred}" if barred else ""))
    factor = info["single_factor"]
    if factor["first_share"] is not None:
        print(
            f"one factor explains {factor['first_share']:.1%} of the scores; the overall trait and "
            f"the grand mean correlate by {factor['spearman']:.4f} (Spearman)"
        )
    print(f"forms A and B differ by at most {100 * info['forms_differ_by']:.1f} points")
    print(f"wrote version {version} of {out}")


def _print_sizes(sizes: pd.DataFrame) -> None:
    targets = list(sizes.index.unique("target"))
    rows = [
        (name, count, *(f"{sizes.loc[(name, count, target), 'rmse']:.2f}" for target in targets))
        for name in sizes.index.unique("selection")
        for count in sizes.index.unique("items").tolist()
    ]
    print_table(("selection", "items", *targets), rows)


def _print_test(found: Distilled) -> None:
    chosen = found.chosen.groupby(level="domain", sort=False).size().to_dict()
    rows = []
    for target, row in found.test.to_dict("index").items():
        errors = f"{row['rmse']:.2f}", f"{row['bias']:+.2f}", f"{row['spearman']:.4f}"
        ends = f"{row['coverage']:.3f}", f"{row['width']:.1f}", f"{row['detectable']:.1f}"
        items = chosen.get(target, len(found.chosen))
        rows.append((target, items, row["models"], *errors, *ends))
    columns = "target", "items", "models", "rmse", "bias", "spearman", "coverage", "width"
    print_table((*columns, "detectable"), rows)


def _records(frame: pd.DataFrame) -> list[dict[str, Any]]:
    """Rows as JSON takes them; null for what is not a number."""
    import json

    records: list[dict[str, Any]] = json.loads(frame.reset_index().to_json(orient="records"))
    return records
