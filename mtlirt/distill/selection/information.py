"""Items that say most at one trait after another, as metabench (arXiv 2407.12844) has it."""

from __future__ import annotations

import numpy as np
import pandas as pd

from mtlirt.distill.candidates import Candidates
from mtlirt.distill.selection.counts import Wanted, counts_of, open_rows
from mtlirt.distill.selection.representatives import trait_quantiles
from mtlirt.irt.curves import Items
from mtlirt.irt.information import item_information


def by_information(
    candidates: Candidates, wanted: Wanted, *, threshold: float = 0.0
) -> pd.DataFrame:
    """Choose, domain by domain, the items of most Fisher information at quantiles of its trait.

    A domain has as many bins as items are wanted, each holding as many models. From the lowest
    trait up, every bin takes the item that says most at its middle, of those not taken yet, if
    that is more than the threshold. What bins leave over, the other bins then take beyond their
    one: always the item that says most at any bin.

    Parameters
    ----------
    wanted
        How many items of each domain, or in all, shared equally.
    threshold
        Items that say no more than this anywhere are never chosen, so that there may be fewer than
        wanted; with 0 those are the items without a slope.

    Returns
    -------
    Index (``domain``, ``item_id``) in the order of choice, domain by domain. Columns ``trait``, the
    bin's middle, and ``information``, the item's at it.

    Raises
    ------
    InputError
        See `counts_of`.

    Notes
    -----
    Costs one exponential for each bin and open item of a domain.
    """
    picked: list[tuple[int, float, float]] = []
    parameters = candidates.parameters
    counts = counts_of(candidates, wanted).values()
    for t, (count, rows) in enumerate(zip(counts, open_rows(candidates), strict=True)):
        items = Items(*(column[rows] for column in parameters))
        most, where = np.full(len(rows), -np.inf), np.empty(len(rows))
        taken = np.zeros(len(rows), dtype=bool)
        for theta in trait_quantiles(candidates, t, count):
            found = item_information(np.array([theta]), items)[0]
            where[found > most] = theta
            np.maximum(most, found, out=most)
            best = np.where(taken, -np.inf, found).argmax()
            if found[best] > threshold and not taken[best]:
                taken[best] = True
                picked.append((rows[best], theta, found[best]))
        left = np.flatnonzero(~taken & (most > threshold))
        others = left[(-most[left]).argsort(kind="stable")[: count - taken.sum()]]
        picked += zip(rows[others], where[others], most[others], strict=True)
    index = candidates.items.index[[row for row, _, _ in picked]]
    columns = {"trait": [trait for _, trait, _ in picked]}
    return pd.DataFrame(columns | {"information": [most for _, _, most in picked]}, index=index)
