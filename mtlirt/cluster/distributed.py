"""Run work on a Dask cluster, each block's where the block is."""

from __future__ import annotations

import itertools
import sys
import time
import weakref
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from functools import partial
from typing import Any

import dask.array as da
from dask.core import flatten
from dask.utils import format_bytes
from distributed import Client, Future, KilledWorker, futures_of, wait

from mtlirt.cluster.bundle import Reference, packed, parcel, run_calls, unchanged
from mtlirt.cluster.errors import ClusterError
from mtlirt.cluster.local import Anew, Inline, Threads
from mtlirt.cluster.placing import LOAD_CELLS, Home, Place, sorted_homes, spread
from mtlirt.cluster.tasks import Handle, Task, homes
from mtlirt.cluster.workers import asking, check_versions, stuck, translating, wait_for_worker
from mtlirt.errors import InputError

FIRST_WORKER_SECONDS, ANOTHER_WORKER_SECONDS = 60, 300
"""How long to wait for a worker where there is none: in the beginning, and when all were lost."""

MORE_MEMORY = (
    "give workers more (--memory-limit of `dask worker`, or fewer of them to a machine), or store "
    "the responses in smaller chunks (chunks of write_responses)"
)

FETCH_SECONDS = 10.0
"""How long to wait for results that are there before looking for lost workers again."""

LOOK_SECONDS = 0.5
"""How often to look for lost workers."""

PAUSE_SECONDS = 60.0
"""How long a worker may hold work and do none of it, for want of memory."""

TASK_BYTES = 2**22
"""What arguments take beyond this travels by further tasks, so that no task is large to send."""


