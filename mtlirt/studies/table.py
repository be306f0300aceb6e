"""A study in Markdown."""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Iterator, Sequence

import numpy as np
import pandas as pd

from mtlirt.studies.replicate import DOMAINS, FIT, GENERAL
from mtlirt.studies.summary import Mean, means_of

Cell = Callable[[str, str], str]
"""The text for a row and a method."""

NOTHING = "-"


def markdown(results: pd.DataFrame, summary: pd.DataFrame) -> str:
    """The tables of a study.

    Parameters
    ----------
    results, summary
        Of all replications, and their means.
    """
    rows, methods = list(results["row"].unique()), list(results["method"].unique())
    count = results["replication"].nunique()
    tables = {
        f"Mean sine error of theta_t [theta_G] over {count} replications": pair(summary, "sine"),
        "Mean Spearman correlation with the true theta_t [theta_G]": pair(summary, "spearman"),
        "Coverage of 95 % intervals of theta_t [theta_G]": pair(summary, "coverage"),
        "Seconds a fit": seconds(summary),
    }
    note = "Monte Carlo errors are in parentheses; theta_t is a mean over domains."
    parts = ["# Simulation study", note]
    for title, cell in tables.items():
        parts += [f"## {title}", grid(rows, methods, with_failures(cell, summary))]
    parts += ["## Failures", "\n".join(failures(results)) or "None."]
    return "\n\n".join(parts) + "\n"


def grid(rows: Sequence[str], methods: Sequence[str], cell: Cell) -> str:
    """A table of rows x methods."""
    lines = [["row", *methods], ["---"] * (len(methods) + 1)]
    lines += [[row, *(cell(row, method) for method in methods)] for row in rows]
    return "\n".join(f"| {' | '.join(line)} |" for line in lines)


def pair(summary: pd.DataFrame, metric: str) -> Cell:
    """A metric as a mean over domains, and of the general trait in brackets."""
    domains, general = (means_of(summary, target, metric) for target in (DOMAINS, GENERAL))

    def cell(row: str, method: str) -> str:
        one, other = (told(means.get((row, method)), 3) for means in (domains, general))
        return one if other == NOTHING else f"{one} [{other}]"

    return cell


def seconds(summary: pd.DataFrame) -> Cell:
    """The run time."""
    means = means_of(summary, FIT, "seconds")
    return lambda row, method: told(means.get((row, method)), 2)


def with_failures(cell: Cell, summary: pd.DataFrame) -> Cell:
    """The text of a cell, and how many replications failed."""
    shares = means_of(summary, FIT, "failed")

    def counted(row: str, method: str) -> str:
        share = shares[row, method]
        failed = round(share.mean * share.replications)
        if failed == 0:
            return cell(row, method)
        if failed == share.replications:
            return f"all {failed} failed"
        return f"{cell(row, method)}, {failed} failed"

    return counted


def told(found: Mean | None, digits: int) -> str:
    """A mean with its Monte Carlo error."""
    if found is None:
        return NOTHING
    mean, error = number(found.mean, digits), number(found.error, digits)
    return mean if np.isnan(found.error) else f"{mean} ({error})"


def number(value: float, digits: int) -> str:
    """A number without the zero before its point."""
    text = f"{value:.{digits}f}"
    return text.replace("0.", ".", 1) if text.startswith(("0.", "-0.")) else text


def failures(results: pd.DataFrame) -> Iterator[str]:
    """A line for each way in which a method failed in a row, and for fits without convergence."""
    failed = results[results["message"].notna()]
    keys = zip(failed["row"], failed["method"], failed["message"], strict=True)
    for (row, method, message), count in Counter(keys).items():
        yield f"* {row}, {method}: {count} failed: {message}"
    stopped = results[(results["metric"] == "converged") & (results["value"] == 0)]
    for (row, method), count in Counter(
        zip(stopped["row"], stopped["method"], strict=True)
    ).items():
        yield f"* {row}, {method}: {count} did not converge"
