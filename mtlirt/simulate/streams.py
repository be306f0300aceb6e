"""Independent random streams of one seed."""

from __future__ import annotations

from enum import IntEnum

import numpy as np


class Stream(IntEnum):
    """What a random stream is for."""

    ITEMS = 0
    TRAITS = 1
    RESPONSES = 2
    MISSING = 3
    ABSENT = 4
    CLONES = 5


def stream(seed: int, purpose: Stream, *key: int) -> np.random.Generator:
    """The random stream of a purpose and key, for a seed that is not negative."""
    sequence = np.random.SeedSequence(seed, spawn_key=(purpose, *key))
    return np.random.Generator(np.random.Philox(sequence))
