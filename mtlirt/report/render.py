"""From a fit to the text of one HTML file."""

from __future__ import annotations

import base64
import json
from functools import cache
from hashlib import sha256
from importlib.resources import files

import pandas as pd
from jinja2 import Environment, PackageLoader, StrictUndefined, Template

from mtlirt.report.board import board_data
from mtlirt.report.columns import Json
from mtlirt.report.curves import curve_data
from mtlirt.report.findings import check_findings, counts_of, finding_data
from mtlirt.report.items import item_data
from mtlirt.report.seen import seen_in
from mtlirt.report.tables import correlation_data, domain_data, history_data
from mtlirt.report.words import facts, missing, scale, warnings
from mtlirt.result import Fit
from mtlirt.snapshots.history import Details

SCRIPTS = ("elements", "table", "board", "domains", "matrix", "axes", "items", "lines", "page")
"""The report's scripts in the order in which they are joined."""

TEXT_IN_HTML = str.maketrans({"<": "\\u003c", ">": "\\u003e", "&": "\\u0026"})
"""Letters of JSON that could end or confuse the element that holds it."""


def render_report(
    fit: Fit, *, details: Details | None = None, findings: pd.DataFrame | None = None
) -> str:
    """The report of a fit as HTML that needs nothing else.

    Parameters
    ----------
    fit
        By any estimator.
    details
        What is recorded of the version it was published as.
    findings
        A table of findings to show beside those that the fit itself shows; columns ``kind``,
        ``domain``, ``id``, ``value``, ``told``.

    Returns
    -------
    str
        Equal fits, details and findings give equal texts.

    Raises
    ------
    InputError
        If the findings are no such table.
    """
    given = None if findings is None else check_findings(findings)
    seen, absent = seen_in(fit), missing(fit)
    script, style = script_text(), style_text()
    return _template().render(
        models=f"{len(fit.models):,}",
        facts=facts(fit, details),
        warnings=warnings(fit),
        scale=scale(fit),
        missing=absent,
        seen=counts_of(seen),
        given=None if given is None else counts_of(given),
        data=as_json(report_data(fit, absent, seen, given)),
        script=script,
        style=style,
        script_hash=_hash(script),
        style_hash=_hash(style),
    )


def report_data(
    fit: Fit, absent: dict[str, str], seen: pd.DataFrame, given: pd.DataFrame | None
) -> Json:
    """All that the scripts draw, null where a fit does not have it."""
    return {
        "domains": domain_data(fit),
        "board": board_data(fit),
        "correlations": correlation_data(fit),
        "items": None if "items" in absent else item_data(fit),
        "curves": curve_data(fit),
        "history": history_data(fit),
        "seen": finding_data(seen),
        "given": None if given is None else finding_data(given),
    }


def as_json(data: Json) -> str:
    """JSON in ASCII that no HTML parser takes for anything else."""
    return json.dumps(data, separators=(",", ":"), allow_nan=False).translate(TEXT_IN_HTML)


@cache
def script_text() -> str:
    """The scripts as one, with names of their own."""
    parts = [_read(f"scripts/{name}.js") for name in SCRIPTS]
    return "\n".join(['"use strict";', "(() => {", *parts, "})();", ""])


@cache
def style_text() -> str:
    """The style sheet."""
    return _read("styles/report.css")


@cache
def _template() -> Template:
    environment = Environment(
        loader=PackageLoader("mtlirt.report"),
        autoescape=True,
        undefined=StrictUndefined,
        trim_blocks=True,
        lstrip_blocks=True,
        keep_trailing_newline=True,
    )
    return environment.get_template("report.html.j2")


def _read(name: str) -> str:
    return files("mtlirt.report").joinpath(name).read_text(encoding="utf-8")


def _hash(text: str) -> str:
    """What the page's own policy knows a script or style by."""
    return base64.b64encode(sha256(text.encode()).digest()).decode()
