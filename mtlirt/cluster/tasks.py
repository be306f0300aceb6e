"""What is sent to a cluster, and what stands for its results."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from typing import Any

from distributed import Future

from mtlirt.cluster.placing import Home


@dataclass(eq=False)
class Task:
    """Calls of a function that were sent as one task, and what sends them again.

    Attributes
    ----------
    number
        Of the task; it needs results of lower numbers only.
    home
        Where the block is that it works on; None if on none.
    function, calls
        What is called, once for each of the calls.
    future
        Of the list of results, once it was sent.
    """

    number: int
    home: Home | None
    function: Callable[..., Any]
    calls: list[tuple[Any, ...]]
    future: Future[list[Any]] | None = None

    @property
    def sent(self) -> Future[list[Any]]:
        """The future of a task that was sent."""
        assert self.future is not None
        return self.future


@dataclass(frozen=True, eq=False)
class Handle:
    """A result on the cluster: one of those of a task."""

    task: Task
    position: int


def homes(args: Sequence[Any]) -> Iterator[Home]:
    """The homes of the handles in some arguments, in their order."""
    for arg in args:
        if isinstance(arg, Handle):
            if arg.task.home is not None:
                yield arg.task.home
        elif type(arg) in (list, tuple):
            yield from homes(arg)
