"""``mtlirt report``: the report of a snapshot, one HTML file."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

import typer


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
    overwrite: Annotated[
        bool, typer.Option("--overwrite", help="Replace the file if it exists.")
    ] = False,
) -> None:
    """Write the report of a snapshot: one HTML file to open in a browser."""
    from mtlirt.report.write import ENDINGS, write_report
    from mtlirt.snapshots.history import describe
    from mtlirt.snapshots.load import load
    from mtlirt.storage.outfile import check_free
    from mtlirt.storage.url import split_version

    check_free(out, ENDINGS, overwrite)
    details = describe(snapshot)
    version = details.summary.version
    fitted = load(split_version(snapshot)[0], version)
    write_report(fitted, out, details=details, overwrite=overwrite)
    print(f"wrote {out}: version {version} in {out.stat().st_size / 1e6:,.1f} MB")
