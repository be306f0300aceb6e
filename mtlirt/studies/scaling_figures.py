"""The scaling study in figures."""

from __future__ import annotations

from collections.abc import Mapping, Sequence

import matplotlib as mpl
import pandas as pd
from matplotlib.axes import Axes
from matplotlib.figure import Figure

from mtlirt.studies.figures import STYLE, svg
from mtlirt.studies.scaling_costs import CostModel, Work
from mtlirt.studies.scaling_runs import Group, Run

Groups = Mapping[Group, Sequence[Run]]

AGAINST: tuple[Group, ...] = ("models", "items", "domains", "missing")


def draw_scaling(groups: Groups, measured: pd.DataFrame, model: CostModel) -> dict[str, bytes]:
    """The figures by the names of their files."""
    by_run = measured.set_index("run").assign(told=model.total(Work.of(measured)))
    with mpl.rc_context(STYLE):
        return {
            "scaling.svg": svg(efficiency_figure(groups, by_run)),
            "costs.svg": svg(cost_figure(groups, by_run)),
            "model.svg": svg(model_figure(by_run)),
        }


def efficiency_figure(groups: Groups, by_run: pd.DataFrame) -> Figure:
    """Strong and weak scaling: the efficiency against the first place."""
    drawn = Figure(figsize=(9, 4), layout="constrained")
    for axes, kind in zip(drawn.subplots(1, 2), ("strong", "weak"), strict=True):
        for group, runs in groups.items():
            if group.startswith(kind):
                lanes = [run.place.lanes for run in runs]
                seconds = by_run.loc[[run.name for run in runs], "seconds"].to_numpy()
                grown = [n / lanes[0] if kind == "strong" else 1 for n in lanes]
                axes.set_xticks(lanes)
                axes.plot(lanes, seconds[0] / seconds / grown, "o-", label=group.split(", ")[1])
        axes.axhline(1.0, color="grey", linewidth=0.8)
        axes.set(title=f"{kind} scaling", xlabel="lanes", ylabel="efficiency")
        axes.set_ylim(bottom=0)
        axes.legend()
    return drawn


def cost_figure(groups: Groups, by_run: pd.DataFrame) -> Figure:
    """Seconds against each dimension of the size, measured and by the model."""
    drawn = Figure(figsize=(9, 7), layout="constrained")
    for axes, group in zip(drawn.subplots(2, 2).flat, AGAINST, strict=True):
        found = by_run.loc[[run.name for run in groups[group]]].sort_values(group)
        draw_costs(axes, group, found)
    return drawn


def draw_costs(axes: Axes, group: Group, found: pd.DataFrame) -> None:
    """One dimension of the size."""
    axes.plot(found[group], found["seconds"], "o", label="measured")
    axes.plot(found[group], found["told"], "-", label="cost model")
    axes.set(xlabel="items a domain" if group == "items" else group, ylabel="seconds", yscale="log")
    if group != "missing":
        axes.set_xscale("log")
        axes.set_xticks(found[group], [f"{size:,}" for size in found[group]])
        axes.xaxis.minorticks_off()
    axes.legend()


def model_figure(by_run: pd.DataFrame) -> Figure:
    """What the model says against what was measured."""
    drawn = Figure(figsize=(5, 5), layout="constrained")
    axes = drawn.subplots()
    ends = [by_run["seconds"].min(), by_run["seconds"].max()]
    axes.loglog(ends, ends, color="grey", linewidth=0.8)
    axes.loglog(by_run["seconds"], by_run["told"], "o")
    axes.set(xlabel="measured seconds", ylabel="seconds by the cost model")
    return drawn
