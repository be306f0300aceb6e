"""Responses of one domain, drawn lazily and the same whatever the chunks.

Models are dealt into strips of fixed height, and each strip has random streams of its own, so a
block draws the strips it touches and keeps its part.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

import dask.array as da
import numpy as np
from dask.base import tokenize
from numpy.typing import NDArray
from scipy.special import expit

from mtlirt.responses.chunks import chunk_lengths, chunk_shape
from mtlirt.responses.matrix import MISSING
from mtlirt.simulate.laws import ItemParameters
from mtlirt.simulate.streams import Stream, stream

STRIP = 64

CLONES = 3
"""Copies of one model."""

ANEW = 0.05
"""The share of a copy's cells that are drawn anew, from the same chances."""


def originals(models: int, clones: int) -> NDArray[np.intp]:
    """For each model the one that it copies; itself where it copies none.

    Parameters
    ----------
    clones
        So many models of each strip, its last ones, copy others of it.
    """
    place = np.arange(models) % STRIP
    nth = place - (STRIP - clones)
    return np.where(nth < 0, np.arange(models), np.arange(models) - place + nth // CLONES)


@dataclass(frozen=True)
class DomainLaw:
    """All that the cells of a domain depend on.

    Attributes
    ----------
    seed, domain
        The seed, and the domain's number.
    traits
        Of the models in this domain.
    items
        The domain's items.
    missing
        The probability that a cell is missing.
    absent
        Which models lack the domain.
    clones
        Of each strip the last so many models copy others of it.
    """

    seed: int
    domain: int
    traits: NDArray[np.float64]
    items: ItemParameters
    missing: float
    absent: NDArray[np.bool_]
    clones: int = 0

    def draw_strip(self, strip: int) -> NDArray[np.int8]:
        """All cells of a strip of models."""
        models = slice(strip * STRIP, (strip + 1) * STRIP)
        logit = self.traits[models, None] * self.items.slope + self.items.intercept
        floor = self.items.guessing
        chance = floor + (1.0 - floor) * expit(logit)
        uniform = stream(self.seed, Stream.RESPONSES, self.domain, strip).random
        cells: NDArray[np.int8] = (uniform(logit.shape, np.float32) < chance).astype(np.int8)
        if self.clones:
            copied = stream(self.seed, Stream.CLONES, self.domain, strip).random(
                logit.shape, np.float32
            )
            cells = np.where(copied < ANEW, cells, cells[originals(len(cells), self.clones)])
        if self.missing > 0:
            uniform = stream(self.seed, Stream.MISSING, self.domain, strip).random
            cells[uniform(logit.shape, np.float32) < self.missing] = MISSING
        cells[self.absent[models]] = MISSING
        return cells


def lazy_cells(law: DomainLaw) -> da.Array:
    """The cells of a domain as a lazy int8 array in the chunks of a store."""
    shape = len(law.traits), len(law.items.slope)
    array: da.Array = da.map_blocks(
        draw_block,
        law=law,
        name=f"draw-block-{tokenize(law)}",
        chunks=tuple(map(chunk_lengths, shape, chunk_shape(*shape))),
        dtype=np.int8,
        meta=np.empty((0, 0), np.int8),
    )
    return array


def draw_block(law: DomainLaw, block_info: Mapping[Any, Any]) -> NDArray[np.int8]:
    """The cells of a block of `lazy_cells`."""
    (first, last), (left, right) = block_info[None]["array-location"]
    strips = range(first // STRIP, -(-last // STRIP))
    cells = np.concatenate([law.draw_strip(strip)[:, left:right] for strip in strips])
    offset = first - strips.start * STRIP
    return cells[offset : offset + last - first]
