"""A study of sparse benchmarks in figures."""

from __future__ import annotations

import matplotlib as mpl
import pandas as pd
from matplotlib.figure import Figure

from mtlirt.studies.figures import STYLE, svg

SHOWN = (
    ("greedy", "spline-ridge"),
    ("greedy", "spline-ridge, one benchmark"),
    ("information", "gam"),
    ("kmeans", "gpirt"),
    ("random", "ridge"),
    ("random", "aipw"),
    ("random", "mean"),
)
"""Ways to choose and tell that have a line."""

COLUMNS = 4


def sparse_figures(results: pd.DataFrame) -> dict[str, bytes]:
    """Errors against the number of items, a panel a target, by the names of files."""
    targets = list(results["target"].unique())
    rows = -(-len(targets) // COLUMNS)
    with mpl.rc_context(STYLE):
        drawn = Figure(figsize=(12, 3.2 * rows), layout="constrained")
        panels = drawn.subplots(rows, COLUMNS, squeeze=False).ravel()
        plain = results[results["model"] == "2PL"]
        for axes, target in zip(panels, targets, strict=False):
            part = plain[plain["target"] == target]
            for selection, name in SHOWN:
                own = part[(part["selection"] == selection) & (part["reconstruction"] == name)]
                line = own.groupby("items")["rmse"].mean()
                axes.plot(line.index, line, marker="o", label=f"{selection}, {name}")
            axes.set(title=target, xlabel="items over all benchmarks", ylabel="RMSE, points")
            axes.set_yscale("log")
        for axes in panels[len(targets) :]:
            axes.set_axis_off()
        handles, names = panels[0].get_legend_handles_labels()
        drawn.legend(handles, names, loc="outside lower center", ncols=3)
        return {"error-by-items.svg": svg(drawn)}
