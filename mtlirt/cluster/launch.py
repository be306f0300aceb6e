"""Reach a Dask cluster, or start one on this machine."""

from __future__ import annotations

import os
from collections.abc import Iterator
from contextlib import contextmanager
from typing import TYPE_CHECKING

import dask

from mtlirt.cluster.errors import ClusterError
from mtlirt.errors import InputError

if TYPE_CHECKING:
    from distributed import Client

OWN_SCHEDULER = {
    "distributed.scheduler.work-stealing": False,
    "distributed.scheduler.allowed-failures": 10,
    "distributed.scheduler.no-workers-timeout": "5 minutes",
}
"""What a scheduler of ours is told: blocks stay where they are, workers may come and go."""


@contextmanager
def connected(address: str) -> Iterator[Client]:
    """A client of the scheduler at an address, closed in the end; the cluster goes on.

    Raises
    ------
    InputError
        If it is no address.
    ClusterError
        If there is no scheduler in reach.
    """
    from distributed import Client

    try:
        client = Client(address, set_as_default=False)
    except ValueError as error:
        raise InputError(
            f"scheduler {address!r}: {error}; give an address like tcp://HOST:8786"
        ) from error
    except OSError as error:
        raise ClusterError(f"cannot reach a scheduler at {address}: {error}") from error
    with client:
        yield client


@contextmanager
def local_cluster(
    workers: int, threads: int | None = None, *, processes: bool = True
) -> Iterator[Client]:
    """A client of a cluster of this machine that lives as long as the context.

    Parameters
    ----------
    workers
        How many.
    threads
        Threads of each; None shares the cores out.
    processes
        Whether every worker is a process, or a part of this one.
    """
    from distributed import Client, LocalCluster

    with (
        dask.config.set(OWN_SCHEDULER),
        LocalCluster(
            n_workers=workers,
            threads_per_worker=threads or max(1, (os.cpu_count() or 1) // workers),
            processes=processes,
            dashboard_address="127.0.0.1:0",
        ) as cluster,
        Client(cluster, set_as_default=False) as client,
    ):
        yield client
