"""Run work on a Dask cluster, each block's where the block is."""

from __future__ import annotations

import time
import weakref
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from importlib.metadata import version
from typing import Any

import dask.array as da
from distributed import CancelledError, Client, Future, KilledWorker, wait
from distributed.comm.core import CommClosedError

from mtlirt.cluster.bundle import Reference, packed, parcel, run_calls
from mtlirt.cluster.errors import ClusterError
from mtlirt.cluster.local import Inline, Threads
from mtlirt.errors import InputError

WORKERS_TIMEOUT = 60
"""Seconds to wait for the first worker."""

LOOK_SECONDS = 0.5
"""How often to look for lost workers."""

TASK_BYTES = 2**22
"""What arguments take beyond this travels by further tasks, so that no task is large to send."""


@dataclass(frozen=True)
class Home:
    """A thread of a worker, by the worker's address and the thread's number."""

    worker: str
    thread: int


@dataclass(eq=False)
class Handle:
    """A result on the cluster.

    Attributes
    ----------
    future
        Of a list of results.
    position
        Which of them it is.
    home
        Where the block is that it was made from; None if from none.
    """

    future: Future[list[Any]]
    position: int
    home: Home | None


class Cluster:
    """Runs functions on the workers of a client.

    Every block has a home: a thread of a worker. Its tasks ask for that worker, but may go to
    another where it was lost; the scheduler then loads the lost blocks again, and their new
    homes are where they are found. Nothing is persisted or scattered: whatever is lost has a task
    that makes it again. Values are gathered in the order of submission, so results do not depend
    on the number of workers or on which of them ends first.

    Parameters
    ----------
    client
        Of the cluster.
    here
        The executor of this process.

    Raises
    ------
    InputError
        If the client is none, or an asynchronous one.
    ClusterError
        If no worker joins, or one runs another version of this package.
    """

    def __init__(self, client: Client, here: Inline | Threads) -> None:
        if not isinstance(client, Client) or client.asynchronous:
            raise InputError(f"client {client!r} is not a (blocking) dask.distributed Client")
        self.here = here
        self._client = client
        self._placed: weakref.WeakSet[Handle] = weakref.WeakSet()
        self._look_again = 0.0
        with translating():
            check_workers(client)

    def load(
        self, function: Callable[..., Any], groups: Sequence[Sequence[tuple[Any, ...]]]
    ) -> list[list[Handle]]:
        """Start the calls, the largest groups first, on the thread that holds least.

        A group larger than a thread's fair share goes to the threads call by call.
        """
        sizes = [[size_of(call) for call in calls] for calls in groups]
        held = dict.fromkeys(self._threads(), 0)
        share = sum(map(sum, sizes)) / len(held)
        loaded: list[list[Handle]] = [[] for _ in groups]
        for g in sorted(range(len(groups)), key=lambda g: sum(sizes[g]), reverse=True):
            whole = sum(sizes[g]) <= share or len(groups[g]) == 1
            home = min(held, key=lambda home: held[home])
            for call, size in zip(groups[g], sizes[g], strict=True):
                if not whole:
                    home = min(held, key=lambda home: held[home])
                held[home] += size
                ready = tuple(self._computed(arg, home) for arg in call)
                loaded[g] += self._start(home, function, [ready])
        return loaded

    def together(self, handles: Sequence[Handle]) -> bool:
        """Whether they have one home."""
        return len({handle.home for handle in handles}) == 1

    def submit(self, function: Callable[..., Any], *args: Any) -> Handle:
        """Start the function at the home of the first result among its arguments that has one."""
        (handle,) = self._start(next(homes(args), None), function, [args])
        return handle

    def submit_all(
        self, function: Callable[..., Any], calls: Sequence[tuple[Any, ...]]
    ) -> list[Handle]:
        """Start the calls, as one task for each of the homes of their arguments."""
        self._find_lost()
        bundles: dict[Home | None, list[int]] = {}
        for k, call in enumerate(calls):
            bundles.setdefault(next(homes(call), None), []).append(k)
        handles: dict[int, Handle] = {}
        for home, bundle in bundles.items():
            started = self._start(home, function, [calls[k] for k in bundle])
            handles.update(zip(bundle, started, strict=True))
        return [handles[k] for k in range(len(calls))]

    def gather(self, handles: Sequence[Handle]) -> list[Any]:
        """Wait for the results and fetch them."""
        futures = {handle.future.key: handle.future for handle in handles}
        with translating():
            found = dict(zip(futures, self._client.gather(list(futures.values())), strict=True))
        return [found[handle.future.key][handle.position] for handle in handles]

    def _start(
        self, home: Home | None, function: Callable[..., Any], calls: Sequence[tuple[Any, ...]]
    ) -> list[Handle]:
        """Start calls as one task."""
        numbered: dict[Any, tuple[int, Future[Any]]] = {}
        sent, *more = packed(referring(list(calls), numbered), TASK_BYTES)
        handed = [future for _, future in numbered.values()]
        parcels = [self._client.submit(parcel, part, pure=False, **at(home)) for part in more]
        future = self._client.submit(
            run_calls, function, sent, parcels, handed, pure=False, **at(home)
        )
        handles = [Handle(future, position, home) for position in range(len(calls))]
        if home is not None:
            self._placed.update(handles)
        return handles

    def _computed(self, value: Any, home: Home) -> Any:
        """A future of the values of a one-block Dask array; another value as it is."""
        if not isinstance(value, da.Array):
            return value
        return self._client.compute(value.to_delayed().item(), **at(home))

    def _threads(self) -> list[Home]:
        """The threads of all workers, one of each worker before the second of any."""
        with translating():
            counts = self._client.nthreads()
        return sorted(
            (Home(worker, thread) for worker, count in counts.items() for thread in range(count)),
            key=lambda home: (home.thread, home.worker),
        )

    def _find_lost(self) -> None:
        """Give what lived on lost workers a new home: where it was made again.

        Looks at most once every `LOOK_SECONDS`; what lived together stays so where it can.
        """
        if time.monotonic() < self._look_again:
            return
        threads = self._threads()
        self._look_again = time.monotonic() + LOOK_SECONDS
        alive = {home.worker for home in threads}
        lost = [h for h in self._placed if h.home is not None and h.home.worker not in alive]
        if not lost:
            return
        futures = {handle.future.key: handle.future for handle in lost}
        with translating(), self._client.as_current():
            wait(list(futures.values()))
            holders = self._client.who_has(list(futures.values()))
        moved: dict[tuple[Home | None, str], Home] = {}
        for handle in sorted(lost, key=lambda handle: str(handle.future.key)):
            worker = min(holders.get(handle.future.key) or alive)
            if (handle.home, worker) not in moved:
                near = [home for home in threads if home.worker == worker] or threads
                moved[handle.home, worker] = near[len(moved) % len(near)]
            handle.home = moved[handle.home, worker]


