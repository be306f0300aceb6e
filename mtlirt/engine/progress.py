"""Where an alternation stands: all that its next round depends on, also as plain arrays."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import astuple, dataclass, field
from typing import Any

import numpy as np
import numpy.typing as npt

from mtlirt.engine.acceleration import Anderson
from mtlirt.engine.events import RoundEvent
from mtlirt.engine.placement import PlacedDomain
from mtlirt.engine.state import State
from mtlirt.irt.curves import Items
from mtlirt.irt.representation import Representation
from mtlirt.irt.slopes import SlopePrior

Arrays = Mapping[str, npt.NDArray[Any]]

EVENT_TYPES = (int, float, float, int, int, float, float, bool)
"""Of the fields of a `RoundEvent`."""


@dataclass(frozen=True)
class Progress:
    """Where rounds stand; a fit that goes on from here ends as if it had not stopped.

    Attributes
    ----------
    state
        Where the next round begins.
    last
        What the last round came to.
    memory
        Of the acceleration.
    revisions
        How many of `rounds.REVISIONS` are done.
    revised_in
        The round that the last change of those ended; 0 before any.
    history
        Of all rounds so far.
    """

    state: State
    last: State
    memory: Anderson = field(default_factory=Anderson)
    revisions: int = 0
    revised_in: int = 0
    history: tuple[RoundEvent, ...] = ()

    @classmethod
    def of(cls, state: State) -> Progress:
        """Before the first round."""
        return cls(state, state)

    @property
    def converged(self) -> bool:
        """Whether the last round was the last."""
        return bool(self.history) and self.history[-1].converged

    def arrays(self) -> dict[str, npt.NDArray[np.generic]]:
        """All of it as arrays of numbers, by name."""
        return {
            **named("state", state_arrays(self.state)),
            **named("last", state_arrays(self.last)),
            **named("memory", memory_arrays(self.memory)),
            "counts": np.array([self.revisions, self.revised_in], np.int64),
            "history": history_array(self.history),
        }

    @classmethod
    def from_arrays(cls, arrays: Arrays, domains: Sequence[PlacedDomain]) -> Progress:
        """Back from `arrays`, for the same responses.

        Raises
        ------
        ValueError
            If they are not of these domains, items and models.
        """
        revisions, revised_in = (int(count) for count in arrays["counts"])
        memory = memory_from(named_so("memory", arrays))
        state, last = (state_from(named_so(name, arrays), domains) for name in ("state", "last"))
        return cls(state, last, memory, revisions, revised_in, history_from(arrays["history"]))


def named(name: str, arrays: Arrays) -> dict[str, npt.NDArray[Any]]:
    """Arrays of one thing among those of others."""
    return {f"{name}.{part}": array for part, array in arrays.items()}


def named_so(name: str, arrays: Arrays) -> dict[str, npt.NDArray[Any]]:
    """The arrays that were `named` so; none if none were."""
    prefix = f"{name}."
    return {
        part.removeprefix(prefix): array
        for part, array in arrays.items()
        if part.startswith(prefix)
    }


def memory_arrays(memory: Anderson) -> dict[str, npt.NDArray[np.float64]]:
    """The memory of an acceleration as arrays."""
    points, residuals = memory.iterates
    return {"points": np.array(points, np.float64), "residuals": np.array(residuals, np.float64)}


def memory_from(arrays: Arrays) -> Anderson:
    """The memory back from its arrays."""
    return Anderson(list(arrays["points"]), list(arrays["residuals"]))


def history_array(history: Sequence[RoundEvent]) -> npt.NDArray[np.float64]:
    """Rounds as rows of numbers."""
    rows = np.array([astuple(event) for event in history], np.float64)
    return rows.reshape(len(history), len(EVENT_TYPES))


def history_from(rows: npt.NDArray[Any]) -> tuple[RoundEvent, ...]:
    """Rounds back from their rows."""
    return tuple(
        RoundEvent(*(kind(value) for kind, value in zip(EVENT_TYPES, row, strict=True)))
        for row in rows
    )


def state_arrays(state: State) -> dict[str, npt.NDArray[np.generic]]:
    """A state as arrays, those of all items one after another."""
    return {
        "slope": np.concatenate([part.slope for part in state.items]),
        "intercept": np.concatenate([part.intercept for part in state.items]),
        "information": np.concatenate(state.information),
        "held": np.concatenate(state.held),
        "slope_priors": np.array(state.slope_priors),
        "precision": state.precision,
        "shift": state.shift,
        "centre": state.representation.centre,
        "loadings": state.representation.loadings,
        "uniqueness": state.representation.uniqueness,
        "alone": state.alone,
        "unsigned": state.unsigned,
    }


def state_from(found: Arrays, domains: Sequence[PlacedDomain]) -> State:
    """A state back from its arrays."""
    shape = len(domains[0].answered), len(domains)
    ends = np.cumsum([len(domain.cells) for domain in domains])
    if found["precision"].shape != shape or len(found["slope"]) != ends[-1]:
        raise ValueError(
            f"{found['precision'].shape} models and domains with {len(found['slope'])} items, "
            f"expected {shape} with {ends[-1]}"
        )
    slope, intercept, information, held = (
        np.split(found[part], ends[:-1]) for part in ("slope", "intercept", "information", "held")
    )
    return State(
        tuple(
            Items(a, d, domain.guessing)
            for a, d, domain in zip(slope, intercept, domains, strict=True)
        ),
        tuple(information),
        tuple(SlopePrior(float(mean), float(weight)) for mean, weight in found["slope_priors"]),
        tuple(held),
        found["precision"],
        found["shift"],
        Representation(found["centre"], found["loadings"], found["uniqueness"]),
        found["alone"],
        found["unsigned"],
    )


Keep = Callable[[Arrays], None]
"""Keeps where a fit stands, instead of what it kept before, for another process to go on from."""


def unkept(arrays: Arrays) -> None:
    """Keep nothing."""
