"""What a worker does: calls of one function, with references in place of what it has already."""

from __future__ import annotations

import pickle
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Any

import dask.array as da
import numpy as np
import numpy.typing as npt
from distributed.protocol.pickle import dumps

from mtlirt.cluster.local import Anew, computed

Bytes = npt.NDArray[np.uint8]


@dataclass(frozen=True)
class Reference:
    """Stands for something that a task is handed beside its arguments.

    Attributes
    ----------
    number
        Its position among what the task is handed.
    position
        If that is a list of results, which one is meant; None for all of it.
    """

    number: int
    position: int | None


def packed(calls: Sequence[tuple[Any, ...]], size: int) -> list[Bytes]:
    """Arguments as bytes, in parts of at most so many, one at least.

    Arrays come out of them writable, so that compiled functions meet one kind of array only. The
    bytes themselves are in arrays, which Dask sends as they are: it would copy others many times.
    """
    data = np.frombuffer(dumps(calls, protocol=4), np.uint8)
    return [data[start : start + size] for start in range(0, len(data), size)]


def run_calls(
    function: Callable[..., Any], sent: Bytes, parcels: Sequence[Bytes], handed: Sequence[Any]
) -> list[Any]:
    """Results of ``function(*call)`` for each of the packed calls, their references replaced."""
    calls = pickle.loads(np.concatenate([sent, *parcels]).data)
    return [function(*filled(call, handed)) for call in calls]


def filled(value: Any, handed: Sequence[Any]) -> Any:
    """The value with references replaced and Dask arrays computed, also in lists and tuples."""
    if isinstance(value, Reference):
        found = handed[value.number]
        found = found if value.position is None else found[value.position]
        return found.made() if isinstance(found, Anew) else found
    if isinstance(value, da.Array):
        return computed(value)
    if type(value) in (list, tuple):
        return type(value)(filled(part, handed) for part in value)
    return value


def parcel(part: Bytes) -> Bytes:
    """A part of the arguments of another task; it has a task, so it is sent again where lost."""
    return part


def unchanged(value: Any) -> Any:
    """The value, as the result of a task."""
    return value
