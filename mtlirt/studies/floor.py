"""The floor of every cost: one plain read of the responses' bytes."""

from __future__ import annotations

import time
from collections.abc import Sequence
from concurrent.futures import ThreadPoolExecutor
from typing import Any

import numpy as np
from numpy.typing import NDArray

READS = 15
"""The best of so many reads counts."""


def floor_seconds(blocks: Sequence[NDArray[Any]], threads: int = 2) -> float:
    """Seconds that so many threads take to read all bytes of some blocks once."""
    with ThreadPoolExecutor(threads) as pool:
        return min(_read(pool, blocks) for _ in range(READS))


def _read(pool: ThreadPoolExecutor, blocks: Sequence[NDArray[Any]]) -> float:
    began = time.perf_counter()
    for _ in pool.map(np.max, blocks):
        pass
    return time.perf_counter() - began
