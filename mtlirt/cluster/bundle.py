"""What a worker does: calls of one function, with references in place of what it has already."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Any


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


def run_calls(
    function: Callable[..., Any], calls: Sequence[tuple[Any, ...]], handed: Sequence[Any]
) -> list[Any]:
    """Results of ``function(*call)`` for each call, its references replaced."""
    return [function(*call) for call in filled(calls, handed)]


def filled(value: Any, handed: Sequence[Any]) -> Any:
    """The value with every reference in it, also inside lists and tuples, replaced."""
    if isinstance(value, Reference):
        found = handed[value.number]
        return filled(found, handed) if value.position is None else found[value.position]
    if type(value) in (list, tuple):
        return type(value)(filled(part, handed) for part in value)
    return value


def parameter(value: Any) -> Any:
    """The value: a task that carries an argument, run again where its result is lost."""
    return value