def referring(value: Any, numbered: dict[Any, tuple[int, Future[Any]]]) -> Any:
    """The value with a reference for every result in it, also inside lists and tuples.

    The futures that the references mean are added by their keys, with their numbers.
    """
    if isinstance(value, Handle):
        return referring(value.future, numbered).at(value.position)
    if isinstance(value, Future):
        return Reference(numbered.setdefault(value.key, (len(numbered), value))[0])
    if type(value) in (list, tuple):
        return type(value)(referring(part, numbered) for part in value)
    return value


def check_workers(client: Client) -> None:
    """Wait for a worker, and refuse workers that run another version of the package."""
    try:
        client.wait_for_workers(1, timeout=WORKERS_TIMEOUT)
    except TimeoutError:
        raise ClusterError(
            f"no worker joined the scheduler within {WORKERS_TIMEOUT} s; start one with "
            "`dask worker SCHEDULER`"
        ) from None
    mine = package_version()
    for worker, theirs in client.run(package_version, on_error="return").items():
        if theirs != mine:
            found = f"cannot run it ({theirs})" if isinstance(theirs, Exception) else theirs
            raise ClusterError(
                f"worker {worker}: mtlirt is {found}, in this process {mine}; install one version "
                "everywhere"
            )


def size_of(call: Sequence[Any]) -> int:
    """The cells of the Dask arrays in a call."""
    return sum(int(arg.size) for arg in call if isinstance(arg, da.Array))


def package_version() -> str:
    """The version of this package where it runs."""
    return version("mtlirt")


def at(home: Home | None) -> dict[str, Any]:
    """What asks the scheduler for a home without insisting on it."""
    return {} if home is None else {"workers": [home.worker], "allow_other_workers": True}


def homes(args: Sequence[Any]) -> Iterator[Home]:
    """The homes of the handles in some arguments, in their order."""
    for arg in args:
        if isinstance(arg, Handle):
            if arg.home is not None:
                yield arg.home
        elif type(arg) in (list, tuple):
            yield from homes(arg)


@contextmanager
def translating() -> Iterator[None]:
    """Turn what Dask says of lost workers and schedulers into errors that say what to do."""
    try:
        yield
    except KilledWorker as error:
        raise ClusterError(
            f"workers died again and again while running {error.task}: most often for want of "
            "memory; give them more, or store the responses in smaller chunks"
        ) from error
    except (CancelledError, CommClosedError) as error:
        raise ClusterError(f"the cluster lost the work: {error}; run again") from error
