"""The rows of the simulation study: what each of them draws."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from typing import Literal, get_args

from mtlirt.errors import InputError
from mtlirt.simulate.designs import PAPER_COUNTS, Design, numbered_design
from mtlirt.simulate.laws import (
    AngledTraits,
    GroupedTraits,
    GuessedItems,
    ItemLaw,
    NegativeItems,
    TraitLaw,
    uniform_items,
)

Group = Literal["paper", "variants", "harder"]

ANGLES = (0.0, 0.1, 0.15, 0.2, 0.25, 0.3, 0.35, 0.4, 0.45, 0.5)
"""The paper's h."""

WIDEST = ANGLES[-1]
"""The h of all rows but the paper's: there domains have most of their own."""

UNTOLD = float("nan")
"""The h of a row whose traits have no common direction to turn away from."""


@dataclass(frozen=True)
class Row:
    """A row of the study.

    Attributes
    ----------
    name
        How it is asked for.
    group
        "paper": the paper's own; "variants": other relations between the domains; "harder":
        less, worse or more data.
    h
        The largest sine of an angle between a trait and its centre; NaN where there is none.
    design
        What responses are drawn from.
    missing
        The probability that a cell is missing.
    noise
        The domain whose responses are independent of any trait; None if there is none.
    clones
        The share of models that are near copies of others.
    floors_known
        Whether methods are told the items' chances of answering right by guessing.
    """

    name: str
    group: Group
    h: float
    design: Design
    missing: float = 0.0
    noise: str | None = None
    clones: float = 0.0
    floors_known: bool = False


def catalogue(*, small: bool = False) -> dict[str, Row]:
    """All rows by name, in the order of the table.

    Parameters
    ----------
    small
        Six domains of 20-40 items and 40 models instead of 18 of 50-100 and 100: the same rows
        in a small part of the time, for tests.
    """
    return {row.name: row for row in _rows(small)}


def _rows(small: bool) -> Iterator[Row]:
    counts = (20, 24, 28, 32, 36, 40) if small else PAPER_COUNTS
    short = (10, 14, 18, 22, 26, 30) * (1 if small else 3)
    models, domains = (40 if small else 100), len(counts)
    wide = tuple((counts * 4)[: 12 if small else 56])
    most = round(0.6 * domains)
    strays = domains // 6
    alike = AngledTraits(WIDEST)

    def design(
        name: str,
        traits: TraitLaw = alike,
        counts: tuple[int, ...] = counts,
        items: ItemLaw = uniform_items,
    ) -> Design:
        return numbered_design(name, traits, counts, models=models, items=items)

    for h in ANGLES:
        name = f"paper-{h:.2f}"
        yield Row(name, "paper", h, design(name, AngledTraits(h)))
    for name, traits in {
        "two-centres": GroupedTraits(WIDEST, (most, domains - most)),
        "paired": GroupedTraits(WIDEST, (domains,), sharing=2),
        "outliers": GroupedTraits(WIDEST, (domains - strays,), strays=strays),
        "random": GroupedTraits(0.0, (), strays=domains),
        "two-blocks": GroupedTraits(WIDEST, (domains // 2, domains - domains // 2)),
    }.items():
        yield Row(name, "variants", WIDEST if traits.centres else UNTOLD, design(name, traits))
    yield Row("noise", "variants", WIDEST, design("noise"), noise="d06")
    yield Row("short", "harder", WIDEST, design("short", counts=short))
    yield Row("wide", "harder", WIDEST, design("wide", counts=wide))
    yield Row("negative", "harder", WIDEST, design("negative", items=NegativeItems(0.05)))
    for name, known in (("guessing", False), ("guessing-known", True)):
        guessed = design(name, items=GuessedItems(0.25))
        yield Row(name, "harder", WIDEST, guessed, floors_known=known)
    yield Row("clones", "harder", WIDEST, design("clones"), clones=0.2)
    for name, missing, times in (
        ("missing-20", 0.2, 1),
        ("missing-60", 0.6, 1),
        ("missing-95", 0.95, 5),
    ):
        longer = tuple(times * count for count in counts)
        yield Row(name, "harder", WIDEST, design(name, counts=longer), missing=missing)


def find_rows(asked: Sequence[str]) -> tuple[str, ...]:
    """The names of rows, in the order of the table.

    Parameters
    ----------
    asked
        Names of rows and of groups; "all" is every row.

    Raises
    ------
    InputError
        If a name is none or occurs twice, or there is none.
    """
    if len(set(asked)) < len(asked):
        raise InputError(f"rows {', '.join(asked)}: name each once")
    rows = catalogue().values()
    groups = get_args(Group)
    known = {"all", *groups, *(row.name for row in rows)}
    for name in asked:
        if name not in known:
            names = ", ".join(["all", *groups, *(row.name for row in rows)])
            raise InputError(f"row {name!r}: there is none; known are {names}")
    found = tuple(row.name for row in rows if {"all", row.group, row.name} & set(asked))
    if not found:
        raise InputError("no rows: name one at least")
    return found
