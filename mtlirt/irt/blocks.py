"""One block of responses as the kernels read it."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
import numpy.typing as npt

from mtlirt.irt import cells
from mtlirt.irt.kernels import Float, column_products

ONE_ATTEMPT = np.zeros((0, 0), np.float32)
"""The weight of a block in which every response is one attempt."""


@dataclass(frozen=True)
class ResponseBlock:
    """Responses of some models to some items of one domain.

    Attributes
    ----------
    responses
        Models x items: int8 with 1 correct, 0 wrong, -1 missing; or float32 successes.
    weight
        float32 attempts behind each cell (0 missing), or `ONE_ATTEMPT`.
    """

    responses: npt.NDArray[np.generic]
    weight: npt.NDArray[np.float32]

    def rows(self, keep: npt.NDArray[np.bool_]) -> ResponseBlock:
        """The block of the models kept; the same object where all are."""
        if keep.all():
            return self
        return self.take(np.flatnonzero(keep))

    def take(self, rows: npt.NDArray[np.intp]) -> ResponseBlock:
        """The block of the models at these rows, in this order."""
        weight = self.weight[rows] if self.weight.size else self.weight
        return ResponseBlock(np.ascontiguousarray(self.responses[rows]), weight)

    def columns(self, keep: npt.NDArray[np.bool_]) -> ResponseBlock:
        """The block of the items kept."""
        weight = np.ascontiguousarray(self.weight[:, keep]) if self.weight.size else self.weight
        return ResponseBlock(np.ascontiguousarray(self.responses[:, keep]), weight)

    @classmethod
    def joined(cls, parts: Sequence[Sequence[ResponseBlock]]) -> ResponseBlock:
        """One block of those of model and item chunks."""
        responses = np.block([[part.responses for part in row] for row in parts])
        weighed = any(part.weight.size for row in parts for part in row)
        if not weighed:
            return cls(responses, ONE_ATTEMPT)
        return cls(responses, np.block([[part.weight for part in row] for row in parts]))


@dataclass(frozen=True)
class BlockCounts:
    """Totals of a block: successes, attempts and cells, by item and by model."""

    item_successes: Float
    item_attempts: Float
    model_cells: npt.NDArray[np.int64]
    item_cells: npt.NDArray[np.int64]
    model_successes: Float
    model_attempts: Float
    largest_attempts: float

    @property
    def complete(self) -> bool:
        """Whether every model answered every item, once."""
        cells = len(self.model_cells) * len(self.item_cells)
        return bool(self.largest_attempts == 1.0 and self.item_attempts.sum() == cells)


def response_block(
    responses: npt.NDArray[np.generic], trials: npt.NDArray[np.generic] | None = None
) -> ResponseBlock:
    """Make a block of an array as `Responses` holds it.

    Parameters
    ----------
    responses
        int8 with -1 missing; float32 fractions with NaN missing; or int16 successes of `trials`.
    trials
        Attempts behind each cell, 0 where missing.

    Raises
    ------
    ValueError
        If a value is not a response: a fraction or a number of successes outside its range.
    """
    if trials is not None:
        weight = np.maximum(trials, 0).astype(np.float32)
        successes = np.where(weight > 0, responses, 0).astype(np.float32)
        if (successes < 0).any() or (successes > weight).any():
            raise ValueError("successes lie outside 0 .. trials")
        return ResponseBlock(successes, weight)
    if np.issubdtype(responses.dtype, np.floating):
        there = ~np.isnan(responses)
        fractions = np.where(there, responses, 0).astype(np.float32)
        if ((fractions < 0) | (fractions > 1)).any():
            raise ValueError("fractions lie outside [0, 1]")
        return ResponseBlock(fractions, there.astype(np.float32))
    block = np.ascontiguousarray(responses, dtype=np.int8)
    if block.size and (block.min() < -1 or block.max() > 1):
        raise ValueError("responses are other than 1 correct, 0 wrong, -1 missing")
    return ResponseBlock(block, ONE_ATTEMPT)


def weighted_totals(block: ResponseBlock, weights: Float) -> tuple[Float, Float]:
    """Successes and attempts by item, each model times its weight: two passes over the block.

    Where all models passed an item the two are equal to the bit.
    """
    attempts: npt.NDArray[np.generic] = block.weight
    if not attempts.size:
        attempts = np.greater_equal(block.responses, 0).astype(np.int8)
    return column_products(block.responses, weights), column_products(attempts, weights)


def count_block(block: ResponseBlock) -> BlockCounts:
    """Count a block in one pass."""
    counts = cells.answer_counts(block.responses, block.weight)
    largest = float(block.weight.max()) if block.weight.size else 1.0
    return BlockCounts(*counts, largest_attempts=largest)
