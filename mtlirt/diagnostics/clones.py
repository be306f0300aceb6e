"""Clones: groups of models that count no more than one."""

from __future__ import annotations

from dataclasses import replace

import numpy as np
import pandas as pd

from mtlirt.diagnostics.cells import Matched, match
from mtlirt.diagnostics.copies import Groups, exact_copies, grouped, near_copies
from mtlirt.diagnostics.digests import Digests
from mtlirt.responses.matrix import Responses
from mtlirt.responses.weights import COLUMN, read_weights
from mtlirt.result import Fit

RATE = 0.05
"""Probability of any false near copy."""

COPIED = 0.8
"""Of its original a near copy has so much; fine-tunes of one base, with less, may well differ."""


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
        With column ``weight`` of the model table: 1, or what it was, over the size of the model's
        group.

    Raises
    ------
    InputError
        If responses and fit have no model or no item in common, or a weight is out of range.

    Notes
    -----
    Groups as in `Diagnostics.clones`. Costs a pass over the responses, and models^2 x items x 3
    multiplications.
    """
    fit.check_posterior("clones")
    matched = match(fit, responses)
    groups = pd.Series(clone_groups(fit, matched, copied).group, matched.models)
    group = groups.reindex(responses.models.index, fill_value=0).to_numpy()
    sizes = np.bincount(group)
    sizes[0] = 1
    weights = read_weights(responses)
    weights = (1.0 if weights is None else weights) / sizes[group]
    return replace(responses, models=responses.models.assign(**{COLUMN: weights}))


def clone_groups(fit: Fit, matched: Matched, copied: float) -> Groups:
    """The models that are copies of each other, exactly or nearly, at the fit's traits."""
    rows = Digests(len(matched.models))
    for cells in matched.domains:
        for strip in cells.strips:
            rows.update(strip.start, cells.block(strip))
    ids = matched.models
    exact = exact_copies(rows.values, rows.answered, ids)
    distinct = np.flatnonzero(rows.answered & (exact == np.arange(len(ids))))
    traits = fit.traits["mean"].to_numpy().reshape(len(fit.models), len(fit.domains))
    places = fit.domains.index.get_indexer(pd.Index([cells.name for cells in matched.domains]))
    traits = np.nan_to_num(traits[matched.rows][:, places])
    return grouped(exact, near_copies(matched.domains, traits, distinct, RATE, copied), ids)
