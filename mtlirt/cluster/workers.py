"""What a scheduler says of its workers, and what its troubles mean."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from importlib.metadata import version
from typing import Any

from distributed import CancelledError, Client
from distributed.comm.core import CommClosedError
from distributed.scheduler import NoValidWorkerError, NoWorkerError

from mtlirt.cluster.errors import ClusterError

NO_WORKER = "the scheduler had no worker for too long: start one with `dask worker SCHEDULER`"


def wait_for_worker(client: Client, seconds: float) -> None:
    """Wait until there is a worker; one that has paused is one."""
    if client.nthreads():
        return
    try:
        client.wait_for_workers(1, timeout=seconds)
    except TimeoutError:
        raise ClusterError(f"{NO_WORKER} ({seconds} s)") from None


def check_versions(client: Client) -> None:
    """Refuse workers that run another version of the package."""
    mine = package_version()
    for worker, theirs in client.run(package_version, on_error="return").items():
        if isinstance(theirs, OSError):
            continue  # it was lost meanwhile
        if theirs != mine:
            found = f"cannot be run ({theirs})" if isinstance(theirs, Exception) else f"is {theirs}"
            raise ClusterError(
                f"worker {worker}: mtlirt {found}, in this process it is {mine}; install one "
                "version everywhere"
            )


def stuck(workers: Mapping[str, Mapping[str, Any]]) -> list[str]:
    """Those of the workers, as their scheduler tells of them, that have paused and run nothing.

    They have work left, or there is no other worker that might get some.
    """
    left = {}
    for address, worker in workers.items():
        tasks = worker["metrics"].get("task_counts", {})
        if worker["status"] == "paused" and not tasks.get("executing"):
            left[address] = sum(count for state, count in tasks.items() if state != "memory")
    return [address for address, count in left.items() if count or len(left) == len(workers)]


def package_version() -> str:
    """The version of this package where it runs."""
    return version("mtlirt")


@contextmanager
def asking() -> Iterator[None]:
    """As `translating`, around questions to the scheduler alone."""
    try:
        with translating():
            yield
    except OSError as error:
        raise ClusterError(
            f"the scheduler is out of reach: see that it runs, then run again ({error})"
        ) from error


@contextmanager
def translating() -> Iterator[None]:
    """Turn what Dask says of lost workers and schedulers into errors that say what to do."""
    try:
        yield
    except (NoValidWorkerError, NoWorkerError) as error:
        raise ClusterError(f"{NO_WORKER}: {error}") from error
    except (CancelledError, CommClosedError) as error:
        reason = " ".join(str(error).split())[:200]
        raise ClusterError(
            "the cluster lost the work, most often for its scheduler ended: see that it runs, then "
            f"run again ({reason})"
        ) from error
