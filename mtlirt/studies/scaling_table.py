"""The scaling study in Markdown."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from typing import Any

import pandas as pd

from mtlirt.studies.scaling_costs import CostModel, Goodness, Work
from mtlirt.studies.scaling_options import Target
from mtlirt.studies.scaling_runs import Group, Run

PROJECTED = (
    "**A projection, not a measurement**: the costs above times the operations of a fit far "
    "larger than any that was measured, of rank 2 and without the choice of rank and pooling, on "
    "workers as fast as this machine's. Nothing was run at this size."
)

Row = Sequence[str]

Measured = Mapping[Any, Mapping[Any, Any]]
"""By run: what was measured, by column."""


def scaling_markdown(
    groups: Mapping[Group, Sequence[Run]],
    measured: pd.DataFrame,
    model: CostModel,
    costs: pd.DataFrame,
    fitting: Mapping[str, Goodness],
    projections: Sequence[tuple[Target, pd.DataFrame]],
) -> str:
    """The tables of a study.

    Parameters
    ----------
    groups
        The runs.
    measured, model, costs, fitting
        Of `mtlirt.studies.scaling_costs`: the best turn of each run, the model fitted to them,
        its table, and its goodness of fit by part.
    projections
        The model's tables for what was not measured.
    """
    indexed = measured.set_index("run").assign(told=model.total(Work.of(measured)))
    by_run: Measured = indexed.to_dict("index")
    rounds = int(measured["rounds"].iloc[0])
    note = (
        f"Fits by `marginal` of {rounds} rounds, rank 2, read from a local store; the best turn of "
        "each. Domain and shared steps are summed over rounds; the rest is reading, scoring and "
        "tables. The floor is one plain read of the responses in memory on as many threads; "
        "`model` is what the cost model below says."
    )
    parts = ["# Scaling study", note]
    for group, runs in groups.items():
        kind = group.split(",")[0]
        told = scaled(kind, runs, by_run) if kind in {"strong", "weak"} else varied(runs, by_run)
        parts += [f"## {title(group)}", told]
    parts += ["## What one operation costs", cost_rows(costs), plain_read(measured)]
    parts += ["## How well the cost model fits", goodness_rows(fitting)]
    for target, table in projections:
        parts += [f"## Projection: {described(target)}", PROJECTED, projected(target, table)]
    return "\n\n".join(parts) + "\n"


def title(group: Group) -> str:
    """The heading of a group."""
    kind, _, place = group.partition(", ")
    if not place:
        return f"Cost against {kind}"
    size = "the same fit" if kind == "strong" else "as many times the domains"
    return f"{kind.capitalize()} scaling over {place}: {size}"


def scaled(kind: str, runs: Sequence[Run], by_run: Measured) -> str:
    """Seconds, and their efficiency against the first run."""
    first = runs[0]
    begin = by_run[first.name]["seconds"]
    rows = [["where", "domains", *SECONDS, "speed-up", "efficiency"]]
    for run in runs:
        found = by_run[run.name]
        lanes = run.place.lanes / first.place.lanes
        ratio = begin / found["seconds"]
        speed_up = ratio if kind == "strong" else ratio * lanes
        where = [run.place.told, str(run.size.domains)]
        rows.append([*where, *seconds(found), f"{speed_up:.2f}", f"{speed_up / lanes:.0%}"])
    return grid(rows)


def varied(runs: Sequence[Run], by_run: Measured) -> str:
    """Seconds against size."""
    rows = [["models", "items a domain", "domains", "missing", *SECONDS]]
    for run in runs:
        size = run.size
        shape = [f"{n:,}" for n in (size.models, size.items, size.domains)]
        rows.append([*shape, f"{size.missing:.0%}", *seconds(by_run[run.name])])
    return grid(rows)


SECONDS = ("seconds", "domain steps", "shared steps", "rest", "model", "times the floor")


def seconds(found: Mapping[Any, Any]) -> list[str]:
    """The seconds of a run and its parts, what the model says, and the ratio to the floor."""
    columns = ("seconds", "domain_seconds", "shared_seconds", "rest_seconds", "told")
    told = [f"{found[column]:.3f}" for column in columns]
    return [*told, f"{found['seconds'] / found['floor_seconds']:,.0f}"]


def cost_rows(costs: pd.DataFrame) -> str:
    """Nanoseconds of each term."""
    rows = [["part", "operation", "nanoseconds"]]
    columns = (costs["part"], costs["term"], costs["nanoseconds"])
    for part, term, cost in zip(*columns, strict=True):
        rows.append([part, term, f"{cost:.3g}" if cost < 1000 else f"{cost:,.0f}"])
    return grid(rows)


def plain_read(measured: pd.DataFrame) -> str:
    """What no pass over a cell can cost less than: the floor of the largest run."""
    largest = measured.loc[Work.of(measured).cells.argmax()]
    lanes = max(1, largest["workers"]) * largest["threads"]
    cells = largest["models"] * largest["items"] * largest["domains"]
    cost = 1e9 * largest["floor_seconds"] * lanes / cells
    return f"A plain read of a cell takes a lane {cost:.2g} nanoseconds."


def goodness_rows(fitting: Mapping[str, Goodness]) -> str:
    """The goodness of fit of each part."""
    rows = [["part", "explained", "median error", "largest error", "median error left out"]]
    for name, found in fitting.items():
        errors = (found.typical, found.largest, found.left_out)
        rows.append([name, f"{found.explained:.3f}", *(f"{error:.0%}" for error in errors)])
    explained = "Explained is the share of the variance of log seconds."
    return f"{grid(rows)}\n\n{explained}"


def described(target: Target) -> str:
    """A target in words."""
    size = target.size
    items = size.items * size.domains
    missing = f", {size.missing:.0%} missing" if size.missing else ", complete"
    return (
        f"{size.models:,} models x {items:,} items in {size.domains:,} domains{missing}, "
        f"{target.rounds} rounds on {target.workers} workers"
    )


def projected(target: Target, table: pd.DataFrame) -> str:
    """What each term takes of a projection."""
    rows = [["part", "operation", "projected seconds"]]
    spent = table[table["seconds"] > 0]
    for part, term, cost in zip(spent["part"], spent["term"], spent["seconds"], strict=True):
        rows.append([part, term, f"{cost:,.1f}"])
    rows.append(["all", "", f"{table['seconds'].sum():,.0f}"])
    gigabytes = target.size.cells / target.workers / 1e9
    return f"{grid(rows)}\n\nResponses on each worker: {gigabytes:.1f} GB."


def grid(rows: Sequence[Row]) -> str:
    """Rows, the first of them the heading, as a table."""
    return "\n".join(_lines(rows))


def _lines(rows: Sequence[Row]) -> Iterator[str]:
    for k, row in enumerate(rows):
        yield f"| {' | '.join(row)} |"
        if k == 0:
            yield f"|{' --- |' * len(row)}"
