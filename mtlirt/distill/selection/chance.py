"""Items drawn at random: what every other method has to beat."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
import pandas as pd

from mtlirt.distill.candidates import Candidates
from mtlirt.distill.selection.counts import Wanted, counts_of, open_rows
from mtlirt.errors import InputError


def at_random(
    candidates: Candidates, wanted: Wanted, seed: int | np.random.SeedSequence
) -> pd.DataFrame:
    """Choose items at random, each open one of a domain with the same probability.

    Parameters
    ----------
    wanted
        How many items of each domain, or in all, shared equally.

    Returns
    -------
    Index (``domain``, ``item_id``), domain by domain; no columns.

    Raises
    ------
    InputError
        See `counts_of`.
    """
    rng = np.random.default_rng(seed)
    counts = counts_of(candidates, wanted).values()
    rows = [
        rng.choice(rows, count, replace=False)
        for count, rows in zip(counts, open_rows(candidates), strict=True)
    ]
    return pd.DataFrame(index=candidates.items.index[np.concatenate(rows)])


def best_of(
    candidates: Candidates,
    wanted: Wanted,
    judge: Callable[[pd.Index[Any]], float],
    tries: int,
    seed: int,
) -> pd.DataFrame:
    """The best of many random choices, as a judge has it; the first of equals.

    Parameters
    ----------
    judge
        Gives the loss of chosen items, from training models alone.
    tries
        How many choices are judged, at least 1. With more of them the first ones stay the same.

    Returns
    -------
    See `at_random`.

    Raises
    ------
    InputError
        See `counts_of`; where there are no tries, or a loss is nan.

    Notes
    -----
    The least of many losses is partly luck on the models that the judge knows (the winner's
    curse): it says nothing of other models, the more tries the less. Errors to be reported are
    those on models that neither the judge nor the fit has seen.
    """
    if tries < 1:
        raise InputError(f"{tries} tries: expected at least 1")
    best, least = pd.DataFrame(), np.inf
    for number, stream in enumerate(np.random.SeedSequence(seed).spawn(tries)):
        drawn = at_random(candidates, wanted, stream)
        loss = judge(drawn.index)
        if np.isnan(loss):
            raise InputError(f"the loss of try {number + 1} of {tries} is nan")
        if number == 0 or loss < least:
            best, least = drawn, loss
    return best
