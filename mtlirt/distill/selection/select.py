"""The methods by their names."""

from __future__ import annotations

from collections.abc import Callable

import pandas as pd

from mtlirt.distill.candidates import Candidates
from mtlirt.distill.selection.anchors import kmeans_anchors, kmedoids_anchors
from mtlirt.distill.selection.chance import at_random
from mtlirt.distill.selection.counts import Wanted
from mtlirt.distill.selection.greedy import greedy
from mtlirt.distill.selection.information import by_information
from mtlirt.errors import InputError

METHODS: dict[str, Callable[[Candidates, Wanted, int], pd.DataFrame]] = {
    "greedy": lambda candidates, wanted, _: greedy(candidates, wanted),
    "information": lambda candidates, wanted, _: by_information(candidates, wanted),
    "kmeans": lambda candidates, wanted, seed: kmeans_anchors(candidates, wanted, seed=seed),
    "kmedoids": lambda candidates, wanted, seed: kmedoids_anchors(candidates, wanted, seed=seed),
    "random": at_random,
}
"""All but `greedy` share a total equally among domains; those that draw nothing ignore seeds."""

NESTED = ("greedy",)
"""Methods whose choice of fewer items is the beginning of that of more."""


def select(method: str, candidates: Candidates, wanted: Wanted, seed: int = 0) -> pd.DataFrame:
    """Choose items by the method of a name.

    Parameters
    ----------
    method
        One of `METHODS`.
    wanted
        How many items in all, or of each domain.

    Returns
    -------
    Index (``domain``, ``item_id``) in the order of choice; columns are the method's own.

    Raises
    ------
    InputError
        If there is no such method, or there are fewer open items than asked for.
    """
    if method not in METHODS:
        raise InputError(f"method {method!r}: there is none; choose one of {', '.join(METHODS)}")
    return METHODS[method](candidates, wanted, seed)
