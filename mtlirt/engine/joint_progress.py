"""Where fits of the joint estimator stand, also as plain arrays."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any, TypeVar

import numpy as np
import numpy.typing as npt

from mtlirt.engine.acceleration import Anderson
from mtlirt.engine.events import RoundEvent
from mtlirt.engine.joint_domain import Candidate
from mtlirt.engine.joint_problem import JointState
from mtlirt.engine.placement import PlacedDomain
from mtlirt.engine.progress import (
    Arrays,
    history_array,
    history_from,
    memory_arrays,
    memory_from,
    named,
    named_so,
)
from mtlirt.irt.curves import Items


@dataclass(frozen=True)
class JointProgress:
    """Where rounds at some C stand; rounds that go on from here end as if they had not stopped.

    Attributes
    ----------
    state
        Where the next round begins.
    plain
        Where it would without acceleration.
    last
        What the last round came to.
    memory
        Of the acceleration.
    still
        How many of the last rounds left the objective where it was.
    history
        Of all rounds so far.
    """

    state: JointState
    plain: JointState
    last: JointState
    memory: Anderson = field(default_factory=Anderson)
    still: int = 0
    history: tuple[RoundEvent, ...] = ()

    @classmethod
    def of(cls, state: JointState) -> JointProgress:
        """Before the first round."""
        return cls(state, state, state)

    @property
    def converged(self) -> bool:
        """Whether the last round was the last."""
        return bool(self.history) and self.history[-1].converged

    def arrays(self) -> dict[str, npt.NDArray[np.generic]]:
        """All of it as arrays of numbers, by name; a state that is another one only once."""
        arrays = {
            **named("last", state_arrays(self.last)),
            **named("memory", memory_arrays(self.memory)),
            "still": np.array(self.still),
            "history": history_array(self.history),
        }
        if self.plain is not self.last:
            arrays |= named("plain", state_arrays(self.plain))
        if self.state is not self.plain:
            arrays |= named("state", state_arrays(self.state))
        return arrays

    @classmethod
    def from_arrays(cls, arrays: Arrays, domains: Sequence[PlacedDomain]) -> JointProgress:
        """Back from `arrays`, for the same responses.

        Raises
        ------
        ValueError
            If they are not of these domains, items and models.
        """
        last = state_from(named_so("last", arrays), domains)
        plain_arrays, moved_arrays = named_so("plain", arrays), named_so("state", arrays)
        plain = state_from(plain_arrays, domains) if plain_arrays else last
        return cls(
            state_from(moved_arrays, domains) if moved_arrays else plain,
            plain,
            last,
            memory_from(named_so("memory", arrays)),
            int(arrays["still"]),
            history_from(arrays["history"]),
        )


@dataclass(frozen=True)
class FoldProgress:
    """Where the path of a fold stands, between one C and the next.

    Attributes
    ----------
    state
        The fit at the last C, from which that at the next one starts.
    one_for_all
        The fit of one trait for all domains.
    losses, fused
        At every C so far: held-out losses, and numbers of fused domains.
    """

    state: JointState
    one_for_all: JointState
    losses: tuple[float, ...] = ()
    fused: tuple[int, ...] = ()

    def arrays(self) -> dict[str, npt.NDArray[np.generic]]:
        """All of it as arrays of numbers, by name."""
        return {
            **named("state", state_arrays(self.state)),
            **named("one_for_all", state_arrays(self.one_for_all)),
            "losses": np.array(self.losses, np.float64),
            "fused": np.array(self.fused, np.int64),
        }

    @classmethod
    def from_arrays(cls, arrays: Arrays, domains: Sequence[PlacedDomain]) -> FoldProgress:
        """Back from `arrays`; see `JointProgress.from_arrays`."""
        return cls(
            state_from(named_so("state", arrays), domains),
            state_from(named_so("one_for_all", arrays), domains),
            tuple(arrays["losses"].tolist()),
            tuple(arrays["fused"].tolist()),
        )


Standing = TypeVar("Standing", JointProgress, FoldProgress)


def standing_arrays(standing: Mapping[str, Standing]) -> dict[str, npt.NDArray[Any]]:
    """Where several things stand, by name, as arrays."""
    return {
        name: array
        for each, progress in standing.items()
        for name, array in named(each, progress.arrays()).items()
    }


def standing_from(
    kind: type[Standing], arrays: Arrays, names: Iterable[str], domains: Sequence[PlacedDomain]
) -> dict[str, Standing]:
    """Where those of some names stand, back from their arrays; without those that do not."""
    found = {name: named_so(name, arrays) for name in names}
    return {name: kind.from_arrays(of, domains) for name, of in found.items() if of}


def state_arrays(state: JointState) -> dict[str, npt.NDArray[np.generic]]:
    """A state as arrays; domains without traits of their own stand there with the general one."""
    own = [
        general if part is None else part
        for part, general in zip(state.own, state.at_general, strict=True)
    ]
    return {
        **named("own", candidate_arrays(own)),
        **named("at_general", candidate_arrays(state.at_general)),
        "apart": np.array([part is not None for part in state.own]),
        "general": state.general,
        "fused": state.fused,
        "objective": np.array(state.objective),
        "strides": np.array([*state.strides, state.general_stride]),
    }


def state_from(arrays: Arrays, domains: Sequence[PlacedDomain]) -> JointState:
    """A state back from its arrays."""
    own, at_general = (
        candidates_from(named_so(name, arrays), domains) for name in ("own", "at_general")
    )
    *strides, general_stride = arrays["strides"].tolist()
    return JointState(
        tuple(part if apart else None for part, apart in zip(own, arrays["apart"], strict=True)),
        at_general,
        arrays["general"],
        arrays["fused"],
        float(arrays["objective"]),
        tuple(strides),
        general_stride,
    )


def candidate_arrays(candidates: Sequence[Candidate]) -> dict[str, npt.NDArray[np.generic]]:
    """Candidates of all domains as arrays; traits that they share only once."""
    traits = np.stack([part.traits for part in candidates])
    return {
        "traits": traits[:1] if (traits == traits[0]).all() else traits,
        "slope": np.concatenate([part.items.slope for part in candidates]),
        "intercept": np.concatenate([part.items.intercept for part in candidates]),
        "loss": np.array([part.loss for part in candidates]),
    }


def candidates_from(arrays: Arrays, domains: Sequence[PlacedDomain]) -> tuple[Candidate, ...]:
    """Candidates of all domains back from their arrays."""
    shape = len(arrays["loss"]), arrays["traits"].shape[1], len(arrays["slope"])
    ends = np.cumsum([len(domain.cells) for domain in domains])
    expected = len(domains), len(domains[0].models), int(ends[-1])
    if shape != expected:
        raise ValueError(f"{shape} domains, models and items, expected {expected}")
    traits = np.resize(arrays["traits"], shape[:2])
    slope, intercept = (np.split(arrays[part], ends[:-1]) for part in ("slope", "intercept"))
    return tuple(
        Candidate(theta, Items(a, d, domain.guessing), float(loss))
        for theta, a, d, domain, loss in zip(
            traits, slope, intercept, domains, arrays["loss"], strict=True
        )
    )
