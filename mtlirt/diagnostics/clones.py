"""Clones: groups of models that count no more than one."""

from __future__ import annotations

from dataclasses import replace

import numpy as np
import numpy.typing as npt
import pandas as pd

from mtlirt.diagnostics.cells import Ints, Matched, attempts, match, successes
from mtlirt.diagnostics.copies import Groups, copies, exact_copies
from mtlirt.diagnostics.diagnose import check_share
from mtlirt.diagnostics.digests import Digests
from mtlirt.responses.matrix import Responses
from mtlirt.responses.weights import COLUMN, read_weights
from mtlirt.result import Fit

RATE = 0.05
"""Probability of any false near copy."""

COPIED = 0.8
"""Of its original a near copy has so much; fine-tunes of one base, with less, may well differ."""

LEVELS, LEVEL_MODELS = 10, 20
"""Chance is judged by models of a level: so many levels at most, of so many models at least."""


def deweight_clones(fit: Fit, responses: Responses, *, copied: float = COPIED) -> Responses:
    """The responses with less weight on models that answered alike: a group's is that of one model.

    A fit of them finds items and scale as if each group were one model; the models keep their own
    scores.

    Parameters
    ----------
    fit
        Of these responses, by `marginal` or `separate`: what traits explain does not make clones.
    copied
        The least correlation of two models' residuals that makes them near copies, in (0, 1].

    Returns
    -------
    Responses
        With column ``weight`` of the model table: 1, or what it was; of a group's models the
        largest of theirs over their number.

    Raises
    ------
    InputError
        If responses and fit have no model or no item in common, or a weight is out of range.

    Notes
    -----
    Groups as in `Diagnostics.clones`, but exact copies are clones only where chance does not
    explain them: that any two models of their level agree on all items, prod (p^2 + (1 - p)^2)
    with p the share of right answers, times the number of pairs, is at most `RATE`. Near copies
    are found at the traits and items of the fit; where they are many (a fifth of the models, say)
    the fit takes them for what is common, and they are not. Costs three passes over the responses,
    and models^2 x items x 3 multiplications.
    """
    fit.check_posterior("clones")
    check_share("copied", copied, 1.0)
    matched = match(fit, responses)
    groups = pd.Series(clone_groups(fit, matched, copied).group, matched.models)
    group = groups.reindex(responses.models.index, fill_value=0).to_numpy()
    weights = read_weights(responses)
    weights = np.ones(len(group)) if weights is None else weights
    by_group = pd.Series(weights).groupby(group)
    shared = (by_group.transform("max") / by_group.transform("size")).to_numpy()
    weights = np.where(group > 0, shared, weights)
    return replace(responses, models=responses.models.assign(**{COLUMN: weights}))


def clone_groups(fit: Fit, matched: Matched, copied: float) -> Groups:
    """The models that are copies of each other, exactly or nearly, at the fit's traits."""
    rows = Digests(len(matched.models))
    for cells in matched.domains:
        for strip in cells.strips:
            rows.update(strip.start, cells.block(strip))
    ids = matched.models
    exact = exact_copies(rows.values, rows.answered, ids)
    exact = np.where(by_chance(matched, exact)[exact], np.arange(len(ids)), exact)
    traits = fit.traits["mean"].to_numpy().reshape(len(fit.models), len(fit.domains))
    places = fit.domains.index.get_indexer(pd.Index([cells.name for cells in matched.domains]))
    traits = np.nan_to_num(traits[matched.rows][:, places])
    groups, _ = copies(matched.domains, traits, exact, rows.answered, ids, RATE, copied)
    return groups


def by_chance(matched: Matched, exact: Ints) -> npt.NDArray[np.bool_]:
    """Which models are first of exact copies that chance explains, shape (models,).

    Parameters
    ----------
    exact
        For each model the first of its exact copies, itself where it has none.

    Notes
    -----
    The shares of right answers are those of one of each group of copies, among those whose share
    over all items is alike, equal ones in the order of their ids; half a success and half a failure
    are added.
    """
    models = len(exact)
    first = np.flatnonzero(exact == np.arange(models))
    copied = np.flatnonzero(np.bincount(exact, minlength=models) > 1)
    right, tried = np.zeros((2, models))
    for cells in matched.domains:
        for strip in cells.strips:
            block = cells.block(strip)
            right[strip] += successes(block).sum(axis=1)
            tried[strip] += attempts(block).sum(axis=1)
    share = right / np.maximum(tried, 1.0)
    count = max(min(len(first) // LEVEL_MODELS, LEVELS), 1)
    level = np.zeros(models, np.intp)
    order = np.argsort(matched.models.argsort())
    level[first[np.lexsort((order[first], share[first]))]] = (
        np.arange(len(first)) * count // max(len(first), 1)
    )
    agreement = np.zeros(models)
    for cells in matched.domains:
        asked = [np.zeros((2, count, cells.shape[1]))]
        for strip in cells.strips:
            block, here = cells.block(strip), np.arange(strip.start, strip.stop)
            member = (level[here] == np.arange(count)[:, None]) & np.isin(here, first)
            asked.append(np.stack([member @ successes(block), member @ attempts(block)]))
        correct, answers = np.sum(asked, axis=0)
        p = (correct + 0.5) / (answers + 1.0)
        alike = np.log(p**2 + (1.0 - p) ** 2)
        there = attempts(cells.rows_of(copied)) > 0.0
        agreement[copied] += (there * alike[level[copied]]).sum(axis=1)
    pairs = models * (models - 1) / 2
    explained = np.zeros(models, bool)
    explained[copied] = agreement[copied] + np.log(max(pairs, 1.0)) > np.log(RATE)
    return explained
