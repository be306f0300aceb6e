"""``mtlirt diagnose``: what a snapshot's model does not explain of the responses."""

from __future__ import annotations

import re
from dataclasses import fields
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any, Literal

import typer

from mtlirt.cli.output import print_json, print_table
from mtlirt.errors import InputError

if TYPE_CHECKING:
    import pandas as pd

    from mtlirt.diagnostics.diagnose import Diagnostics


def diagnose(
    store: Annotated[
        str,
        typer.Argument(
            metavar="STORE",
            help="The responses that were fitted: URL or URL@VERSION.",
            show_default=False,
        ),
    ],
    snapshots: Annotated[
        str,
        typer.Option(
            metavar="URL",
            help="The snapshot: URL or URL@VERSION, else the latest.",
            show_default=False,
        ),
    ],
    version: Annotated[
        int | None,
        typer.Option(metavar="N", help="The snapshot's version.", show_default=False),
    ] = None,
    group: Annotated[
        str | None,
        typer.Option(
            metavar="COLUMN",
            help="Of the table of models: groups for which items should be the same.",
            show_default=False,
        ),
    ] = None,
    rate: Annotated[float, typer.Option(help="Of false alarms, above 0 and up to 0.5.")] = 0.05,
    copied: Annotated[
        float, typer.Option(help="The least share of answers in common of near copies.")
    ] = 0.5,
    layout: Annotated[
        Literal["table", "csv", "json"],
        typer.Option("--format", help="csv and json hold all findings and all digits."),
    ] = "table",
    top: Annotated[int, typer.Option(min=1, help="Findings of each kind in the table.")] = 5,
    out: Annotated[
        Path | None,
        typer.Option(
            metavar="FOLDER",
            help="A new folder for all tables, as Parquet files.",
            show_default=False,
        ),
    ] = None,
) -> None:
    """Print what a person should look at: bad items, odd models, copies, disconnected parts."""
    if out is not None:
        _check_free(out)
    from mtlirt.diagnostics.diagnose import diagnose as find
    from mtlirt.responses.store import open_responses
    from mtlirt.snapshots.load import load

    fitted = load(snapshots, version)
    found = find(fitted, open_responses(store), group=group, rate=rate, copied=copied)
    if layout == "csv":
        print(found.findings.to_csv(index=False), end="")
    elif layout == "json":
        print_json(
            {
                **found.info,
                "findings": _records(found.findings),
                "domains": _records(found.domains.reset_index()),
                "design": _records(found.design.reset_index()),
                "scree": _records(found.scree.reset_index()),
            }
        )
    else:
        _print_findings(found, top)
    if out is not None:
        _write(found, out)
        if layout == "table":
            print(f"wrote {out}")


def _print_findings(found: Diagnostics, top: int) -> None:
    """The first findings of each kind, and how many there are."""
    findings, columns = found.findings, ["kind", "domain", "item_id", "model_id", "told"]
    first = findings.groupby("kind", sort=False).head(top)[columns].fillna("")
    if len(first):
        print_table(["kind", "domain", "item", "model", "what"], first.to_numpy().tolist())
    counts = findings["kind"].value_counts(sort=False)
    told = ", ".join(f"{count:,} {kind}" for kind, count in counts.items())
    print(f"{len(findings):,} findings: {told}" if told else "no findings")
    share = found.scree["share"].iloc[0]
    print(
        f"{len(found.models):,} models, {len(found.items):,} items, {len(found.design):,} "
        f"connected components; the first of {len(found.scree):,} dimensions holds {share:.0%} "
        "of the variance of the traits"
    )
    left_out = {name: count for name, count in found.info.items() if "_" in name and count}
    if left_out:
        told = ", ".join(f"{count:,} {name.replace('_', ' ')}" for name, count in left_out.items())
        print(f"left out: {told}")


def _records(table: pd.DataFrame) -> list[dict[str, Any]]:
    """The rows of a table for JSON."""
    rows = table.astype(object)
    values = rows.where(rows.notna(), None).to_numpy()
    return [dict(zip(rows.columns, row, strict=True)) for row in values]


def _check_free(out: Path) -> None:
    """Refuse a folder that exists, or is none, before anything is read."""
    if re.match(r"[A-Za-z][A-Za-z0-9+.-]+:/", str(out)):
        raise InputError(f"{out}: tables go to a local folder, not to a URL")
    if out.exists():
        raise InputError(f"{out}: exists already; give a new folder")


def _write(found: Diagnostics, out: Path) -> None:
    """Write all tables."""
    import pandas as pd

    out.mkdir(parents=True)
    for field in fields(found):
        table = getattr(found, field.name)
        if isinstance(table, pd.DataFrame):
            table.to_parquet(out / f"{field.name}.parquet")
