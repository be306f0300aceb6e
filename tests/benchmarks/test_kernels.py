"""One pass of each kernel over all responses of a size, against one plain read of them."""

import time
from functools import partial

import numpy as np
import pytest

from mtlirt.irt.blocks import response_block
from mtlirt.irt.curves import FITTING, Items, item_reach, trait_grid
from mtlirt.irt.items import item_statistics
from mtlirt.irt.kernels import column_products
from mtlirt.irt.traits import (
    Cavity,
    asked_curves,
    search_windows,
    start_windows,
    trait_score,
    window_curves,
)

TITLE = "One pass over all responses"

SPREAD = 0.15
"""The variance of the cavities that windows are laid for, about that of design `even`."""


def true_items(drawn, domain):
    table = drawn.truth.items.loc[domain]
    return Items(*table[["slope", "intercept", "guessing"]].to_numpy().T.copy())


def complete_calls(drawn):
    """For each domain, calls of the two products."""
    rows, columns = [], []
    for (domain, trait), block in zip(drawn.truth.traits.items(), drawn.blocks, strict=True):
        read = response_block(block)
        rows.append(partial(trait_score, read, true_items(drawn, domain)))
        columns.append(partial(column_products, read.responses, trait.to_numpy().copy()))
    return {"row products": rows, "column products": columns}


def masked_calls(drawn):
    """For each domain, calls that take the curves, and the histogram, at posteriors' windows."""
    curves, histograms = [], []
    for (domain, trait), block in zip(drawn.truth.traits.items(), drawn.blocks, strict=True):
        read, items = response_block(block), true_items(drawn, domain)
        cavity = Cavity(trait.to_numpy().copy(), np.full(len(trait), SPREAD))
        grid = trait_grid([item_reach(items, 1.0)], [cavity], FITTING)
        score = trait_score(read, items)
        search = start_windows(cavity, grid, FITTING)
        while search.unsettled:
            found = asked_curves(read, items, grid, search)
            search = search_windows(search, [score], [found], cavity, grid, FITTING)
        curves.append(partial(window_curves, read, items, grid, search.window))
        histograms.append(partial(item_statistics, read, search.posterior, grid))
    return {"masked curves": curves, "masked histogram": histograms}


@pytest.mark.parametrize("size", ["S", "M", "L"])
@pytest.mark.parametrize(("calls", "missing"), [(complete_calls, 0.0), (masked_calls, 0.2)])
def test_passes(benchmark, drawn, side_by_side, table, size, calls, missing):
    data = drawn(size, missing)
    made = calls(data)
    best = dict.fromkeys(made, np.inf)

    def take_turns():
        for name, of_domains in made.items():
            seconds = min(timed(side_by_side, of_domains) for _ in range(3))
            best[name] = min(best[name], seconds)

    benchmark.pedantic(take_turns, rounds=3, warmup_rounds=1)
    for name, seconds in best.items():
        table(
            TITLE,
            size=size,
            missing=f"{missing:.0%}",
            kernel=name,
            milliseconds=f"{1e3 * seconds:.2f}",
            floor_ms=f"{1e3 * data.floor:.2f}",
            plain_reads=data.reads(seconds),
        )


def timed(side_by_side, calls):
    began = time.perf_counter()
    side_by_side(calls)
    return time.perf_counter() - began
