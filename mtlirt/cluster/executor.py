"""What the engine needs of a place where work runs, and which place that is."""

from __future__ import annotations

import os
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from typing import TYPE_CHECKING, Any, Protocol

from threadpoolctl import threadpool_limits

from mtlirt.cluster.local import local_executor

if TYPE_CHECKING:
    from distributed import Client as Client


class Executor(Protocol):
    """Runs functions, possibly elsewhere, on values and on handles of earlier results."""

    @property
    def here(self) -> Executor:
        """Runs functions in this process, for small work on values at hand."""

    def memory(self, limit: int | None) -> int:
        """Bytes of memory of all its processes together, of each at most the limit."""

    def load(
        self,
        function: Callable[..., Any],
        groups: Sequence[Sequence[tuple[Any, ...]]],
        keep: bool = True,
    ) -> list[list[Any]]:
        """Start ``function(*call)`` for each call of each group and return handles of the results.

        Dask arrays among the arguments are computed first, where the function then runs. Calls
        are spread by the sizes of their arrays, those of a group together unless it is larger
        than its share; work on a result goes to where it is. Results that are not to be kept are
        computed anew for each task that needs them.
        """

    def together(self, handles: Sequence[Any]) -> bool:
        """Whether work on all these results is best done by one task."""

    def submit(self, function: Callable[..., Any], *args: Any) -> Any:
        """Start ``function(*args)`` and return a handle of its result.

        Arguments may hold handles, also inside lists and tuples.
        """

    def submit_all(
        self, function: Callable[..., Any], calls: Sequence[tuple[Any, ...]]
    ) -> list[Any]:
        """Start ``function(*call)`` for each call, few tasks in all; handles of the results."""

    def gather(self, handles: Sequence[Any]) -> list[Any]:
        """The results behind the handles, in their order; raises what the functions raised."""


@contextmanager
def open_executor(client: Client | None, threads: int | None) -> Iterator[Executor]:
    """An executor on a Dask cluster, or on so many threads of this process.

    Linear algebra stays in the thread that asks for it: its own threads would fight with these over
    the cores, and round by how many there are.

    Parameters
    ----------
    client
        A client of the cluster; None for this process.
    threads
        Threads of this process; None is one a core.
    """
    here_threads = threads or os.cpu_count() or 1
    with threadpool_limits(1, "blas"), local_executor(here_threads) as here:
        if client is None:
            yield here
            return
        from mtlirt.cluster.distributed import Cluster

        yield Cluster(client, here)
