"""Digests of models' rows and items' columns of responses: equal ones are copies."""

from __future__ import annotations

import hashlib
from typing import Any

import numpy as np

from mtlirt.diagnostics.cells import attempts, successes
from mtlirt.irt.blocks import ResponseBlock

BYTES = 16
"""Of a digest: two different rows share one with a probability of 1e-38."""


class Digests:
    """Takes lines of responses part by part.

    Attributes
    ----------
    answered
        Whether a line holds any answer, shape (lines,).
    """

    def __init__(self, lines: int) -> None:
        self._states = [hashlib.blake2b(digest_size=BYTES) for _ in range(lines)]
        self.answered = np.zeros(lines, bool)

    def update(self, first: int, block: ResponseBlock) -> None:
        """Add a block to some lines: its rows are the lines from `first` on."""
        cells = np.ascontiguousarray(_values(block))
        self.answered[first : first + len(cells)] |= (attempts(block) > 0.0).any(axis=1)
        for state, line in zip(self._states[first:], cells, strict=False):
            state.update(line.data)

    @property
    def values(self) -> list[bytes]:
        """The digest of each line."""
        return [state.digest() for state in self._states]


def transposed(block: ResponseBlock) -> ResponseBlock:
    """The block with a row for each item."""
    return ResponseBlock(block.responses.T, block.weight.T if block.weight.size else block.weight)


def _values(block: ResponseBlock) -> np.ndarray[Any, Any]:
    """A value for each cell that is the same for the same answers."""
    if not block.weight.size:
        return block.responses
    return np.stack([successes(block), attempts(block)], axis=2).reshape(len(block.responses), -1)
