"""Run work in this process: in place, or on threads."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from concurrent.futures import Future, ThreadPoolExecutor
from contextlib import contextmanager
from typing import Any, Protocol


class Executor(Protocol):
    """Runs functions, possibly elsewhere, on values and on handles of earlier results."""

    def submit(self, function: Callable[..., Any], *args: Any) -> Any:
        """Start ``function(*args)`` and return a handle of its result.

        Arguments may hold handles, also inside lists and tuples.
        """
        ...

    def gather(self, handles: Sequence[Any]) -> list[Any]:
        """The results behind the handles, in their order; raises what the functions raised."""
        ...


class Inline:
    """Runs everything at once, in the calling thread; a handle is the result itself."""

    def submit(self, function: Callable[..., Any], *args: Any) -> Any:
        """Call the function."""
        return function(*args)

    def gather(self, handles: Sequence[Any]) -> list[Any]:
        """The results themselves."""
        return list(handles)


class Threads:
    """Runs functions on the threads of a pool, in the order in which they were submitted.

    A function whose arguments are not ready waits in its thread. That cannot deadlock: what it
    waits for was submitted earlier, so it runs or has run.
    """

    def __init__(self, pool: ThreadPoolExecutor) -> None:
        self._pool = pool

    def submit(self, function: Callable[..., Any], *args: Any) -> Future[Any]:
        """Queue the function."""
        return self._pool.submit(lambda: function(*(resolved(arg) for arg in args)))

    def gather(self, handles: Sequence[Any]) -> list[Any]:
        """Wait for the results."""
        return [resolved(handle) for handle in handles]


def resolved(value: Any) -> Any:
    """The value with every future in it, also inside lists and tuples, replaced by its result."""
    if isinstance(value, Future):
        return value.result()
    if type(value) in (list, tuple):
        return type(value)(resolved(part) for part in value)
    return value


@contextmanager
def local_executor(threads: int) -> Iterator[Executor]:
    """An executor on so many threads of this process; 1 runs in place."""
    if threads == 1:
        yield Inline()
        return
    with ThreadPoolExecutor(threads) as pool:
        yield Threads(pool)