class Cluster:
    """Runs functions on the workers of a client.

    Every block has a home: a thread of a worker. Its tasks ask for that worker, but may go to
    another where it was lost; the scheduler then loads the lost blocks again, and their new
    homes are where they are found. Where all workers were lost, what is still needed is sent
    again to those that came instead. Nothing is persisted or scattered. Values are gathered in the
    order of submission, so results do not depend on the number of workers or on which of them
    ends first.

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
        if client.status != "running":
            raise InputError(f"client {client!r} is {client.status}; give one that is connected")
        self.here = here
        self._client = client
        self._numbers = itertools.count()
        self._tasks: weakref.WeakSet[Task] = weakref.WeakSet()
        self._looked = 0.0
        self._memory = ""
        self._stuck_since: dict[str, float] = {}
        with asking():
            wait_for_worker(client, FIRST_WORKER_SECONDS)
            check_versions(client)

    def memory(self, limit: int | None) -> int:
        """What the workers say they may take; as much as one can tell where one says nothing."""
        with asking():
            workers = self._client.scheduler_info()["workers"].values()
        asked = limit or sys.maxsize
        return sum(min(worker["memory_limit"] or asked, asked) for worker in workers)

    def load(
        self,
        function: Callable[..., Any],
        groups: Sequence[Sequence[tuple[Any, ...]]],
        keep: bool = True,
    ) -> list[list[Handle]]:
        """Start the calls, the largest groups first, on the thread that holds least.

        A group larger than a thread's fair share goes to the threads call by call. What is not to
        be kept has a home as well; a persisted array stays where it is. Few tasks load what is
        kept; as long as a part of what one loaded is needed, so is the rest.
        """
        groups = [[tuple(map(lean, call)) for call in calls] for calls in groups]
        self._memory = memory_and_need(self._client, groups)
        sizes = [[size_of(call) for call in calls] for calls in groups]
        loaded: dict[Place, Handle] = {}
        for home, places in spread(sizes, self._threads(), LOAD_CELLS if keep else 0):
            calls = [groups[g][k] for g, k in places]
            loaded.update(zip(places, self._load(home, function, calls, keep), strict=True))
        return [[loaded[g, k] for k in range(len(calls))] for g, calls in enumerate(groups)]

    def _load(
        self, home: Home, function: Callable[..., Any], calls: list[tuple[Any, ...]], keep: bool
    ) -> list[Handle]:
        """Start calls, or have their home know how to make them."""
        if keep or any(futures_of(array) for call in calls for array in arrays_of(call)):
            return self._start(home, function, calls)
        return self._start(home, unchanged, [(Anew(function, call),) for call in calls])

    def together(self, handles: Sequence[Handle]) -> bool:
        """Whether they have one home."""
        return len({handle.task.home for handle in handles}) == 1

    def submit(self, function: Callable[..., Any], *args: Any) -> Handle:
        """Start the function at the home of the first result among its arguments that has one."""
        (handle,) = self._start(next(homes(args), None), function, [args])
        return handle

    def submit_all(
        self, function: Callable[..., Any], calls: Sequence[tuple[Any, ...]]
    ) -> list[Handle]:
        """Start the calls, as one task for each of the homes of their arguments."""
        self._look_for_losses()
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
        tasks = list({handle.task.number: handle.task for handle in handles}.values())
        results = dict(zip([task.number for task in tasks], self._fetched(tasks), strict=True))
        return [results[handle.task.number][handle.position] for handle in handles]

    def _fetched(self, tasks: Sequence[Task]) -> list[list[Any]]:
        """The results of tasks, each a list.

        A fetch may wait for ever: for a worker that was lost, as the last one, after it was done.
        """
        patience = FETCH_SECONDS
        while True:
            while not self._done(tasks):
                self._look_for_losses()
            fetch = partial(self._client.gather, [task.sent for task in tasks], asynchronous=True)
            try:
                with self._explaining_deaths():
                    return list(self._client.sync(fetch, callback_timeout=patience))
            except TimeoutError:
                if any(task.sent.status == "error" for task in tasks):
                    raise
                patience *= 2

    def _start(
        self, home: Home | None, function: Callable[..., Any], calls: list[tuple[Any, ...]]
    ) -> list[Handle]:
        """Start calls as one task."""
        task = Task(next(self._numbers), home, function, calls)
        self._tasks.add(task)
        self._send(task)
        return [Handle(task, position) for position in range(len(calls))]

    def _send(self, task: Task) -> None:
        """Send a task to its home, or send it again."""
        place = at(task.home)
        numbered: dict[Any, tuple[int, Future[Any]]] = {}
        data = packed(self._referred(task.calls, numbered))
        sent, *more = [data[k : k + TASK_BYTES] for k in range(0, len(data), TASK_BYTES)]
        parcels = [self._client.submit(parcel, part, pure=False, **place) for part in more]
        handed = [future for _, future in numbered.values()]
        task.future = self._client.submit(
            run_calls, task.function, sent, parcels, handed, pure=False, **place
        )

    def _referred(self, value: Any, numbered: dict[Any, tuple[int, Future[Any]]]) -> Any:
        """A value with references in place of results and of persisted arrays.

        The futures that are referred to are added by their keys, with their numbers.
        """
        if type(value) in (list, tuple):
            return type(value)(self._referred(part, numbered) for part in value)
        position = None
        if isinstance(value, Handle):
            future, position = value.task.sent, value.position
        elif isinstance(value, da.Array) and futures_of(value):
            future = self._client.compute(value.to_delayed().item())
        else:
            return value
        return Reference(numbered.setdefault(future.key, (len(numbered), future))[0], position)

    def _done(self, tasks: Sequence[Task]) -> bool:
        """Whether tasks are done, after waiting for a while."""
        try:
            with translating(), self._client.as_current():
                wait([task.sent for task in tasks], timeout=LOOK_SECONDS)
        except TimeoutError:
            return False
        return True

    def _threads(self) -> list[Home]:
        """The threads of all workers."""
        counts: Mapping[str, int] = {}
        with asking():
            while not counts:  # the last worker may be lost between the two questions
                wait_for_worker(self._client, ANOTHER_WORKER_SECONDS)
                counts = self._client.nthreads()
        return sorted_homes(
            Home(worker, thread) for worker, count in counts.items() for thread in range(count)
        )

    def _look_for_losses(self) -> None:
        """Look, at times, whether workers were lost, and see to what lived there."""
        if time.monotonic() < self._looked + LOOK_SECONDS:
            return
        threads = self._threads()
        self._looked = time.monotonic()
        self._look_for_pauses()
        alive = {home.worker for home in threads}
        lived = {task.home for task in self._tasks if task.home is not None}
        lost = {home for home in lived if home.worker not in alive}
        if lost and lost == lived:
            self._send_all_again(dict(zip(sorted_homes(lost), itertools.cycle(threads))))
        elif lost:
            self._find_lost([task for task in self._tasks if task.home in lost], threads)

    def _look_for_pauses(self) -> None:
        """Give up where a worker has paused for too long: Dask would let its work wait for ever."""
        with asking():
            workers = self._client.scheduler_info()["workers"]
        self._stuck_since = {
            address: self._stuck_since.get(address, self._looked) for address in stuck(workers)
        }
        for address, since in self._stuck_since.items():
            if self._looked > since + PAUSE_SECONDS:
                raise ClusterError(
                    f"worker {address} has paused for want of memory, and does none of its work"
                    f"{self._memory}: {MORE_MEMORY}"
                )

    def _send_all_again(self, instead: dict[Home, Home]) -> None:
        """Send all that is needed still, now that all workers were lost.

        The scheduler leaves tasks alone that asked for a lost worker when there was none.
        """
        for task in sorted(self._tasks, key=lambda task: task.number):
            if task.home is not None:
                task.home = instead[task.home]
            self._send(task)

    def _find_lost(self, lost: list[Task], threads: list[Home]) -> None:
        """Give what lived on lost workers a new home: where the scheduler had it made again.

        What lived together stays so where it can.
        """
        if not self._done(lost):
            return
        with asking():
            holders = self._client.who_has([task.sent for task in lost])
        moved: dict[tuple[Home | None, str], Home] = {}
        for task in sorted(lost, key=lambda task: task.number):
            worker = min(holders.get(task.sent.key) or {home.worker for home in threads})
            if (task.home, worker) not in moved:
                near = [home for home in threads if home.worker == worker] or threads
                moved[task.home, worker] = near[len(moved) % len(near)]
            task.home = moved[task.home, worker]

    @contextmanager
    def _explaining_deaths(self) -> Iterator[None]:
        """As `translating`; where work killed its workers, say how much memory it met."""
        try:
            with translating():
                yield
        except KilledWorker as error:
            raise ClusterError(
                "workers died again and again at the same work, most often for want of memory"
                f"{self._memory}: {MORE_MEMORY}"
            ) from error


def memory_and_need(client: Client, groups: Sequence[Sequence[tuple[Any, ...]]]) -> str:
    """The least memory of a worker, and the largest of the Dask arrays that are to be loaded."""
    with asking():
        workers = client.scheduler_info()["workers"].values()
    limits = [worker["memory_limit"] for worker in workers if worker["memory_limit"]]
    arrays = [array for calls in groups for call in calls for array in arrays_of(call)]
    told = []
    if limits:
        told.append(f"a worker has {format_bytes(min(limits))}")
    if arrays:
        largest = max(arrays, key=lambda array: int(array.nbytes))
        shape, size = " x ".join(map(str, largest.shape)), format_bytes(int(largest.nbytes))
        told.append(f"the largest chunk of the responses is {shape}, {size}")
    return f" ({', '.join(told)})" if told else ""


def lean(value: Any) -> Any:
    """A Dask array with no more of its graph than it needs, unless it is persisted; else itself."""
    if isinstance(value, da.Array) and not futures_of(value):
        graph = value.dask.cull(set(flatten(value.__dask_keys__())))
        return da.Array(graph, value.name, value.chunks, meta=value._meta)
    return value


def arrays_of(call: Sequence[Any]) -> list[da.Array]:
    """The Dask arrays in a call."""
    return [arg for arg in call if isinstance(arg, da.Array)]


def size_of(call: Sequence[Any]) -> int:
    """The cells of the Dask arrays in a call."""
    return sum(int(array.size) for array in arrays_of(call))


def at(home: Home | None) -> dict[str, Any]:
    """What asks the scheduler for a home without insisting on it."""
    return {} if home is None else {"workers": [home.worker], "allow_other_workers": True}
