"""What a worker does: calls of one function, with references in place of what it has already."""

from __future__ import annotations

import io
import pickle
from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass
from itertools import accumulate
from typing import Any

import cloudpickle
import dask.array as da
import numpy as np
import numpy.typing as npt

from mtlirt.cluster.local import Anew, computed

Bytes = npt.NDArray[np.uint8]

ALIGNED = 16
"""Each array that travels starts at a multiple of so many bytes."""


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


class WritablePickler(cloudpickle.Pickler):  # type: ignore[misc]
    """Pickles arrays that may not be written to as ones that may."""

    def reducer_override(self, obj: Any) -> Any:
        """How to pickle an object, if not as usual."""
        if type(obj) is np.ndarray and not obj.flags.writeable:
            return obj.copy().__reduce_ex__(5)
        return super().reducer_override(obj)


def packed(value: Any) -> Bytes:
    """A value as bytes: the number and the lengths of its pieces, its arrays, its pickle.

    Bytes in an array Dask sends as they are. Many arrays it would send one by one, other bytes it
    would copy many times.
    """
    buffers: list[pickle.PickleBuffer] = []
    pickled = io.BytesIO()
    WritablePickler(pickled, protocol=5, buffer_callback=buffers.append).dump(value)
    raw = [*(buffer.raw() for buffer in buffers), pickled.getbuffer()]
    pieces = [np.frombuffer(piece, np.uint8) for piece in raw]
    lengths = np.array([len(pieces), *map(len, pieces)], np.int64)
    pieces.insert(0, lengths.view(np.uint8))
    *starts, end = aligned(map(len, pieces))
    data = np.zeros(end, np.uint8)
    for start, piece in zip(starts, pieces, strict=True):
        data[start : start + len(piece)] = piece
    return data


def unpacked(data: Bytes) -> Any:
    """The value; its arrays share the memory of the bytes, and may be written to if those may."""
    count = int(data[:8].view(np.int64)[0])
    lengths = data[8 : 8 * (count + 1)].view(np.int64).tolist()
    _, *starts, _ = aligned([8 * (count + 1), *lengths])
    *buffers, pickled = (data[start : start + n] for start, n in zip(starts, lengths, strict=True))
    return pickle.loads(pickled.data, buffers=buffers)


def aligned(lengths: Iterable[int]) -> list[int]:
    """Where pieces of such lengths start, one after the other, and where the next would."""
    return list(accumulate((-(-length // ALIGNED) * ALIGNED for length in lengths), initial=0))


class Results(list[Any]):
    """What the calls of a task returned; it travels packed."""

    def __reduce__(self) -> tuple[Any, ...]:
        return results, (packed(list(self)),)


def results(data: Bytes) -> Results:
    """Results that travelled."""
    return Results(unpacked(data.copy()))


def run_calls(
    function: Callable[..., Any], sent: Bytes, parcels: Sequence[Bytes], handed: Sequence[Any]
) -> Results:
    """Results of ``function(*call)`` for each of the packed calls, their references replaced.

    Arrays among the arguments may all be written to, so that compiled functions meet one kind only.
    """
    calls = unpacked(np.concatenate([sent, *parcels]))
    return Results(function(*filled(call, handed)) for call in calls)


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
