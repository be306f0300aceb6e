"""A study in figures."""

from __future__ import annotations

import io
from collections.abc import Callable
from typing import Any

import matplotlib as mpl
import pandas as pd
from matplotlib.axes import Axes
from matplotlib.figure import Figure

from mtlirt.studies.methods import METHODS
from mtlirt.studies.replicate import DOMAINS, GENERAL
from mtlirt.studies.rows import catalogue
from mtlirt.studies.summary import chosen

STYLE: Any = {"svg.hashsalt": "mtlirt", "svg.fonttype": "path", "font.size": 9.0}
"""With it, and without a date, equal results give equal bytes."""

TITLES = {DOMAINS: "theta_t, mean over domains", GENERAL: "theta_G"}

NOMINAL = 0.95

Panel = Callable[[Axes, pd.DataFrame], None]
"""Draws the means of one metric of one target."""


def draw_figures(summary: pd.DataFrame) -> dict[str, bytes]:
    """The figures of a study by the names of their files; none that would be empty."""
    known = catalogue()
    group = summary["row"].map(lambda name: known[name].group)
    paper, others = summary[group == "paper"], summary[group != "paper"]
    files = {}
    with mpl.rc_context(STYLE):
        for name, part, metric, label, panel in (
            ("error-by-h.svg", paper, "sine", "sine error", lines_by_h),
            ("error-by-row.svg", others, "sine", "sine error", bars_by_row),
            ("coverage.svg", summary, "coverage", "coverage of 95 % intervals", points_by_row),
        ):
            if (part["metric"] == metric).any():
                files[name] = figure(part, metric, label, panel)
    return files


def figure(summary: pd.DataFrame, metric: str, label: str, panel: Panel) -> bytes:
    """A figure of a metric as SVG: a panel for the domains, one for the general trait."""
    drawn = Figure(figsize=(11, 8), layout="constrained")
    for axes, (target, title) in zip(drawn.subplots(2, 1), TITLES.items(), strict=True):
        panel(axes, chosen(summary, target, metric))
        axes.set(title=title, ylabel=label)
    handles, names = drawn.axes[0].get_legend_handles_labels()
    drawn.legend(handles, names, loc="outside right upper")
    return svg(drawn)


def svg(drawn: Figure) -> bytes:
    """A figure as the bytes of an SVG file."""
    sink = io.BytesIO()
    drawn.savefig(sink, format="svg", metadata={"Date": None})
    return sink.getvalue()


def lines_by_h(axes: Axes, means: pd.DataFrame) -> None:
    """A line for each method."""
    for method, own in by_method(means).items():
        axes.errorbar(
            own["h"], own["mean"], spread(own), capsize=2, label=method, color=colour(method)
        )
    axes.set(xlabel="h")
    axes.set_ylim(bottom=0)


def bars_by_row(axes: Axes, means: pd.DataFrame) -> None:
    """A bar for each method in each row."""
    place = row_places(axes, means)
    parts = by_method(means)
    width = 0.8 / len(parts)
    for k, (method, own) in enumerate(parts.items()):
        middle = own["row"].map(place) - 0.4 + (k + 0.5) * width
        axes.bar(middle, own["mean"], width, yerr=spread(own), label=method, color=colour(method))


def points_by_row(axes: Axes, means: pd.DataFrame) -> None:
    """A point for each method in each row, and a line where they should be."""
    place = row_places(axes, means)
    axes.axhline(NOMINAL, color="grey", linewidth=0.8)
    for method, own in by_method(means).items():
        where = own["row"].map(place)
        axes.errorbar(
            where, own["mean"], spread(own), fmt="o", capsize=2, label=method, color=colour(method)
        )


def by_method(means: pd.DataFrame) -> dict[str, pd.DataFrame]:
    """The means of each method."""
    return {name: means[means["method"] == name] for name in means["method"].unique()}


def spread(means: pd.DataFrame) -> pd.Series:
    """Monte Carlo errors to draw; none of a single replication."""
    return means["error"].fillna(0.0)


def colour(method: str) -> str:
    """The colour of a method, the same in all figures."""
    return f"C{list(METHODS).index(method)}"


def row_places(axes: Axes, means: pd.DataFrame) -> dict[str, int]:
    """Where each row stands along an axis, named there."""
    rows = list(means["row"].unique())
    axes.set_xticks(range(len(rows)), rows, rotation=45, ha="right")
    return {row: place for place, row in enumerate(rows)}
