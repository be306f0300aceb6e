"""Run work on a Dask cluster, each block's where the block is."""

from __future__ import annotations

import weakref
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from importlib.metadata import version
from typing import Any

import dask.array as da
from dask.sizeof import sizeof
from distributed import CancelledError, Client, Future, KilledWorker, wait
from distributed.comm.core import CommClosedError

from mtlirt.cluster.bundle import Reference, parameter, run_calls
from mtlirt.cluster.errors import ClusterError
from mtlirt.cluster.local import Inline, Threads
from mtlirt.errors import InputError

WORKERS_TIMEOUT = 60
"""Seconds to wait for the first worker."""

TASK_BYTES = 2**22
"""Arguments beyond this travel by tasks of their own, so that no task's description is large."""


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
        with translating():
            check_workers(client)

    def load(self, function: Callable[..., Any], calls: Sequence[tuple[Any, ...]]) -> list[Handle]:
        """Start the calls, the largest first, each on the thread that holds least."""
        sizes = [sum(arg.size for arg in call if isinstance(arg, da.Array)) for call in calls]
        held = dict.fromkeys(self._threads(), 0)
        handles: dict[int, Handle] = {}
        for k in sorted(range(len(calls)), key=lambda k: sizes[k], reverse=True):
            home = min(held, key=lambda home: held[home])
            held[home] += sizes[k]
            call = tuple(self._computed(arg, home) for arg in calls[k])
            (handles[k],) = self._start(home, function, [call])
        return [handles[k] for k in range(len(calls))]

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
        task = Packing(self._client, home)
        packed = task.packed(list(calls), TASK_BYTES)
        future = self._client.submit(
            run_calls, function, packed, task.futures, pure=False, **at(home)
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
        """Give what lived on lost workers a new home: where it was made again."""
        threads = self._threads()
        alive = {home.worker for home in threads}
        lost = [h for h in self._placed if h.home is not None and h.home.worker not in alive]
        if not lost:
            return
        futures = {handle.future.key: handle.future for handle in lost}
        with translating(), self._client.as_current():
            wait(list(futures.values()))
            holders = self._client.who_has(list(futures.values()))
        shared = dict.fromkeys(threads, 0)
        moved: dict[Any, Home] = {}
        for key in futures:
            near = [home for home in threads if home.worker in holders.get(key, ())] or threads
            moved[key] = min(near, key=lambda home: shared[home])
            shared[moved[key]] += 1
        for handle in lost:
            handle.home = moved[handle.future.key]


class Packing:
    """Arguments of one task, made ready to travel.

    Attributes
    ----------
    futures
        What the task needs that is on the cluster, in the order of the references to it.
    """

    def __init__(self, client: Client, home: Home | None) -> None:
        self.futures: list[Future[Any]] = []
        self._client = client
        self._home = home
        self._numbers: dict[Any, int] = {}

    def packed(self, value: Any, room: float) -> Any:
        """A value with references for results, and for parts that are too large for the room."""
        size = sizeof(value)
        if size <= room:
            return self._referring(value)
        if size > TASK_BYTES and type(value) in (list, tuple):
            return type(value)(self.packed(part, room / len(value)) for part in value)
        return self._reference(
            self._client.submit(parameter, self._referring(value), pure=False, **at(self._home))
        )

    def _referring(self, value: Any) -> Any:
        if isinstance(value, Handle):
            return self._reference(value.future, value.position)
        if isinstance(value, Future):
            return self._reference(value)
        if type(value) in (list, tuple):
            return type(value)(map(self._referring, value))
        return value

    def _reference(self, future: Future[Any], position: int | None = None) -> Reference:
        number = self._numbers.setdefault(future.key, len(self.futures))
        if number == len(self.futures):
            self.futures.append(future)
        return Reference(number, position)


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
