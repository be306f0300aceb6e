"""Where blocks live: which thread of which worker loads what, in which task."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass

LOAD_CELLS = 2**24
"""What one task loads beyond its first group: few tasks, of which a lost worker's go to several."""


@dataclass(frozen=True)
class Home:
    """A thread of a worker, by the worker's address and the thread's number."""

    worker: str
    thread: int


Place = tuple[int, int]
"""A call, by its group and its position there."""


def spread(
    sizes: Sequence[Sequence[int]], threads: Sequence[Home], most: int
) -> Iterator[tuple[Home, list[Place]]]:
    """Give each call a home, the largest groups first on the thread that holds least.

    A group larger than a thread's fair share goes to the threads call by call.

    Parameters
    ----------
    sizes
        Of the calls of each group.
    most
        What is loaded by one task beyond its first group, or call of a group that is spread.

    Yields
    ------
    home, places
        Calls that one task loads.
    """
    held = dict.fromkeys(threads, 0)
    share = sum(map(sum, sizes)) / len(held)
    tasks: dict[Home, list[Place]] = {home: [] for home in threads}
    cells = dict.fromkeys(threads, 0)
    for g in sorted(range(len(sizes)), key=lambda g: sum(sizes[g]), reverse=True):
        calls = [(g, k) for k in range(len(sizes[g]))]
        whole = sum(sizes[g]) <= share or len(calls) == 1
        for part in [calls] if whole else [[call] for call in calls]:
            size = sum(sizes[g][k] for _, k in part)
            home = min(held, key=lambda home: held[home])
            held[home] += size
            if tasks[home] and cells[home] + size > most:
                yield home, tasks[home]
                tasks[home], cells[home] = [], 0
            tasks[home] += part
            cells[home] += size
    yield from ((home, calls) for home, calls in tasks.items() if calls)


def sorted_homes(some: Iterable[Home]) -> list[Home]:
    """Homes in an order, one of each worker before the second of any."""
    return sorted(some, key=lambda home: (home.thread, home.worker))
