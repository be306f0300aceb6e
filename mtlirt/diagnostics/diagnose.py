"""The public function: every diagnostic of a fit, as tables."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from numbers import Real
from typing import Any

import dask.array as da
import numpy as np
import pandas as pd

from mtlirt.diagnostics.cells import Ints, Matched, match
from mtlirt.diagnostics.dependence import dependent_items
from mtlirt.diagnostics.digests import Digests
from mtlirt.diagnostics.findings import find
from mtlirt.diagnostics.group_fit import groups_of
from mtlirt.diagnostics.posterior import Priors, trait_priors
from mtlirt.diagnostics.scree import scree
from mtlirt.diagnostics.survey import Survey, survey
from mtlirt.diagnostics.tables import (
    clone_table,
    design_table,
    domain_table,
    item_table,
    model_table,
    pair_table,
    repeat_table,
    taker_table,
)
from mtlirt.errors import InputError
from mtlirt.irt.components import Links
from mtlirt.responses.arrays import from_arrays
from mtlirt.responses.matrix import Responses
from mtlirt.result import Fit


@dataclass(frozen=True)
class Diagnostics:
    """What a fit's model does not explain of the responses, as tables.

    Attributes
    ----------
    findings
        What a person should look at, a row each: ``kind`` (see docs/diagnostics.md), ``domain``,
        ``item_id``, ``model_id`` (null where it is about none), ``value`` (a number whose
        meaning ``told`` states) and ``told``, a sentence.
    items
        Index (domain, item_id). ``answered`` (models), ``share_right``, ``slope``, ``slope_sd``,
        ``trait_correlation`` (of answers with the trait that the models' other answers tell);
        ``fit``, ``fit_df``, ``fit_p``, ``fit_q`` (chi-square of item fit, its degrees of
        freedom, p-value and p-value adjusted over all items), ``gap`` (observed minus expected
        share of right answers in the interval of traits where they differ most); with `group`
        also ``dif``, ``dif_df``, ``dif_p``, ``dif_q``, ``dif_shift`` (logits between the groups
        that differ most) and ``dif_easier`` (the group that finds it easiest); ``constant``,
        ``uninformative`` (the interval of its slope holds 0), ``negative`` (its slope is below 0
        by more than its interval), ``miskeyed`` (a wrong key would explain it), ``repeat`` (its
        group in `repeats`, else 0). Tests are null where there is too little to test.
    models
        Index model_id. ``component`` (of the design; 1 is the largest, null without an answer:
        models of different components must not be ranked against each other), ``answered``,
        ``domains``, ``lz``, ``lz_p``, ``lz_q`` (fit of the model over all domains),
        ``unrelated`` (answers that show no relation to the items, over all domains), ``clones``
        (its group in `clones`, else 0).
    takers
        Index (model_id, domain), a row for each domain that a model took. ``answered``,
        ``share_answered``, ``share_right``, ``lz`` (lz*, low where a model passes what it should
        fail and fails what it should pass), ``lz_p``, ``lz_q``, ``always`` ("right", "wrong" or
        null), ``unrelated`` (answers that show no relation to the items), ``chance_p`` (of so
        few right answers from guessing; null without known floors), ``below_chance``,
        ``few`` (answers less than half of what the domain's takers do at the median).
    pairs
        Locally dependent items, at most 1,000 of a domain, the largest correlations first:
        ``domain``, ``item_id``, ``other_item_id``, ``q3``, ``z``, ``p``, ``answered`` (models
        that answered both).
    clones
        A row a model of a group: ``group``, ``model_id``, ``copy_of`` (the first of its exact
        copies, null if it has none), ``like`` (the model whose residuals are most correlated
        with its own), ``correlation``, ``z``, ``answered`` (items that both answered).
    repeats
        A row an item of a group that was answered alike by all models: ``group``, ``domain``,
        ``item_id``, ``chance`` (the expected number of such pairs by chance).
    domains
        Index domain. ``items``, ``models``; numbers of items that are ``constant``,
        ``uninformative``, ``negative``, ``miskeyed``, ``misfitting`` (``fit_q`` up to the rate);
        ``dependent_pairs``; numbers of takers that are ``misfitting_models``; ``uniqueness``.
    scree
        See `mtlirt.diagnostics.scree.scree`.
    design
        Index component. ``models``, ``items``, ``cells``.
    info
        The arguments; ``counted``, how many models stand for all in `items`, `pairs` and
        `repeats` by their weights (all, if none has less than 1); and how many models and items
        of the responses, or of the fit, were left out as the other does not know them.
    """

    findings: pd.DataFrame
    items: pd.DataFrame
    models: pd.DataFrame
    takers: pd.DataFrame
    pairs: pd.DataFrame
    clones: pd.DataFrame
    repeats: pd.DataFrame
    domains: pd.DataFrame
    scree: pd.DataFrame
    design: pd.DataFrame
    info: Mapping[str, Any]


def diagnose(
    fit: Fit,
    responses: Responses | Mapping[str, da.Array],
    *,
    group: str | None = None,
    rate: float = 0.05,
    copied: float = 0.5,
) -> Diagnostics:
    """Look for items, models and designs that a fit's model does not explain.

    Parameters
    ----------
    fit
        By `marginal` or `separate`; a loaded snapshot as well.
    responses
        Those that were fitted, as for `mtlirt.fit`. Models and items that only one of the two
        knows are left out, and counted in ``info``.
    group
        A column of the responses' table of models: groups of models for which items should be
        the same; no test of that by default.
    rate
        False discovery rate of tests of items and of models, and the probability of any false
        pair of items in a domain, or of any false near copy among models.
    copied
        The least correlation of two models' residuals that makes them near copies, in (0, 1].

    Returns
    -------
    Diagnostics
        The same for any chunks; within 1e-5 for any order of rows and columns.

    Raises
    ------
    InputError
        If the estimator gives no posterior, responses and fit have no model or no item in
        common, the column is unknown or has one group only, or a number is out of range.

    Notes
    -----
    Formulas and sources stand with each of `mtlirt.diagnostics.item_fit`, ``model_fit``,
    ``group_fit``, ``dependence``, ``copies``, ``keys``. Cost: cells x (points of the trait's
    grid) x 6 multiplications, models^2 x items x 3 and items^2 x models x 3.5 in each domain.
    Memory: the responses if they take no more than 256 MiB, else strips of them that are read
    three times and for every pair of blocks; models x points numbers; and a few hundred MB.
    """
    check_share("rate", rate, 0.5)
    check_share("copied", copied, 1.0)
    if not isinstance(responses, Responses):
        responses = from_arrays(responses)
    fit.check_posterior("diagnostics")
    matched = match(fit, responses)
    tables = _tables(fit, matched, group, rate, copied)
    some = counted(fit, matched)
    if len(some) < len(matched.models):
        of_items = _tables(fit, matched.of(some), group, rate, copied)
        of_models = tables["domains"][["models", "misfitting_models"]]
        tables |= {name: of_items[name] for name in ("items", "pairs", "repeats")}
        tables["domains"] = of_items["domains"].assign(**of_models)
    info = {"group": group, "rate": rate, "copied": copied, "counted": len(some)}
    return Diagnostics(findings=find(tables, rate), **tables, info={**info, **matched.left_out})


def counted(fit: Fit, matched: Matched) -> Ints:
    """Numbers of models that stand for all by their weights in the fit, each once.

    Those of weight 1 and more do; of others so many as their weights add up to, and so one of a
    group of clones that share the weight of one.
    """
    weight = fit.models["weight"].fillna(1.0).to_numpy(np.float64)[matched.rows]
    whole = weight >= 1.0
    order = np.lexsort((np.argsort(np.argsort(matched.models)), weight))
    light = order[~whole[order] & (weight[order] > 0.0)]
    total = np.floor(np.cumsum(weight[light]) + 1e-9)
    kept = light[np.diff(total, prepend=0.0) > 0.0]
    return np.sort(np.concatenate([np.flatnonzero(whole), kept]))


def check_share(what: str, value: object, most: float) -> None:
    """Refuse what is no number above 0 and up to some other."""
    if not isinstance(value, Real) or not 0.0 < float(value) <= most:
        raise InputError(f"{what} {value!r} is not a number above 0 and up to {most:g}")


def _surveys(
    fit: Fit, matched: Matched, groups: np.ndarray[Any, Any], links: Links, rows: Digests
) -> list[Survey]:
    """One pass over each domain."""
    priors = dict(zip(fit.domains.index, trait_priors(fit), strict=True))
    shape = len(fit.models), len(fit.domains)
    mean, sd = (fit.traits[name].to_numpy().reshape(shape)[matched.rows] for name in ("mean", "sd"))
    found, first = [], 0
    for cells in matched.domains:
        t = fit.domains.index.get_loc(cells.name)
        prior = priors[cells.name]
        own = Priors(prior.mean[matched.rows], prior.variance[matched.rows])
        published = mean[:, t], sd[:, t]
        found.append(survey(cells, own, published, groups, links, first, rows))
        first += cells.shape[1]
    return found


def _tables(
    fit: Fit, matched: Matched, group: str | None, rate: float, copied: float
) -> dict[str, pd.DataFrame]:
    """All tables of `Diagnostics` but the findings."""
    groups, names = np.full(len(matched.models), -1), list[str]()
    if group is not None:
        groups, names = groups_of(matched.metadata, group)
    links = Links(len(matched.models), len(matched.items))
    rows = Digests(len(matched.models))
    surveys = _surveys(fit, matched, groups, links, rows)
    dependence = [
        dependent_items(cells, found.traits, found.sd, rate)
        for cells, found in zip(matched.domains, surveys, strict=True)
    ]
    repeats = repeat_table(matched, surveys, rate)
    clones = clone_table(matched, surveys, rows, rate, copied)
    items = item_table(fit, matched, surveys, repeats, names, rate)
    takers = taker_table(matched, surveys, rate)
    answered = takers["answered"].groupby("model_id").sum().reindex(matched.models, fill_value=0)
    order = np.argsort(np.argsort(matched.models))
    components = links.numbered(answered.to_numpy(np.int64), order)
    models = model_table(matched, surveys, takers, clones, components.models, rate)
    return {
        "items": items,
        "models": models,
        "takers": takers,
        "pairs": pair_table(matched, dependence),
        "clones": clones,
        "repeats": repeats,
        "domains": domain_table(fit, matched, items, takers, dependence, rate),
        "scree": scree(fit),
        "design": design_table(models, components.items),
    }
