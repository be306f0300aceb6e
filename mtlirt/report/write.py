"""Write the report of a fit to a file."""

from __future__ import annotations

import os
from pathlib import Path

import pandas as pd

from mtlirt.report.render import render_report
from mtlirt.result import Fit
from mtlirt.snapshots.history import Details
from mtlirt.storage.outfile import check_free, write_file

ENDINGS = (".html", ".htm")
"""What the name of a report may end in."""


def write_report(
    fit: Fit,
    out: str | os.PathLike[str],
    *,
    details: Details | None = None,
    findings: pd.DataFrame | None = None,
    overwrite: bool = False,
) -> None:
    """Write the report of a fit: one HTML file that a browser opens without a network.

    Parameters
    ----------
    fit
        From `fit` or `load`, by any estimator.
    out
        A local path that ends in .html; it appears whole or not at all.
    details
        What is recorded of the snapshot, from `mtlirt.snapshots.history.describe`: the report then
        names version, time and software.
    findings
        A table of findings to show; columns ``kind``, ``domain``, ``id``, ``value``, ``told``.
    overwrite
        Whether to replace the file if it exists.

    Raises
    ------
    InputError
        If the place is none, or taken, or the findings are no such table.
    """
    place = Path(out)
    check_free(place, ENDINGS, overwrite)
    text = render_report(fit, details=details, findings=findings)
    write_file(place, text.encode(), overwrite)
