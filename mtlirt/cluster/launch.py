"""Reach a Dask cluster, or start one on this machine."""

from __future__ import annotations

import os
import signal
import socket
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from multiprocessing import resource_tracker
from typing import TYPE_CHECKING

import dask
from dask.utils import parse_bytes

from mtlirt.cluster.errors import ClusterError
from mtlirt.errors import InputError

if TYPE_CHECKING:
    from distributed import Client

FEW_MESSAGES = {"distributed.admin.low-level-log-length": 10}
"""What each end of a connection goes by: of the last messages, with all that was sent in them, it
keeps a log, of 1,000 by default."""

OWN_SCHEDULER = {
    **FEW_MESSAGES,
    "distributed.scheduler.work-stealing": False,
    "distributed.scheduler.allowed-failures": 10,
    "distributed.scheduler.no-workers-timeout": "5 minutes",
    "distributed.scheduler.worker-ttl": "1 minute",
}
"""What a scheduler of ours is told: blocks stay where they are, workers may come and go, and one
that is silent for a minute is given up, before another minute is over."""

WHILE_IT_LIVES = {**FEW_MESSAGES, "distributed.deploy.lost-worker-timeout": "1000 days"}
"""What a cluster of this machine goes by: nannies put others in the place of lost workers.

By default it would look some seconds after a loss, and end the nanny of a worker that is away just
then, as one is that was lost again."""

GREETING_SECONDS = 10.0
"""How long a scheduler may take to speak."""

MOST_WORKERS = 1024
"""Of a cluster on one machine."""


@dataclass(frozen=True)
class ClusterOptions:
    """Where work runs: in this process, unless a scheduler or a number of workers is given.

    Attributes
    ----------
    scheduler
        Address of a running scheduler, such as ``tcp://HOST:8786``.
    workers
        Workers of a cluster on this machine that is started for the work.
    threads
        Threads of each of them, or of this process where there are none; None shares the cores
        out.
    processes
        Whether each of them is a process, or a part of this one.
    memory_limit
        Bytes of memory of each of them, or of this process; None is what there is.
    """

    scheduler: str | None = None
    workers: int | None = None
    threads: int | None = None
    processes: bool = True
    memory_limit: int | None = None

    def __post_init__(self) -> None:
        if self.scheduler is not None and self.workers is not None:
            raise InputError(
                f"scheduler {self.scheduler} has workers of its own; leave workers {self.workers} "
                "out, or the scheduler"
            )
        for name in ("workers", "threads", "memory_limit"):
            value = getattr(self, name)
            if value is not None and (type(value) is not int or value < 1):
                raise InputError(f"{name} {value!r} is not a whole number from 1 up")
        for name in ("workers", "threads"):
            if (getattr(self, name) or 0) > MOST_WORKERS:
                told = f"{name} {getattr(self, name)}"
                raise InputError(f"{told}: one machine takes {MOST_WORKERS} at most")


def memory_bytes(text: str) -> int:
    """Bytes of a text such as "2GiB".

    Raises
    ------
    ValueError
        If it is no amount of memory.
    """
    try:
        return int(parse_bytes(text))
    except (ValueError, OverflowError):
        raise ValueError(f"{text!r} is no amount of memory such as 2GiB") from None


@contextmanager
def open_client(options: ClusterOptions) -> Iterator[Client | None]:
    """A client as asked for, closed in the end; None for this process.

    Raises
    ------
    InputError
        If the scheduler's address is none.
    ClusterError
        If there is no scheduler in reach.
    """
    if options.scheduler is not None:
        with connected(options.scheduler) as client:
            yield client
    elif options.workers is not None:
        with local_cluster(
            options.workers,
            options.threads,
            processes=options.processes,
            memory_limit=options.memory_limit,
        ) as client:
            yield client
    else:
        yield None


@contextmanager
def connected(address: str) -> Iterator[Client]:
    """A client of the scheduler at an address; the cluster lives on."""
    from distributed import Client

    try:
        check_greeting(address)
        with dask.config.set(FEW_MESSAGES):
            client = Client(address, set_as_default=False)
    except OSError as error:
        raise ClusterError(f"cannot reach a scheduler at {address}: {error}") from error
    with client:
        yield client


def check_greeting(address: str) -> None:
    """Refuse what is no address, or does not speak first as Dask does: a client would wait on."""
    from distributed.comm.addressing import get_address_host_port, parse_address

    try:
        place = get_address_host_port(address)
        scheme, _ = parse_address(address)
        if scheme != "tcp":
            return
        with socket.create_connection(place, timeout=GREETING_SECONDS) as connection:
            greeting = connection.recv(1)
    except (ValueError, OverflowError) as error:
        raise InputError(
            f"scheduler {address!r}: {error}; give an address like tcp://HOST:8786"
        ) from error
    except TimeoutError:
        greeting = b""
    if not greeting:
        raise ClusterError(f"what listens at {address} is no Dask scheduler, or does not answer")


@contextmanager
def without_interrupts() -> Iterator[None]:
    """Start threads and processes that leave Ctrl-C to this one: it ends them in good order."""
    resource_tracker.ensure_running()  # started later, it would let interrupts through again
    before = signal.pthread_sigmask(signal.SIG_BLOCK, {signal.SIGINT})
    try:
        yield
    finally:
        signal.pthread_sigmask(signal.SIG_SETMASK, before)


@contextmanager
def local_cluster(
    workers: int,
    threads: int | None = None,
    *,
    processes: bool = True,
    memory_limit: int | None = None,
) -> Iterator[Client]:
    """A client of a cluster of this machine that lives as long as the context.

    Parameters
    ----------
    workers, threads, processes, memory_limit
        See `ClusterOptions`.
    """
    from distributed import Client, LocalCluster

    with dask.config.set(OWN_SCHEDULER), without_interrupts():
        cluster = LocalCluster(
            n_workers=workers,
            threads_per_worker=threads or max(1, (os.cpu_count() or 1) // max(1, workers)),
            processes=processes,
            memory_limit=memory_limit or "auto",
            dashboard_address="127.0.0.1:0",
        )
    with (
        dask.config.set(WHILE_IT_LIVES),
        cluster,
        Client(cluster, set_as_default=False, direct_to_workers=True) as client,
    ):
        yield client
