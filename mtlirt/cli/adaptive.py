"""``mtlirt adaptive``: the next item for a new model, or tests replayed on known answers."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer

from mtlirt.cli.output import TABLE_FORMATS, encoded, print_json, print_table
from mtlirt.errors import InputError

if TYPE_CHECKING:
    from mtlirt.distill.adaptive.adaptive_test import AdaptiveTest
    from mtlirt.distill.adaptive.replay import Replay


def adaptive(
    snapshots: Annotated[
        str,
        typer.Argument(
            metavar="SNAPSHOTS",
            help="The fit: URL or URL@VERSION, else the latest.",
            show_default=False,
        ),
    ],
    answers: Annotated[
        str | None,
        typer.Option(
            metavar="FILE",
            help="Answers of one new model so far: a table of domain, item_id, correct.",
            show_default=False,
        ),
    ] = None,
    batch: Annotated[
        int | None,
        typer.Option(min=1, help="How many items to give at a time, if not 1.", show_default=False),
    ] = None,
    replayed: Annotated[
        str | None,
        typer.Option(
            "--replay",
            metavar="STORE",
            help="Test every model of a store by its answers there: URL or URL@VERSION.",
            show_default=False,
        ),
    ] = None,
    out: Annotated[
        Path | None,
        typer.Option(
            metavar="FILE",
            help="Table of the replay, a row a model: .parquet or .csv.",
            show_default=False,
        ),
    ] = None,
    overwrite: Annotated[
        bool, typer.Option("--overwrite", help="Replace the file if it exists.")
    ] = False,
    target: Annotated[
        str,
        typer.Option(help="What to find out: domains (on average), overall, or one domain's name."),
    ] = "domains",
    standard_error: Annotated[float, typer.Option(help="Of the target, at which to stop.")] = 0.30,
    max_items: Annotated[
        int | None,
        typer.Option(min=1, help="The most items to answer, if not all.", show_default=False),
    ] = None,
    borrow: Annotated[
        bool, typer.Option(help="Whether answers in one domain tell of the others.")
    ] = True,
    as_json: Annotated[bool, typer.Option("--json", help="Print the result as JSON.")] = False,
) -> None:
    """Pick the next item for a new model by its answers so far."""
    _check_use(answers, batch, replayed, out)
    if out is not None:
        from mtlirt.storage.outfile import check_free

        check_free(out, TABLE_FORMATS, overwrite)
    from mtlirt.snapshots.load import read_fit
    from mtlirt.storage.root import open_version

    root, manifest = open_version(snapshots, kind="snapshot")
    fitted = read_fit(root, manifest)
    source = {"snapshots": root.url, "version": manifest.version}
    options: dict[str, Any] = {
        "target": target,
        "standard_error": standard_error,
        "max_items": max_items,
        "borrow": borrow,
    }
    if replayed is not None:
        from mtlirt.distill.adaptive.replay import replay
        from mtlirt.responses.store import open_responses

        done = replay(fitted, open_responses(replayed), **options)
        if out is not None:
            from mtlirt.storage.outfile import write_file

            write_file(out, encoded(done.table().reset_index(), out.suffix), overwrite)
        _tell_replay(done, {"store": replayed, **source}, out, as_json)
        return
    from mtlirt.distill.adaptive.adaptive_test import AdaptiveTest
    from mtlirt.distill.adaptive.bank import ItemBank

    bank = ItemBank.of(fitted, borrow)
    test = AdaptiveTest(bank, **options, batch=batch or 1)
    if answers is not None:
        from mtlirt.ingest.answers import read_answers
        from mtlirt.ingest.locations import locate

        test.answer(read_answers(locate(answers), bank.places))
    _tell_test(test, source, as_json)


def _check_use(
    answers: str | None, batch: int | None, replayed: str | None, out: Path | None
) -> None:
    """Refuse options that say nothing together."""
    if replayed is None and out is not None:
        raise InputError("--out is for the table of a replay; give --replay STORE, or leave it out")
    for name, given in (("--answers", answers), ("--batch", batch)):
        if replayed is not None and given is not None:
            raise InputError(f"--replay tests the models of a store, so it takes no {name}")


def _tell_test(test: AdaptiveTest, source: dict[str, Any], as_json: bool) -> None:
    """The next items, or why there is none, and the scores so far."""
    chosen, scores, overall, reason = test.next(), test.scores, test.overall, test.reason
    count = int(scores["answered"].sum())
    if as_json:
        print_json(
            {
                **source,
                "answered": count,
                "done": test.done,
                "reason": reason,
                "next": [{"domain": domain, "item_id": item} for domain, item in chosen],
                "scores": scores.reset_index().to_dict("records"),
                "overall": overall._asdict(),
            }
        )
        return
    if chosen:
        print_table(["domain", "next item"], [list(one) for one in chosen])
    else:
        print(f"done: {reason}")
    print()
    rows = [
        [domain, f"{mean:.2f}", f"{sd:.2f}", answered]
        for domain, mean, sd, answered in scores[["mean", "sd", "answered"]].itertuples()
    ]
    rows.append(["overall", f"{overall.mean:.2f}", f"{overall.sd:.2f}", count])
    print_table(["score", "mean", "standard error", "answered"], rows)


def _tell_replay(done: Replay, source: dict[str, Any], out: Path | None, as_json: bool) -> None:
    """What all tests of a replay come to."""
    models, traits = done.models, done.traits
    summary = {
        "models": len(models),
        "mean_items": models["items"].mean(),
        "share_of_items": models["items"].sum() / max(models["answered"].sum(), 1),
        "mean_sd": models["mean_sd"].mean(),
        "rmse": float((traits["mean"] - traits["full_mean"]).pow(2).mean() ** 0.5),
        "correlation": traits["mean"].corr(traits["full_mean"]),
        "overall_correlation": models["overall"].corr(models["full_overall"]),
    }
    told = {name: None if value != value else value for name, value in summary.items()}
    reasons = models["reason"].value_counts().to_dict()
    if as_json:
        print_json({**source, **told, "reasons": reasons, "out": None if out is None else str(out)})
        return
    print(
        f"{len(models):,} models: {summary['mean_items']:.1f} items each on average, "
        f"{summary['share_of_items']:.1%} of those they answered; "
        f"mean standard error {summary['mean_sd']:.3f}"
    )
    print(
        f"against all their answers: traits differ by {summary['rmse']:.3f} (root mean square) and "
        f"correlate {summary['correlation']:.3f}, overall {summary['overall_correlation']:.3f}"
    )
    print("ended by " + ", ".join(f"{reason} ({count:,})" for reason, count in reasons.items()))
    if out is not None:
        print(f"wrote {out}")
