"""Blocks of responses, loaded where they will be worked on, keyed (domain, rows, columns)."""

from __future__ import annotations

import itertools
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Any, NamedTuple

import dask.array as da
import numpy as np
import numpy.typing as npt

from mtlirt.cluster.executor import Executor
from mtlirt.engine.guessing import read_guessing
from mtlirt.errors import InputError
from mtlirt.irt.blocks import (
    BlockCounts,
    ResponseBlock,
    count_block,
    response_block,
    weighted_totals,
)
from mtlirt.irt.kernels import Float
from mtlirt.irt.traits import Cavity
from mtlirt.responses.matrix import DomainResponses, Responses

Index = npt.NDArray[np.intp]

KEPT_SHARE = 0.5
"""Responses that need more of the memory are read again in every round."""

WEIGHED_CELL = 8
"""Bytes of a cell that is more than one attempt, or a fraction."""

ALWAYS_KEPT = 2**26
"""Bytes of responses that fit anywhere."""


class ItemTotals(NamedTuple):
    """Totals by item over models, shape (items,) each."""

    successes: Float
    attempts: Float


@dataclass(frozen=True)
class PlacedDomain:
    """One domain's blocks, with only the models that took it, and its totals.

    Attributes
    ----------
    blocks
        Handles of `ResponseBlock`, by model chunk and item chunk.
    takers
        Positions in the model table of each model chunk's rows.
    columns
        The items of each item chunk.
    successes, attempts, cells
        Totals by item over all models.
    weights, weighted
        Of all models in sums over models, shape (models,), None where each is 1; and the totals
        with them.
    answered, score, tries
        Answered cells, successes and attempts by model, 0 where the model did not take the domain.
    largest_attempts
        Most attempts behind any cell.
    guessing
        The items' known lower asymptotes, shape (items,).
    together
        Whether one task works on all blocks.
    kept
        Whether blocks are kept, not read again for every task.
    """

    name: str
    blocks: list[list[Any]]
    takers: list[Index]
    columns: list[slice]
    successes: Float
    attempts: Float
    cells: npt.NDArray[np.int64]
    weights: Float | None
    weighted: ItemTotals
    answered: npt.NDArray[np.int64]
    score: Float
    tries: Float
    largest_attempts: float
    guessing: Float
    together: bool
    kept: bool

    @property
    def models(self) -> Index:
        """Positions of all takers, in the order of the chunks."""
        return np.concatenate(self.takers) if self.takers else np.zeros(0, np.intp)

    @property
    def taker_weights(self) -> Float:
        """Weights of all takers, in the order of the chunks."""
        return np.ones(len(self.models)) if self.weights is None else self.weights[self.models]

    def parts(self, everyone: Cavity, t: int) -> list[Cavity]:
        """Of a cavity of shape (models, domains), the takers' in one domain, by model chunk."""
        return [everyone.part(rows, t) for rows in self.takers]

    @property
    def size(self) -> int:
        """Number of cells of its blocks."""
        return sum(map(len, self.takers)) * len(self.cells)

    @property
    def complete(self) -> bool:
        """Whether every taker answered every item, once."""
        return bool(self.largest_attempts == 1.0 and self.attempts.sum() == self.size)

    @property
    def one_curve(self) -> bool:
        """Whether all takers' log-likelihoods share one curve: complete, and nobody guesses."""
        return self.complete and not self.guessing.any()

    @property
    def constant(self) -> npt.NDArray[np.bool_]:
        """Items that all their takers passed, or failed, or that nobody took: those that count."""
        successes, attempts = self.weighted
        return np.asarray((successes == 0.0) | (successes == attempts))


def taken_domains(domains: Sequence[PlacedDomain]) -> npt.NDArray[np.bool_]:
    """Which model took which domain, shape (models, domains)."""
    return np.stack([domain.answered > 0 for domain in domains], axis=1)


def weights_taken(domains: Sequence[PlacedDomain]) -> Float:
    """The weight of each model in the domains that it took, 0 in others: (models, domains)."""
    taken, weights = taken_domains(domains).astype(np.float64), domains[0].weights
    return taken if weights is None else taken * weights[:, None]


def read_block(
    name: str,
    columns: npt.NDArray[np.intp] | None,
    values: npt.NDArray[np.generic],
    attempts: npt.NDArray[np.generic] | None,
    keep: npt.NDArray[np.bool_] | None = None,
) -> ResponseBlock:
    """One block of a domain's responses; `columns` picks and orders items, `keep` picks models.

    Raises
    ------
    InputError
        If a value is not a response; names the domain.
    """
    if columns is not None:
        values = values[:, columns]
        attempts = None if attempts is None else attempts[:, columns]
    try:
        block = response_block(values, attempts)
    except ValueError as error:
        raise InputError(f"domain {name!r}: {error}") from None
    return block if keep is None else block.rows(keep)


def taken_rows(block: ResponseBlock, keep: npt.NDArray[np.bool_]) -> ResponseBlock:
    """The rows of a block whose models took the domain; the block itself if that is all."""
    return block if keep.all() else block.rows(keep)


