"""How many items are taken from each benchmark."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

import numpy as np
import numpy.typing as npt
import pandas as pd

from mtlirt.distill.candidates import Candidates
from mtlirt.errors import InputError

Wanted = int | Mapping[str, int]
"""A number of items in all, or of each domain; a domain that is not named gives none."""


def open_counts(candidates: Candidates) -> npt.NDArray[np.intp]:
    """The number of items of each domain that may be chosen, shape (domains,)."""
    numbers = candidates.domain_numbers[candidates.open]
    return np.bincount(numbers, minlength=len(candidates.domains))


def open_rows(candidates: Candidates) -> list[npt.NDArray[np.intp]]:
    """By domain: which rows of the table of items may be chosen."""
    rows = np.flatnonzero(candidates.open)
    numbers = candidates.domain_numbers[rows]
    return [rows[numbers == t] for t in range(len(candidates.domains))]


def rows_of(candidates: Candidates, chosen: pd.Index[Any]) -> npt.NDArray[np.intp]:
    """Which rows of the table of items the chosen ones are.

    Raises
    ------
    InputError
        Where it does not hold one of them.
    """
    rows = candidates.items.index.get_indexer(chosen)
    if (rows < 0).any():
        domain, item = chosen[int(np.flatnonzero(rows < 0)[0])]
        raise InputError(f"domain {domain!r}: item {item!r} is not among the candidates")
    return rows


def counts_of(candidates: Candidates, wanted: Wanted) -> dict[str, int]:
    """The number of items of every domain, in the order of domains; a total is shared equally.

    Raises
    ------
    InputError
        Where a domain is unknown, a number negative or more than its open items.
    """
    if not isinstance(wanted, Mapping):
        return equal_counts(candidates, wanted)
    unknown = [name for name in wanted if name not in candidates.totals.index]
    if unknown:
        raise InputError(
            f"domain {unknown[0]!r}: there is none; choose of {', '.join(candidates.domains)}"
        )
    counts = {name: wanted.get(name, 0) for name in candidates.domains}
    for (name, count), there in zip(counts.items(), open_counts(candidates), strict=True):
        if not 0 <= count <= there:
            raise InputError(f"domain {name!r}: {count:,} items asked for, {there:,} are open")
    return counts


def total_of(candidates: Candidates, count: int) -> int:
    """A total, if there are so many open items.

    Raises
    ------
    InputError
        Where it is negative or more than the open items of all domains.
    """
    there = open_counts(candidates)
    if not 0 <= count <= there.sum():
        each = ", ".join(
            f"{number:,} in {name!r}"
            for name, number in zip(candidates.domains, there, strict=True)
        )
        raise InputError(f"{count:,} items asked for, {there.sum():,} are open: {each}")
    return count


def equal_counts(candidates: Candidates, count: int) -> dict[str, int]:
    """The same number of items from every domain, as nearly as their open items allow.

    Raises
    ------
    InputError
        See `total_of`.
    """
    return _apportioned(candidates, count, [1] * len(candidates.domains))


def proportional_counts(candidates: Candidates, count: int) -> dict[str, int]:
    """Numbers in proportion to all items of the domains, as nearly as open items allow.

    Raises
    ------
    InputError
        See `total_of`.
    """
    return _apportioned(candidates, count, candidates.totals.to_list())


def _apportioned(candidates: Candidates, count: int, shares: Sequence[int]) -> dict[str, int]:
    """Seats by the method of Webster and Sainte-Lague, no domain more than it has open."""
    there = open_counts(candidates)
    seats = np.zeros(len(shares), dtype=np.intp)
    for _ in range(total_of(candidates, count)):
        claims = np.where(seats < there, np.divide(shares, 2 * seats + 1), -np.inf)
        seats[claims.argmax()] += 1
    return dict(zip(candidates.domains, seats.tolist(), strict=True))
