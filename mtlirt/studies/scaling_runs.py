"""The runs of the scaling study: which sizes are fitted where."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass, replace
from typing import Literal, get_args

Group = Literal[
    "strong, threads", "strong, workers", "weak, threads", "weak, workers",
    "models", "items", "domains", "missing",
]  # fmt: skip

GROUPS: tuple[Group, ...] = get_args(Group)


@dataclass(frozen=True)
class Size:
    """The size of a problem.

    Attributes
    ----------
    models
        Their number.
    items
        Of each domain.
    domains
        Their number.
    missing
        The probability that a cell is missing.
    """

    models: int
    items: int
    domains: int
    missing: float = 0.0

    @property
    def cells(self) -> int:
        """Models x all items."""
        return self.models * self.items * self.domains


@dataclass(frozen=True)
class Place:
    """Where a fit runs.

    Attributes
    ----------
    workers
        Worker processes of this machine; 0 is this process.
    threads
        Of each of them, or of this process.
    """

    workers: int
    threads: int

    @property
    def lanes(self) -> int:
        """Threads that work on responses."""
        return max(1, self.workers) * self.threads

    @property
    def told(self) -> str:
        """The place in words."""
        lanes = f"{self.threads} thread{'s' * (self.threads > 1)}"
        if self.workers == 0:
            return lanes
        return f"{self.workers} worker{'s' * (self.workers > 1)} of {lanes}"


@dataclass(frozen=True)
class Run:
    """A size that is fitted at a place; several groups may look at it."""

    size: Size
    place: Place

    @property
    def name(self) -> str:
        """A name for its file."""
        size, place = self.size, self.place
        shape = f"{size.models}x{size.items}x{size.domains}"
        return f"{shape}-missing{size.missing:g}-workers{place.workers}-threads{place.threads}"


BASE = Size(models=2000, items=100, domains=32)
SMALL = Size(models=60, items=10, domains=6)
"""The base points that everything is varied around."""

FACTORS = (0.25, 0.5, 1, 2, 4)
SMALL_FACTORS = (1, 2)
"""By which models, items and domains are multiplied, one at a time."""

MANY_ITEMS = 16
"""Items are multiplied by this as well: passes over cells, the cheapest work, then show. So they
are where fits are spread over threads and workers."""

MISSING = (0.0, 0.05, 0.2, 0.6, 0.95)
SMALL_MISSING = (0.0, 0.2)


def catalogue(
    workers: tuple[int, ...], threads: tuple[int, ...], *, small: bool
) -> dict[Group, list[Run]]:
    """The runs of each group, in the order of the table.

    Parameters
    ----------
    workers, threads
        Numbers of worker processes, of one thread each, and of threads of this process. Costs
        against size are measured on the most threads.
    small
        A tiny base point and few variations, for tests.
    """
    groups: dict[Group, list[Run]] = {group: [] for group in GROUPS}
    for group, run in _runs(workers, threads, small):
        groups[group].append(run)
    return groups


def _runs(
    workers: tuple[int, ...], threads: tuple[int, ...], small: bool
) -> Iterator[tuple[Group, Run]]:
    base = SMALL if small else BASE
    factors = SMALL_FACTORS if small else FACTORS
    long = replace(base, items=base.items * MANY_ITEMS)
    for count in threads:
        yield "strong, threads", Run(long, Place(0, count))
        yield "weak, threads", Run(_widened(long, count), Place(0, count))
    for count in workers:
        yield "strong, workers", Run(long, Place(count, 1))
        yield "weak, workers", Run(_widened(long, count), Place(count, 1))
    place = Place(0, max(threads))
    for factor in factors:
        yield "models", Run(replace(base, models=round(base.models * factor)), place)
        yield "domains", Run(_widened(base, factor), place)
    for factor in (*factors, MANY_ITEMS):
        yield "items", Run(replace(base, items=round(base.items * factor)), place)
    for share in SMALL_MISSING if small else MISSING:
        yield "missing", Run(replace(base, missing=share), place)


def _widened(size: Size, factor: float) -> Size:
    return replace(size, domains=round(size.domains * factor))
