"""Run work in this process: in place, or on threads."""

from __future__ import annotations

import sys
from collections.abc import Callable, Iterator, Sequence
from concurrent.futures import Future, ThreadPoolExecutor
from contextlib import contextmanager
from dataclasses import dataclass
from typing import Any, Self

import dask.array as da
import numpy as np
from dask.core import flatten
from dask.local import get_sync


@dataclass(frozen=True)
class Anew:
    """A call that is made anew for every task that needs its result, so that nothing is kept."""

    function: Callable[..., Any]
    call: tuple[Any, ...]

    def made(self) -> Any:
        """The result, its arrays computed in this thread."""
        return in_thread(self.function, self.call)


class Inline:
    """Runs everything at once, in the calling thread; a handle is the result itself.

    Or what makes it anew, once something was loaded that is not to be kept.
    """

    def __init__(self) -> None:
        self._anew = False

    @property
    def here(self) -> Self:
        """Itself."""
        return self

    def memory(self, limit: int | None) -> int:
        """What this process has."""
        return process_memory(limit)

    def load(
        self,
        function: Callable[..., Any],
        groups: Sequence[Sequence[tuple[Any, ...]]],
        keep: bool = True,
    ) -> list[list[Any]]:
        """Compute the arrays of each call and call the function; or put both off."""
        self._anew |= not keep
        made = in_thread if keep else Anew
        return [[made(function, call) for call in calls] for calls in groups]

    def together(self, handles: Sequence[Any]) -> bool:
        """Always, if there are any: there is one thread."""
        return bool(handles)

    def submit(self, function: Callable[..., Any], *args: Any) -> Any:
        """Call the function."""
        return function(*map(resolved, args)) if self._anew else function(*args)

    def submit_all(
        self, function: Callable[..., Any], calls: Sequence[tuple[Any, ...]]
    ) -> list[Any]:
        """Call the function for each call."""
        return [self.submit(function, *call) for call in calls]

    def gather(self, handles: Sequence[Any]) -> list[Any]:
        """The results themselves."""
        return list(map(resolved, handles)) if self._anew else list(handles)


class Threads:
    """Runs functions on the threads of a pool, in the order in which they were submitted.

    A function whose arguments are not ready waits in its thread. That cannot deadlock: what it
    waits for was submitted earlier, so it runs or has run.
    """

    def __init__(self, pool: ThreadPoolExecutor) -> None:
        self._pool = pool

    @property
    def here(self) -> Self:
        """Itself."""
        return self

    def memory(self, limit: int | None) -> int:
        """What this process has."""
        return process_memory(limit)

    def load(
        self,
        function: Callable[..., Any],
        groups: Sequence[Sequence[tuple[Any, ...]]],
        keep: bool = True,
    ) -> list[list[Any]]:
        """Queue the function for each call, its arrays computed in its thread; or put both off."""
        if not keep:
            return [[Anew(function, call) for call in calls] for calls in groups]
        return [
            [self._pool.submit(in_thread, function, call) for call in calls] for calls in groups
        ]

    def together(self, handles: Sequence[Any]) -> bool:
        """Only a result by itself: several are work for several threads."""
        return len(handles) == 1

    def submit(self, function: Callable[..., Any], *args: Any) -> Future[Any]:
        """Queue the function."""
        return self._pool.submit(lambda: function(*(resolved(arg) for arg in args)))

    def submit_all(
        self, function: Callable[..., Any], calls: Sequence[tuple[Any, ...]]
    ) -> list[Future[Any]]:
        """Queue each call by itself: the first free thread takes the next."""
        return [self.submit(function, *call) for call in calls]

    def gather(self, handles: Sequence[Any]) -> list[Any]:
        """Wait for the results."""
        return [resolved(handle) for handle in handles]


def process_memory(limit: int | None) -> int:
    """Bytes that this process may take: the machine's, its group's, or fewer by the limit."""
    from distributed.system import memory_limit

    return min(int(memory_limit()), limit or sys.maxsize)


def in_thread(function: Callable[..., Any], call: tuple[Any, ...]) -> Any:
    """Call a function after computing the arrays among its arguments."""
    return function(*map(computed, call))


def computed(value: Any) -> Any:
    """The value, computed in this thread if it is a Dask array of one chunk.

    Its graph is small and runs as it is: optimising it would take longer, and copy the result.
    """
    if isinstance(value, da.Array):
        (key,) = flatten(value.__dask_keys__())
        return np.asarray(get_sync(dict(value.dask.cull({key})), key))
    return value


def resolved(value: Any) -> Any:
    """The value with every handle in it, also inside lists and tuples, replaced by its result."""
    if isinstance(value, Future):
        return value.result()
    if isinstance(value, Anew):
        return value.made()
    if type(value) in (list, tuple):
        return type(value)(resolved(part) for part in value)
    return value


@contextmanager
def local_executor(threads: int) -> Iterator[Inline | Threads]:
    """An executor on so many threads of this process; 1 runs in place."""
    if threads == 1:
        yield Inline()
        return
    with ThreadPoolExecutor(threads) as pool:
        yield Threads(pool)
