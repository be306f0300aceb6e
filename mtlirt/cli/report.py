"""``mtlirt report``: the report of a snapshot, one HTML file."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

if TYPE_CHECKING:
    import pandas as pd

    from mtlirt.result import Fit


def report(
    snapshot: Annotated[
        str,
        typer.Argument(
            metavar="URL",
            help="A snapshot: URL or URL@VERSION, else the latest.",
            show_default=False,
        ),
    ],
    out: Annotated[
        Path,
        typer.Option(metavar="FILE", help="The report: a name in .html.", show_default=False),
    ],
    responses: Annotated[
        str | None,
        typer.Option(
            metavar="STORE",
            help="The responses that were fitted: adds what `mtlirt diagnose` finds in them.",
            show_default=False,
        ),
    ] = None,
    overwrite: Annotated[
        bool, typer.Option("--overwrite", help="Replace the file if it exists.")
    ] = False,
) -> None:
    """Write the report of a snapshot: one HTML file to open in a browser."""
    check_report(out, overwrite)
    print(report_of(snapshot, out, responses, overwrite))


def check_report(out: Path, overwrite: bool = False) -> None:
    """Refuse a place that no report can be written to, before any work is done for it."""
    from mtlirt.report.write import ENDINGS
    from mtlirt.storage.outfile import check_free

    check_free(out, ENDINGS, overwrite)


def report_of(
    snapshot: str, out: Path, responses: str | None = None, overwrite: bool = False
) -> str:
    """Write the report of a snapshot, with what is found in responses; says what was written."""
    from mtlirt.report.write import write_report
    from mtlirt.snapshots.history import describe
    from mtlirt.snapshots.load import load
    from mtlirt.storage.url import split_version

    details = describe(snapshot)
    version = details.summary.version
    fitted = load(split_version(snapshot)[0], version)
    findings = None if responses is None else findings_in(fitted, responses)
    write_report(fitted, out, details=details, findings=findings, overwrite=overwrite)
    return f"wrote {out}: version {version} in {out.stat().st_size / 1e6:,.1f} MB"


def findings_in(fitted: Fit, store: str) -> pd.DataFrame:
    """What a person should look at, as a report lists it."""
    from mtlirt.diagnostics.diagnose import diagnose
    from mtlirt.responses.store import open_responses

    found = diagnose(fitted, open_responses(store)).findings
    of = found["item_id"].where(found["item_id"].notna(), found["model_id"])
    return found.assign(id=of)[["kind", "domain", "id", "value", "told"]]
