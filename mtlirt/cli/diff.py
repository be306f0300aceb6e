"""``mtlirt snapshots diff``: what changed from one snapshot to another."""

from __future__ import annotations

from collections.abc import Sequence
from math import isnan
from typing import TYPE_CHECKING, Annotated, Any, Literal

import typer

from mtlirt.cli.board import board_records
from mtlirt.cli.output import print_json, print_table
from mtlirt.errors import InputError

if TYPE_CHECKING:
    import pandas as pd

    from mtlirt.scores.compare import Comparison

APART = (
    "models of different components share no item, directly or through a chain: they are not "
    "ranked against each other"
)


def diff(
    places: Annotated[
        list[str],
        typer.Argument(
            metavar="URL A B | URL@A URL@B",
            help="Two versions of one root of snapshots, or two snapshots.",
            show_default=False,
        ),
    ],
    layout: Annotated[
        Literal["table", "csv", "json"],
        typer.Option("--format", help="csv and json hold all rows and digits."),
    ] = "table",
    of: Annotated[
        Literal["models", "traits", "items", "domains", "settings"],
        typer.Option(help="The table that csv holds."),
    ] = "models",
    level: Annotated[
        float,
        typer.Option(
            help="Of the intervals; models moved and items drifted where their probability, "
            "adjusted for their number, is below 1 - level."
        ),
    ] = 0.95,
    linking: Annotated[
        Literal["haebara", "stocking-lord"],
        typer.Option(help="Put B on the scale of A by the curves of items, or those of tests."),
    ] = "haebara",
    top: Annotated[int, typer.Option(min=1, help="Rows of each table to print.")] = 20,
) -> None:
    """Tell what changed from snapshot A to B, on the scale of A."""
    import pandas as pd

    from mtlirt.scores.compare import changed_settings, compare
    from mtlirt.snapshots.history import describe
    from mtlirt.snapshots.load import load

    urls = snapshots_of(places)
    sides = [describe(url) for url in urls]
    # a version by its number from here on: the latest may be another one by now
    before, after = (
        load(bare(url), side.summary.version) for url, side in zip(urls, sides, strict=True)
    )
    found = compare(before, after, level=level, linking=linking)
    recorded = [
        changed_settings(kind, *(getattr(side, kind) for side in sides))
        for kind in ("inputs", "software")
    ]
    settings = pd.concat([found.settings, *recorded])
    tables = {
        "domains": found.domains,
        "models": found.models,
        "traits": found.traits,
        "items": found.items,
        "settings": settings,
    }
    if layout == "csv":
        print(tables[of].to_csv(), end="")
        return
    if layout == "json":
        names = {"before": sides[0].summary.version, "after": sides[1].summary.version}
        records = {name: board_records(table, None) for name, table in tables.items()}
        print_json({"snapshots": [bare(url) for url in urls], **names, "level": level, **records})
        return
    print_comparison(found, settings, top)


def snapshots_of(places: Sequence[str]) -> tuple[str, str]:
    """The URLs of the two snapshots.

    Raises
    ------
    InputError
        If the arguments do not name two.
    """
    if len(places) == 2:
        return places[0], places[1]
    if len(places) == 3 and all(version.isdecimal() for version in places[1:]):
        return f"{places[0]}@{places[1]}", f"{places[0]}@{places[2]}"
    raise InputError(
        f"{' '.join(places)}: expected URL A B, with the numbers of two versions, or two snapshots "
        "URL@A URL@B"
    )


def bare(url: str) -> str:
    """A URL without its version."""
    from mtlirt.storage.url import split_version

    return split_version(url)[0]


def print_comparison(found: Comparison, settings: pd.DataFrame, top: int) -> None:
    """Print the tables of a comparison: what changed, the most certain first."""
    _print_domains(found.domains)
    print()
    _print_models(found.models, top)
    moved = found.traits[found.traits["moved"]].sort_values("p", kind="stable")
    print(f"\n{len(moved):,} of {len(found.traits):,} domain scores moved")
    if len(moved):
        rows = [(*map(str, ids), *_scores(row)) for ids, row in _top(moved, top)]
        print_table(("model", "domain", "before", "after", "difference", "p"), rows)
    print()
    _print_items(found.items, top)
    print()
    if len(settings):
        print_table(
            ("of", "name", "before", "after"),
            [
                (*ids, *(_told(value) for value in row))
                for ids, row in _top(settings, len(settings))
            ],
        )
    else:
        print("no setting differs")


