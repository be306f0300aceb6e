"""Differential item functioning: items that are easier for one group of models than for another."""

from __future__ import annotations

from collections.abc import Sequence
from typing import NamedTuple

import numpy as np
import numpy.typing as npt
import pandas as pd
from scipy.special import chdtrc

from mtlirt.diagnostics.item_scores import ItemScores
from mtlirt.diagnostics.posterior import Float
from mtlirt.errors import InputError

LEAST_INFORMATION = 10.0
"""A group takes part in an item's test if its right answers vary by so much."""


class GroupFit(NamedTuple):
    """Tests of items, shape (items,) each; null where fewer than two groups have enough answers.

    Attributes
    ----------
    statistic, freedom, p
        Chi-square if the item is the same for all groups, its degrees of freedom, and the
        probability of a larger one.
    shift
        The largest difference between two groups' intercepts, in logits: one step of scoring
        from the common ones.
    easier
        The number of the group for which the item is easiest, -1 without a test.
    """

    statistic: Float
    freedom: Float
    p: Float
    shift: Float
    easier: Float


def groups_of(metadata: pd.DataFrame, column: str) -> tuple[npt.NDArray[np.intp], list[str]]:
    """The group of each model, -1 where it has none, and their names.

    Raises
    ------
    InputError
        If the table of models has no such column, or fewer than two groups.
    """
    if column not in metadata:
        known = ", ".join(map(str, metadata.columns)) or "none"
        raise InputError(f"group {column!r}: the table of models has no such column, but {known}")
    values = metadata[column].astype("string")
    groups, names = pd.factorize(values, sort=True)
    if len(names) < 2:
        raise InputError(
            f"group {column!r}: {len(names)} group among {len(metadata)} models; expected 2 or more"
        )
    return groups.astype(np.intp), [str(name) for name in names]


def trait_functions(points: Float) -> Float:
    """Functions to test: a shift of the logit and one that grows with the trait."""
    return np.vstack([np.ones(len(points)), points])


def group_fit(sums: Sequence[ItemScores]) -> GroupFit:
    """Test whether items are the same for all groups, given the sums of `trait_functions` of each.

    Notes
    -----
    Each group's scores of intercept and slope, freed of those of all groups together: a Lagrange
    multiplier test (Glas, 1998, Statistica Sinica 8), equivalent to the likelihood ratio of an
    item with own parameters in each group. The traits' posteriors are those under each group's
    own mean and spread.
    """
    scores = np.stack([part.score for part in sums], axis=1)
    information = np.stack([part.information for part in sums], axis=1)
    found = [_test(*both) for both in zip(scores, information, strict=True)]
    return GroupFit(*np.array(found, np.float64).reshape(-1, len(GroupFit._fields)).T)


def _test(scores: Float, information: Float) -> tuple[float, float, float, float, float]:
    some = np.flatnonzero(information[:, 0, 0] >= LEAST_INFORMATION)
    if len(some) < 2:
        return np.nan, np.nan, np.nan, np.nan, -1.0
    scores, information = scores[some], information[some]
    common = np.linalg.pinv(information.sum(axis=0), hermitian=True) @ scores.sum(axis=0)
    own = np.linalg.pinv(information, hermitian=True)
    rest = scores - information @ common
    statistic = float(np.einsum("gk,gkl,gl->", rest, own, rest))
    ranks = np.linalg.matrix_rank(information, hermitian=True)
    free = int(ranks.sum() - ranks.max())
    shift = rest[:, 0] / information[:, 0, 0]
    return (
        statistic,
        free,
        float(chdtrc(free, statistic)),
        float(np.ptp(shift)),
        float(some[shift.argmax()]),
    )
