"""Split a grid of all items into the arrays of the domains."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from itertools import groupby
from typing import Literal

import dask.array as da
import numpy as np
import numpy.typing as npt

from mtlirt.errors import InputError
from mtlirt.ingest.cells import Grid
from mtlirt.ingest.ids import show, show_some
from mtlirt.ingest.report import DomainCount, ItemId
from mtlirt.responses.matrix import MISSING, DomainResponses

PoorDomains = Literal["error", "keep"]
"""What becomes of domains with responses of fewer than 2 models."""

CHUNK = 4096
"""Models and items in a chunk; a store chooses its own."""


def find_domains(items: Sequence[ItemId]) -> dict[str, slice]:
    """The columns of each domain, given its items one after another."""
    columns, begin = {}, 0
    for domain, members in groupby(items, key=lambda item: item[0]):
        end = begin + sum(1 for _ in members)
        columns[domain] = slice(begin, end)
        begin = end
    return columns


def count_domains(grid: Grid, columns: Mapping[str, slice]) -> tuple[DomainCount, ...]:
    """Count what each domain holds; parameters as for `split_domains`."""
    counts = []
    for domain, part in columns.items():
        observed = grid.correct[:, part] >= 0
        models, items = int(observed.any(axis=1).sum()), part.stop - part.start
        counts.append(DomainCount(domain, models, items, int(np.count_nonzero(observed))))
    return tuple(counts)


def check_domains(counts: Sequence[DomainCount]) -> None:
    """Refuse domains that nothing can be learned from."""
    for most, text in ((0, "nothing but missing values"), (1, "responses of only one model")):
        poor = [count.name for count in counts if count.models == most]
        if poor:
            noun = "domain" if len(poor) == 1 else f"{len(poor)} domains"
            raise InputError(
                f"{noun} {show_some(poor)}: {text}, a fit needs at least 2 models; "
                "--poor-domains keep takes them in, to be scored"
            )


def split_domains(grid: Grid, columns: Mapping[str, slice]) -> dict[str, DomainResponses]:
    """Make the responses of each domain.

    Parameters
    ----------
    grid
        The responses to all items.
    columns
        Those of each domain.
    """
    return {domain: _domain(grid, domain, part) for domain, part in columns.items()}


def _domain(grid: Grid, domain: str, part: slice) -> DomainResponses:
    correct = grid.correct[:, part]
    if correct.dtype == np.int8:
        return DomainResponses(_lazy(correct))
    trials = None if grid.trials is None else grid.trials[:, part]
    repeated = trials is not None and bool((trials > 1).any())
    whole = bool(((correct == np.trunc(correct)) | np.isnan(correct)).all())
    if repeated and not whole:
        raise InputError(
            f"domain {show(domain)}: fractions and repeated attempts do not mix; make them two "
            "domains, or cut the fractions at a threshold"
        )
    if not whole:
        return DomainResponses(_lazy(correct))
    integers = np.where(np.isnan(correct), MISSING, correct)
    if trials is not None and repeated:
        return DomainResponses(_lazy(integers.astype(np.int16)), _lazy(trials))
    return DomainResponses(_lazy(integers.astype(np.int8)))


def _lazy(block: npt.NDArray[np.generic]) -> da.Array:
    lazy: da.Array = da.from_array(block, chunks=CHUNK, name=False)
    return lazy
