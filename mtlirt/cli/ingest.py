"""``mtlirt ingest``: files to a response store."""

from __future__ import annotations

import json
import os
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import asdict
from pathlib import Path
from typing import Annotated, Any, Literal

import typer

from mtlirt.cli.output import print_json, print_table
from mtlirt.errors import InputError

WhichRuns = Literal["latest", "all"]
OnContent = Literal["error", "report"]
Repeated = Literal["report", "first"]


def ingest(
    sources: Annotated[
        list[str],
        typer.Argument(
            metavar="SOURCE",
            help="Files, or folders of files: paths, or s3://, https:// or hf:// URLs.",
            show_default=False,
        ),
    ],
    out: Annotated[
        str, typer.Option(help="Where the response store goes: a path or URL.", show_default=False)
    ],
    layout: Annotated[
        str,
        typer.Option(
            "--format",
            help="tidy: a row a response; wide: a row a model; or the tool whose logs they are.",
        ),
    ] = "auto",
    models: Annotated[
        str | None, typer.Option(help="Table of models: model_id and any columns.")
    ] = None,
    items: Annotated[
        str | None, typer.Option(help="Table of items: domain, item_id and any columns.")
    ] = None,
    domain_column: Annotated[
        str | None, typer.Option(help="Column of the domains, if not 'domain'.")
    ] = None,
    domain: Annotated[str, typer.Option(help="Domain of files that name none.")] = "default",
    model_column: Annotated[
        str | None, typer.Option(help="Column of the models in wide files, if not the first.")
    ] = None,
    transpose: Annotated[
        bool, typer.Option("--transpose", help="Rows of wide files are items, columns models.")
    ] = False,
    header: Annotated[
        bool,
        typer.Option(
            "--header/--no-header",
            help="Wide files without a header hold values only: models and items are numbered.",
        ),
    ] = True,
    fractions: Annotated[
        Literal["error", "keep"], typer.Option(help="Values between 0 and 1.")
    ] = "error",
    threshold: Annotated[
        float | None, typer.Option(help="Values from this up are 1, those below it 0.")
    ] = None,
    duplicates: Annotated[
        Literal["error", "first", "attempts"],
        typer.Option(help="Equal responses of one model to one item."),
    ] = "error",
    conflicts: Annotated[
        Literal["error", "first", "last", "attempts"],
        typer.Option(help="Differing responses of one model to one item."),
    ] = "error",
    unknown: Annotated[
        Literal["error", "report"],
        typer.Option(help="Ids in --models and --items that no response has."),
    ] = "error",
    poor_domains: Annotated[
        Literal["error", "keep"],
        typer.Option(help="Domains with responses of fewer than 2 models: keep them to be scored."),
    ] = "error",
    model: Annotated[
        str | None, typer.Option(help="Model of logs that name none.", show_default=False)
    ] = None,
    metric: Annotated[
        str | None, typer.Option(help="Metric of logs that have several.", show_default=False)
    ] = None,
    filter_: Annotated[
        str | None,
        typer.Option("--filter", help="Filter of logs that have several.", show_default=False),
    ] = None,
    split: Annotated[
        str | None, typer.Option(help="Split of logs that have several.", show_default=False)
    ] = None,
    alias: Annotated[
        str | None,
        typer.Option(
            help="Table of other names: kind (model, task), from, to.", show_default=False
        ),
    ] = None,
    pool: Annotated[
        list[str] | None,
        typer.Option(
            help="What does not tell items of logs apart: version, shots, split, filter or metric; "
            "may be given again.",
            show_default=False,
        ),
    ] = None,
    runs: Annotated[
        WhichRuns, typer.Option(help="Runs of one model on one task: the latest whole one, or all.")
    ] = "latest",
    content: Annotated[
        OnContent, typer.Option(help="Items of logs whose content differs between runs.")
    ] = "error",
    repeated: Annotated[
        Repeated, typer.Option(help="Items of equal content: list them, or keep the first.")
    ] = "report",
    report: Annotated[str | None, typer.Option(help="Write the report here, as JSON.")] = None,
    append: Annotated[
        bool,
        typer.Option(
            "--append",
            help="Add what is new to a store, as a version; files that it has are passed over.",
        ),
    ] = False,
    overwrite: Annotated[
        bool,
        typer.Option("--overwrite", help="Add a version to a store, and replace the report."),
    ] = False,
    as_json: Annotated[bool, typer.Option("--json", help="Print the report as JSON.")] = False,
) -> None:
    """Read item-level results into a response store."""
    holds = _check_free(out, report, append, overwrite)
    from mtlirt.ingest.append import append as add
    from mtlirt.ingest.files import ingest as read
    from mtlirt.ingest.runs import Choices
    from mtlirt.responses.store import write_responses

    options: dict[str, Any] = {
        "format": layout,
        "models": models,
        "items": items,
        "domain_column": domain_column,
        "domain": domain,
        "model_column": model_column,
        "transpose": transpose,
        "header": header,
        "fractions": fractions,
        "threshold": threshold,
        "duplicates": duplicates,
        "conflicts": conflicts,
        "unknown": unknown,
        "poor_domains": poor_domains,
        "aliases": alias,
        "pool": pool or [],
        "runs": runs,
        "content": content,
        "repeated": repeated,
    }
    choices = Choices(model, metric, filter_, split, domain)
    history = {"verb": "ingest", "sources": sources, "options": options | asdict(choices)}
    options["choices"] = choices
    with _report_file(report) as write_report:
        version: int | None
        if append and holds:
            version, findings = add(sources, out, history, **options)
        else:
            responses, findings = read(sources, **options)
            history["report"] = findings.to_dict()
            version = write_responses(responses, out, history=history, overwrite=overwrite)
        found = {"store": out, "version": version, **findings.to_dict()}
        write_report(found)
    if as_json:
        print_json(found)
        return
    for line in findings.lines():
        print(line)
    rows = [(count.name, count.models, count.items, count.cells) for count in findings.domains]
    print_table(("domain", "models", "items", "cells"), rows)
    if version is None:
        print(f"nothing new: {out} stays at version {holds}")
    else:
        print(f"wrote version {version} of {out}")


@contextmanager
def _report_file(report: str | None) -> Iterator[Callable[[Any], None]]:
    """A place for the report, opened beforehand: no store is written without its report."""
    if report is None:
        yield lambda _: None
        return
    place = Path(report)
    if place.exists() and not place.is_file():
        raise InputError(f"{report}: is no file; give another place for the report")
    draft = place.with_name(f".{place.name}.{os.getpid()}")
    with draft.open("x") as file:
        try:
            yield lambda content: print(json.dumps(content, indent=2), file=file, flush=True)
            draft.replace(place)
        finally:
            draft.unlink(missing_ok=True)


def _check_free(out: str, report: str | None, append: bool, overwrite: bool) -> int:
    """Refuse what cannot be written before anything is read; gives the version that is there."""
    from mtlirt.storage.root import open_root

    if report is not None and not Path(report).absolute().parent.is_dir():
        raise InputError(f"{report}: no folder to write it in")
    latest = max(open_root(out).versions(), default=0)
    if overwrite:
        return latest
    if latest and not append:
        raise InputError(
            f"{out}: holds version {latest} already; give another place, --append to add to "
            "what it holds, or --overwrite to begin anew in another version"
        )
    if report is not None and Path(report).exists():
        raise InputError(f"{report}: exists already; give another place, or --overwrite")
    return latest
