"""How a domain is stored: its arrays, their chunks and its row of the domain table."""

from __future__ import annotations

from collections.abc import Iterable
from typing import Any

import dask.array as da
import numpy as np

from mtlirt.responses.chunks import chunk_shape
from mtlirt.responses.matrix import MISSING, DomainResponses
from mtlirt.responses.save import Takers

RESPONSES = "responses"
TRIALS = "trials"


def domain_row(
    domain: str, key: str, part: DomainResponses, chunks: tuple[int, int], takers: int
) -> dict[str, Any]:
    """The row of a domain in the domain table."""
    return {
        "domain": domain,
        "key": key,
        "models": takers,
        "items": part.array.shape[1],
        "dtype": str(part.array.dtype),
        "has_trials": part.trials is not None,
        "model_chunk": chunks[0],
        "item_chunk": chunks[1],
    }


def arrays_of(part: DomainResponses) -> list[tuple[str, da.Array, float]]:
    """Name, array and missing value of the arrays that a domain is stored as."""
    missing = np.nan if part.array.dtype == np.float32 else MISSING
    arrays = [(RESPONSES, part.array, missing)]
    if part.trials is not None:
        arrays.append((TRIALS, part.trials, 0))
    return arrays


def chunks_of(part: DomainResponses, chunks: tuple[int, int] | None) -> tuple[int, int]:
    """Models and items of a chunk of a domain: what was asked for at most, or as its size asks."""
    models, items = part.array.shape
    most = chunks or chunk_shape(models, items)
    return min(most[0], models), min(most[1], items)


def count_takers(blocks: Iterable[Takers]) -> int:
    """How many models answered anything, from all blocks of some model chunks."""
    lines: dict[int, Any] = {}
    for line, takers in blocks:
        lines[line] = lines.get(line, False) | takers
    return sum(int(takers.sum()) for takers in lines.values())
