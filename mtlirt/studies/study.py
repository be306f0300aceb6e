"""Run a study: its replications side by side, each written as soon as it is done."""

from __future__ import annotations

from collections import deque
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from typing import TYPE_CHECKING, Protocol

from mtlirt.cluster.errors import ClusterError
from mtlirt.cluster.executor import Executor, open_executor
from mtlirt.errors import InputError
from mtlirt.storage.root import Root, open_root
from mtlirt.storage.tables import to_parquet
from mtlirt.studies.collect import collect
from mtlirt.studies.options import StudyOptions, difference
from mtlirt.studies.replicate import replicate
from mtlirt.studies.rows import Row

if TYPE_CHECKING:
    from mtlirt.cluster.executor import Client

OPTIONS, REPLICATIONS = "options.json", "replications"

AHEAD = 256
"""So many replications are handed to a cluster before the first of them is waited for."""


@dataclass(frozen=True)
class Progress:
    """How far a study is.

    Attributes
    ----------
    done, of
        Replications of all rows that are written, and that there are.
    name
        Of the one written last; empty if that was in an earlier run.
    """

    done: int
    of: int
    name: str


def run_study(
    url: str,
    options: StudyOptions,
    client: Client | None,
    listener: Callable[[Progress], None],
) -> list[str]:
    """Run what is missing of a study in a folder, then collect it.

    Parameters
    ----------
    url
        The folder, a local path or URL. Workers write to it: they must reach it by this name.
    options
        What is asked for; a folder takes one set of options only.
    client
        Of a cluster; None runs one replication after the other in this process.
    listener
        Called in the beginning and after every replication.

    Returns
    -------
    list of str
        The names of the files in the folder that tell the results.

    Raises
    ------
    InputError
        If the folder holds another study, or anything else.
    StorageError, ClusterError
        If the folder, the cluster or its workers are out of reach. What is written is kept, and
        another run goes on from there.
    """
    root = open_root(url)
    claim(root, options)
    names = {
        file_name(row, replication): (row, replication)
        for row in options.chosen
        for replication in range(options.replications)
    }
    written = set(root.names(REPLICATIONS))
    missing = {name: task for name, task in names.items() if name not in written}
    done = len(names) - len(missing)
    listener(Progress(done, len(names), ""))
    for name in run_all(root, missing, options, client):
        done += 1
        listener(Progress(done, len(names), name))
    lost = set(missing) - set(root.names(REPLICATIONS))
    if lost:
        raise ClusterError(
            f"{root.url}: {len(lost)} replications are not there, as {min(lost)}: the workers "
            "wrote elsewhere; give a folder that they share with this process, or an s3:// URL"
        )
    return collect(root, [f"{REPLICATIONS}/{name}" for name in names])


class Described(Protocol):
    """Options of a study."""

    def described(self) -> bytes:
        """All of them, as JSON."""


def claim(root: Root, options: Described) -> None:
    """Make a new or empty folder one of these options; refuse that of others."""
    mine = options.described()
    if all(name.startswith(".") for name in root.names("")):
        root.put(OPTIONS, mine)
        return
    try:
        found = difference(root.read_bytes(OPTIONS), mine)
    except FileNotFoundError:
        raise InputError(
            f"{root.url}: is not empty and holds no study; give an empty or new folder"
        ) from None
    except ValueError as error:
        raise InputError(f"{root.url}: {OPTIONS}: cannot be read: {error}") from None
    if found:
        raise InputError(
            f"{root.url}: holds a study of {found}; repeat its options, or give another folder"
        )


def file_name(row: Row, replication: int) -> str:
    """Where the results of a replication are, in the folder of all."""
    return f"{row.name}-{replication:05d}.parquet"


def run_all(
    root: Root,
    tasks: dict[str, tuple[Row, int]],
    options: StudyOptions,
    client: Client | None,
) -> Iterator[str]:
    """Run replications; gives the names of their files, in order, as they are written."""
    ahead = 0 if client is None else AHEAD
    running: deque[tuple[str, object]] = deque()
    with open_executor(client, 1) as executor:
        for name, (row, replication) in tasks.items():
            arguments = root.location, name, row, replication, options.methods, options.seed
            running.append((name, executor.submit(run_one, *arguments)))
            if len(running) > ahead:
                yield _finished(executor, running)
        while running:
            yield _finished(executor, running)


def _finished(executor: Executor, running: deque[tuple[str, object]]) -> str:
    """Wait for the replication that was started first."""
    name, handle = running.popleft()
    executor.gather([handle])
    return name


def run_one(
    location: str, name: str, row: Row, replication: int, methods: tuple[str, ...], seed: int
) -> None:
    """Run a replication where this is called, and write its results from there."""
    table = replicate(row, replication, methods, seed)
    open_root(location).put(f"{REPLICATIONS}/{name}", to_parquet(table))