def _print_domains(domains: pd.DataFrame) -> None:
    rows = []
    for domain, row in _top(domains, len(domains)):
        linked = row["change"] == "linked"
        rows.append(
            (
                str(domain),
                row["change"],
                _told(row["items_before"]),
                _told(row["items_after"]),
                _with_error(row["link_scale"], row["link_scale_se"]) if linked else "-",
                _with_error(row["link_shift"], row["link_shift_se"]) if linked else "-",
                int(row["linked_items"]),
                int(row["drifted_items"]),
            )
        )
    heads = ("domain", "change", "items before", "after", "scale (se)", "shift (se)")
    print_table((*heads, "linked items", "drifted"), rows)


def _print_models(models: pd.DataFrame, top: int) -> None:
    changed = models[models["change"] != "kept"]
    order = changed["change"].map({"moved": 0, "added": 1, "withdrawn": 2})
    changed = changed.assign(order=order).sort_values(["order", "p"], kind="stable")
    print(f"models: {_counted(models['change'], ('added', 'withdrawn', 'moved'))}")
    if not len(changed):
        return
    places = ["rank_before", "rank_after", "rank_change"]
    heads = ["model", "change", "before", "after", "difference", "p"]
    heads += ["rank before", "after", "places gained"]
    apart = "component_before" in changed
    if apart:
        places += ["component_before", "component_after"]
        heads += ["component before", "after"]
    rows = [
        (str(model), row["change"], *_scores(row), *(_told(row[name]) for name in places))
        for model, row in _top(changed, top)
    ]
    print_table(heads, rows)
    if apart:
        print(APART)


def _print_items(items: pd.DataFrame, top: int) -> None:
    drifted = items[items["change"] == "drifted"].sort_values("p", kind="stable")
    print(f"items: {_counted(items['change'], ('added', 'withdrawn', 'drifted'))}")
    if not len(drifted):
        return
    rows = [
        (
            *map(str, ids),
            *(_interval(row, f"{name}_") for name in ("slope", "intercept")),
            _number(row["p_adjusted"], ".2g"),
        )
        for ids, row in _top(drifted, top)
    ]
    print_table(("domain", "drifted item", "slope by", "intercept by", "p"), rows)


def _top(table: pd.DataFrame, top: int) -> list[tuple[Any, Any]]:
    return list(table.iloc[:top].iterrows())


def _counted(change: pd.Series, kinds: Sequence[str]) -> str:
    counts = change.value_counts()
    told = ", ".join(f"{counts.get(kind, 0):,} {kind}" for kind in kinds)
    return f"{told}; {counts.get('kept', 0):,} as before"


def _scores(row: pd.Series) -> tuple[str, ...]:
    """Before, after, the difference with its interval, and its adjusted probability."""
    return (
        _number(row["before"], ".2f"),
        _number(row["after"], ".2f"),
        _interval(row, ""),
        _number(row["p_adjusted"], ".2g"),
    )


def _interval(row: pd.Series, prefix: str) -> str:
    difference, lower, upper = (row[f"{prefix}{name}"] for name in ("difference", "lower", "upper"))
    if isnan(difference):
        return "-"
    return f"{difference:+z.2f} [{lower:+z.2f}, {upper:+z.2f}]"


def _with_error(value: float, error: float) -> str:
    return f"{value:z.3f} ({error:.3f})"


def _number(value: float, layout: str) -> str:
    return "-" if isnan(value) else format(value, layout)


def _told(value: object) -> str:
    """A value that may be absent, as text."""
    import pandas as pd

    if value is None or value is pd.NA or (isinstance(value, float) and isnan(value)):
        return "-"
    return str(value)
