"""What a scaling study is asked for."""

from __future__ import annotations

import json
import os
from dataclasses import asdict, dataclass
from importlib.metadata import version

from mtlirt.errors import InputError
from mtlirt.studies.scaling_runs import Group, Run, Size, catalogue


def powers_of_two() -> tuple[int, ...]:
    """1, 2, 4, ... as far as this machine has cores."""
    return tuple(2**k for k in range((os.cpu_count() or 1).bit_length()))


@dataclass(frozen=True)
class ScalingOptions:
    """What the figures of a scaling study depend on, besides the machine.

    Attributes
    ----------
    workers, threads
        See `mtlirt.studies.scaling_runs.catalogue`.
    rounds
        Of each fit.
    turns
        Fits of each run that are timed; the best of them counts.
    seed
        Of the responses, not negative.
    small
        See `mtlirt.studies.scaling_runs.catalogue`.
    """

    workers: tuple[int, ...]
    threads: tuple[int, ...]
    rounds: int = 4
    turns: int = 3
    seed: int = 0
    small: bool = False

    def __post_init__(self) -> None:
        for name in ("workers", "threads"):
            values = getattr(self, name)
            if not values or min(values) < 1 or len(set(values)) < len(values):
                told = ", ".join(map(str, values)) or "none"
                raise InputError(f"{name} {told}: expected different numbers from 1 up")
        for name in ("rounds", "turns"):
            if getattr(self, name) < 1:
                raise InputError(f"{name} {getattr(self, name)}: expected 1 or more")
        if self.seed < 0:
            raise InputError(f"seed {self.seed}: expected 0 or more")

    @property
    def groups(self) -> dict[Group, list[Run]]:
        """The runs of each group."""
        return catalogue(self.workers, self.threads, small=self.small)

    @property
    def runs(self) -> list[Run]:
        """All runs, each once."""
        return list(dict.fromkeys(run for runs in self.groups.values() for run in runs))

    def described(self) -> bytes:
        """The options, and the version of this package, as JSON."""
        described = asdict(self) | {"study": "scaling", "mtlirt": version("mtlirt")}
        return json.dumps(described, indent=2).encode()


@dataclass(frozen=True)
class Target:
    """What the costs are projected to.

    Attributes
    ----------
    size
        Of the problem.
    workers
        Of one thread each.
    rounds
        Of the fit.
    """

    size: Size
    workers: int = 100
    rounds: int = 10


TARGETS = (
    Target(Size(models=100_000, items=1000, domains=1000)),
    Target(Size(models=100_000, items=1000, domains=1000, missing=0.2)),
)
"""10^5 models x 10^6 items on 100 workers: complete, and with a fifth of the cells missing."""
