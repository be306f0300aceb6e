"""Two tests of the chosen items that measure alike."""

from __future__ import annotations

from typing import NamedTuple

import numpy as np
import numpy.typing as npt
import pandas as pd
from scipy.spatial.distance import pdist

from mtlirt.distill.candidates import Candidates
from mtlirt.distill.selection.counts import rows_of
from mtlirt.distill.selection.representatives import trait_quantiles
from mtlirt.irt.curves import Items, probability
from mtlirt.irt.information import item_information

Float = npt.NDArray[np.float64]

QUANTILES = 16
"""Traits at which the forms are compared."""


class Forms(NamedTuple):
    """Two forms, and how far they are apart.

    Attributes
    ----------
    form
        "A" or "B" of each chosen item, in their order.
    difference
        The largest difference of the forms' expected scores, the share right of a form's items of
        a domain, at the quantiles of the domain's traits; in [0, 1], 0 where no domain has an item
        in each form.
    """

    form: pd.Series[str]
    difference: float


def parallel_forms(candidates: Candidates, chosen: pd.DataFrame) -> Forms:
    """Divide the chosen items of every domain into two forms of equal size that measure alike.

    Items are paired, the closest first, by their response curves and information at quantiles of
    the domain's traits; each pair gives one item to each form. Pairs that differ most are placed
    first, always so that the forms' curves come closest; then any pair is turned, and any two,
    while that brings them closer. Of an odd number of items the one that no pair has goes to
    the form that is shorter so far.

    Parameters
    ----------
    chosen
        Index (``domain``, ``item_id``).

    Raises
    ------
    InputError
        Where an item is not among the candidates.

    Notes
    -----
    Costs and holds the distances of all pairs of a domain's chosen items.
    """
    rows = rows_of(candidates, chosen.index)
    numbers, parameters = candidates.domain_numbers[rows], candidates.parameters
    sides, difference = np.zeros(len(rows), dtype=np.intp), 0.0
    for t in np.unique(numbers):
        places = np.flatnonzero(numbers == t)
        items = Items(*(column[rows[places]] for column in parameters))
        theta = trait_quantiles(candidates, t, QUANTILES)
        scores, information = probability(theta[:, None], *items), item_information(theta, items)
        scale = max(information.mean(), np.finfo(float).tiny)
        features = np.concatenate([scores, information / scale]).T
        side = _sides(features - features.mean(axis=0), 1 if sides.sum() <= 0 else -1)
        sides[places] = side
        if len(places) > 1:
            apart = scores[:, side > 0].mean(axis=1) - scores[:, side < 0].mean(axis=1)
            difference = max(difference, float(abs(apart).max()))
    form = pd.Series(["A" if side > 0 else "B" for side in sides], index=chosen.index, name="form")
    return Forms(form, difference)


def _sides(features: Float, shorter: int) -> npt.NDArray[np.intp]:
    """+1 or -1 of each item, so that the signed sum of features is small; the odd one `shorter`.

    Features are centred: then the signed sum is in proportion to the difference of the sides' means
    also where they are not of equal size.
    """
    first, second, odd = _pairs(features)
    apart = features[first] - features[second]
    order = (-(apart**2).sum(axis=1)).argsort(kind="stable")
    total = shorter * features[odd].sum(axis=0)
    signs = np.ones(len(first), dtype=np.intp)
    for k in order:
        signs[k] = -1 if apart[k] @ total > 0 else 1
        total = total + signs[k] * apart[k]
    _turn(apart, signs, total)
    side = np.full(len(features), shorter, dtype=np.intp)
    side[first], side[second] = signs, -signs
    return side


def _pairs(
    features: Float,
) -> tuple[npt.NDArray[np.intp], npt.NDArray[np.intp], npt.NDArray[np.intp]]:
    """Pairs of items, the closest first, and the one that is left of an odd number."""
    free = np.ones(len(features), dtype=bool)
    pairs = []
    left, right = np.triu_indices(len(features), 1)
    for place in pdist(features).argsort(kind="stable"):
        one, other = left[place], right[place]
        if free[one] and free[other]:
            free[one] = free[other] = False
            pairs.append((one, other))
    first, second = np.array(pairs, dtype=np.intp).reshape(-1, 2).T
    return first, second, np.flatnonzero(free)


def _turn(apart: Float, signs: npt.NDArray[np.intp], total: Float) -> None:
    """Turn one pair or two at a time, always what shortens the total most, while any does."""
    gram = 4.0 * apart @ apart.T
    own = np.diagonal(gram)
    while len(signs):
        # turning k adds -2 s_k apart_k to the total
        alone = own - 4.0 * signs * (apart @ total)
        both = alone[:, None] + alone + 2.0 * np.multiply.outer(signs, signs) * gram
        np.fill_diagonal(both, alone)
        turned = list(set(map(int, np.unravel_index(both.argmin(), both.shape))))
        if both.min() >= -1e-12 * own.sum():
            return
        total = total - 2.0 * signs[turned] @ apart[turned]
        signs[turned] *= -1