def place(
    executor: Executor,
    responses: Responses,
    columns: Mapping[str, Index] | None = None,
    guessing: Mapping[str, Float] | None = None,
    memory: int | None = None,
    weights: Float | None = None,
) -> list[PlacedDomain]:
    """Load every block once, count it, and drop from each domain the models that lack it.

    Where the blocks need more than `KEPT_SHARE` of the memory they are not kept, but read again
    whenever a task works on them.

    Parameters
    ----------
    columns
        Domain -> positions of the items to use, in this order; such a domain is one item chunk.
        None uses all items, in the arrays' own chunks.
    guessing
        Domain -> lower asymptotes of the items used; None reads them from the item table.
    memory
        Bytes of memory of each process, if not all it has.
    weights
        Of the models in sums over models; None is 1 for each. Other than 1 they cost a pass more.

    Raises
    ------
    InputError
        If a value is not a response, or not a lower asymptote.
    """
    if columns is None:
        data, picked = dict(responses.domains), dict.fromkeys(responses.domains)
    else:
        data = {name: one_item_chunk(responses.domains[name]) for name in columns}
        picked = dict(columns)
    if guessing is None:
        guessing = {name: read_guessing(responses, name, part) for name, part in picked.items()}
    keep = kept(executor, data.values(), memory)
    reads = [block_calls(name, part, picked[name]) for name, part in data.items()]
    widths = [part.array.numblocks[1] for part in data.values()]
    loaded = executor.load(read_block, reads, keep)
    calls = [(block,) for blocks in loaded for block in blocks]
    counted = iter(executor.gather(executor.submit_all(count_block, calls)))
    counts = [
        grid_of(list(itertools.islice(counted, len(blocks))), width)
        for blocks, width in zip(loaded, widths, strict=True)
    ]
    there = [[sum(c.model_cells for c in row) > 0 for row in rows] for rows in counts]
    if not keep:  # rows are then left out whenever blocks are read
        of_takers = [
            [(*call, rows[k // width]) for k, call in enumerate(calls)]
            for calls, rows, width in zip(reads, there, widths, strict=True)
        ]
        loaded = executor.load(read_block, of_takers, keep)
    grids = [grid_of(blocks, width) for blocks, width in zip(loaded, widths, strict=True)]
    if keep and not all(mask.all() for masks in there for mask in masks):
        grids = [
            without_absent(executor, *domain) for domain in zip(grids, there, strict=True)
        ]  # all of them, so that nothing of what was loaded with them is kept
    placed = [
        placed_domain(executor, name, part, picked[name], guessing[name], keep, *found)
        for (name, part), *found in zip(data.items(), grids, counts, there, strict=True)
    ]
    return placed if weights is None else with_weights(executor, placed, weights)


def with_weights(
    executor: Executor, domains: Sequence[PlacedDomain], weights: Float
) -> list[PlacedDomain]:
    """The domains with weights of the models, shape (models,)."""
    calls = [
        (block, weights[rows])
        for domain in domains
        for row, rows in zip(domain.blocks, domain.takers, strict=True)
        for block in row
    ]
    found = iter(executor.gather(executor.submit_all(weighted_totals, calls)))
    out = []
    for domain in domains:
        parts = [[next(found) for _ in row] for row in domain.blocks]
        totals = ItemTotals(
            *(
                np.concatenate([sum(column) for column in zip(*of_total, strict=True)])
                for of_total in ([[part[k] for part in row] for row in parts] for k in range(2))
            )
        )
        out.append(replace(domain, weights=weights, weighted=totals))
    return out


def without_absent(
    executor: Executor, grid: list[list[Any]], there: list[npt.NDArray[np.bool_]]
) -> list[list[Any]]:
    """A domain's blocks with only the models that took it."""
    rows = zip(grid, there, strict=True)
    taken = executor.submit_all(taken_rows, [(block, mask) for row, mask in rows for block in row])
    return grid_of(taken, len(grid[0]))


def weighed(data: DomainResponses) -> bool:
    """Whether cells are several attempts, or fractions."""
    return data.trials is not None or np.issubdtype(data.array.dtype, np.floating)


def kept(executor: Executor, data: Iterable[DomainResponses], memory: int | None) -> bool:
    """Whether the blocks of some domains are kept in memory."""
    needed = sum(part.array.size * (WEIGHED_CELL if weighed(part) else 1) for part in data)
    return bool(needed <= ALWAYS_KEPT or needed <= KEPT_SHARE * executor.memory(memory))


def block_calls(
    name: str, data: DomainResponses, columns: Index | None
) -> list[tuple[str, Index | None, da.Array, da.Array | None]]:
    """Arguments of `read_block` for each block of a domain, its arrays not yet computed."""
    array, trials = data.array, data.trials
    if trials is not None:
        trials = trials.rechunk(array.chunks)
    return [
        (name, columns, array.blocks[i, j], None if trials is None else trials.blocks[i, j])
        for i, j in np.ndindex(array.numblocks)
    ]


def grid_of(blocks: Sequence[Any], columns: int) -> list[list[Any]]:
    """Blocks in the order of their model chunks, then item chunks, as a list a model chunk."""
    return [list(blocks[start : start + columns]) for start in range(0, len(blocks), columns)]


def one_item_chunk(data: DomainResponses) -> DomainResponses:
    """The same responses with all items in one chunk."""
    trials = None if data.trials is None else data.trials.rechunk({1: -1})
    return DomainResponses(data.array.rechunk({1: -1}), trials)


def placed_domain(
    executor: Executor,
    name: str,
    data: DomainResponses,
    picked: Index | None,
    guessing: Float,
    keep: bool,
    blocks: list[list[Any]],
    counts: list[list[BlockCounts]],
    there: list[npt.NDArray[np.bool_]],
) -> PlacedDomain:
    """Assemble one domain from its counted blocks, of which some may lack models already.

    Parameters
    ----------
    keep
        Whether the blocks are kept.
    blocks, counts
        By model chunk and item chunk; counts are of all models.
    there
        Which models of each model chunk took the domain.
    """
    starts = np.cumsum([0, *data.array.chunks[0]])
    some = [k for k, mask in enumerate(there) if mask.any()]
    of_takers = [blocks[k] for k in some]
    widths = data.array.chunks[1] if picked is None else (len(picked),)
    edges = np.cumsum([0, *widths])
    totals = item_totals(counts)
    return PlacedDomain(
        name=name,
        blocks=of_takers,
        takers=[np.flatnonzero(there[k]) + starts[k] for k in some],
        columns=[slice(a, b) for a, b in itertools.pairwise(edges)],
        **totals,
        weights=None,
        weighted=ItemTotals(totals["successes"], totals["attempts"]),
        answered=np.concatenate([sum(c.model_cells for c in row) for row in counts]),
        score=np.concatenate([sum(c.model_successes for c in row) for row in counts]),
        tries=np.concatenate([sum(c.model_attempts for c in row) for row in counts]),
        largest_attempts=max((c.largest_attempts for row in counts for c in row), default=1.0),
        guessing=guessing,
        together=executor.together([block for row in of_takers for block in row]),
        kept=keep,
    )


def item_totals(counts: Sequence[Sequence[BlockCounts]]) -> dict[str, Any]:
    """Successes, attempts and cells by item, of counted blocks by model and item chunk."""
    return {
        total: np.concatenate(
            [sum(getattr(row[j], f"item_{total}") for row in counts) for j in range(len(counts[0]))]
        )
        for total in ("successes", "attempts", "cells")
    }


def without_models(
    executor: Executor, domain: PlacedDomain, left_out: npt.NDArray[np.bool_]
) -> PlacedDomain:
    """The domain as if some models, given by position, had not taken it: counted again."""
    blocks, takers = [], []
    for row, rows in zip(domain.blocks, domain.takers, strict=True):
        keep = ~left_out[rows]
        if keep.any():
            calls = [(block, keep) for block in row]
            blocks.append(row if keep.all() else executor.submit_all(taken_rows, calls))
            takers.append(rows[keep])
    flat = [(block,) for row in blocks for block in row]
    counts = grid_of(executor.gather(executor.submit_all(count_block, flat)), len(domain.columns))
    totals = item_totals(counts)
    return replace(
        domain,
        blocks=blocks,
        takers=takers,
        **totals,
        weighted=ItemTotals(totals["successes"], totals["attempts"]),
        answered=np.where(left_out, 0, domain.answered),
        score=np.where(left_out, 0.0, domain.score),
        tries=np.where(left_out, 0.0, domain.tries),
        together=executor.together([block for row in blocks for block in row]),
    )


def untouched(name: str, models: int) -> PlacedDomain:
    """A domain of which no item was asked."""
    nothing = np.zeros(0)
    return PlacedDomain(
        name=name,
        blocks=[],
        takers=[],
        columns=[],
        successes=nothing,
        attempts=nothing,
        cells=np.zeros(0, np.int64),
        weights=None,
        weighted=ItemTotals(nothing, nothing),
        answered=np.zeros(models, np.int64),
        score=np.zeros(models),
        tries=np.zeros(models),
        largest_attempts=1.0,
        guessing=nothing,
        together=False,
        kept=True,
    )


def check_fittable(domains: list[PlacedDomain]) -> None:
    """Refuse domains from which nothing can be estimated.

    Raises
    ------
    InputError
        If a domain has fewer than 2 models that count, or nothing but missing cells.
    """
    for domain in domains:
        takers = int((domain.taker_weights > 0.0).sum())
        if takers < 2:
            raise InputError(
                f"domain {domain.name!r} has responses of {takers} models"
                f"{'' if domain.weights is None else ' whose weight is above 0'}, a fit needs 2; "
                "leave the domain out or add models"
            )
