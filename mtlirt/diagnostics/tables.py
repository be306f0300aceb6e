"""The tables of `mtlirt.diagnostics.diagnose.Diagnostics`."""

from __future__ import annotations

from collections.abc import Sequence
from functools import reduce

import numpy as np
import numpy.typing as npt
import pandas as pd
from scipy.special import ndtri

from mtlirt.diagnostics.cells import Ints, Matched
from mtlirt.diagnostics.copies import best_match, copies, exact_copies, grouped
from mtlirt.diagnostics.dependence import Dependence
from mtlirt.diagnostics.digests import Digests
from mtlirt.diagnostics.group_fit import GroupFit, group_fit
from mtlirt.diagnostics.item_fit import ItemFit, item_fit
from mtlirt.diagnostics.keys import wrongly_keyed
from mtlirt.diagnostics.model_fit import (
    Relation,
    Weighed,
    chance_tail,
    corrected,
    relation,
)
from mtlirt.diagnostics.pairs import Pairs
from mtlirt.diagnostics.survey import Survey
from mtlirt.diagnostics.tails import adjusted
from mtlirt.result import Fit

Float = npt.NDArray[np.float64]

TAKER_COLUMNS = [
    *("answered", "share_answered", "share_right", "lz", "lz_p", "lz_q", "always", "unrelated"),
    *("chance_p", "below_chance", "few"),
]
"""The columns of `Diagnostics.takers`."""

FEW = 0.5
"""A model with fewer answers than this share of a domain's median has few."""


def item_table(
    fit: Fit,
    matched: Matched,
    surveys: Sequence[Survey],
    repeats: pd.DataFrame,
    groups: Sequence[str],
    rate: float,
) -> pd.DataFrame:
    """`Diagnostics.items`."""
    fitted = fit.items.loc[matched.items]
    slope, sd = fitted["slope"].to_numpy(), np.sqrt(fitted["slope_variance"].to_numpy())
    constant = fitted["constant"].to_numpy(bool)
    reach = float(ndtri(0.975)) * sd
    sums = [found.items for found in surveys]
    answered = np.concatenate([part.answered for part in sums])
    right = np.concatenate([part.y for part in sums])
    tests = ItemFit(*_joined([item_fit(found.intervals) for found in surveys]))
    statistic, freedom, p, gap = (np.where(constant, np.nan, part) for part in tests)
    columns = {
        "answered": answered.astype(np.int64),
        "share_right": _share(right, answered),
        "slope": slope,
        "slope_sd": sd,
        "trait_correlation": np.concatenate([part.correlation for part in sums]),
        "fit": statistic,
        "fit_df": freedom,
        "fit_p": p,
        "fit_q": adjusted(p),
        "gap": gap,
    }
    if groups:
        found = GroupFit(*_joined([group_fit(part.groups) for part in surveys]))
        names = np.array([*groups, None], dtype=object)
        p = np.where(constant, np.nan, found.p)
        columns |= {
            "dif": found.statistic,
            "dif_df": found.freedom,
            "dif_p": p,
            "dif_q": adjusted(p),
            "dif_shift": found.shift,
            "dif_easier": names[found.easier.astype(np.intp)],
        }
    slopes = np.split(slope, np.cumsum([cells.shape[1] for cells in matched.domains])[:-1])
    columns |= {
        "constant": constant,
        "uninformative": ~constant & (np.abs(slope) <= reach),
        "negative": ~constant & (slope < -reach),
        "miskeyed": np.concatenate(
            [
                wrongly_keyed(part, own, cells.constant, rate)
                for part, own, cells in zip(sums, slopes, matched.domains, strict=True)
            ]
        ),
    }
    table = pd.DataFrame(columns, index=matched.items)
    table["repeat"] = _groups_of(repeats, ["domain", "item_id"], table.index)
    return table


def taker_table(matched: Matched, surveys: Sequence[Survey], rate: float) -> pd.DataFrame:
    """`Diagnostics.takers`."""
    parts = []
    for cells, found in zip(matched.domains, surveys, strict=True):
        sums, fit = found.models, corrected(found.models)
        taken = sums.answered > 0.0
        always = np.select(
            [sums.successes == sums.attempts, sums.successes == 0.0], ["right", "wrong"], ""
        )
        table = pd.DataFrame(
            {
                "model_id": matched.models,
                "domain": cells.name,
                "answered": sums.answered.astype(np.int64),
                "share_answered": sums.answered / cells.shape[1],
                "share_right": _share(sums.successes, sums.attempts),
                "lz": fit.standardised,
                "lz_p": fit.p,
                "always": pd.Series(always, dtype="string").where(always != ""),
                "unrelated": relation(sums).absent,
                "chance_p": chance_tail(sums),
            }
        )[taken]
        median = table["answered"].median()
        parts.append(table.assign(few=table["answered"] < FEW * median))
    table = pd.concat(parts, ignore_index=True)
    place = matched.models.get_indexer(pd.Index(table["model_id"]))
    table = table.iloc[np.argsort(place, kind="stable")].set_index(["model_id", "domain"])
    table["lz_q"] = adjusted(table["lz_p"].to_numpy(np.float64))
    table["unrelated"] &= table["lz_q"] <= rate
    table["below_chance"] = adjusted(table["chance_p"].to_numpy(np.float64)) <= rate
    return table[TAKER_COLUMNS]


def model_table(
    matched: Matched,
    surveys: Sequence[Survey],
    takers: pd.DataFrame,
    clones: pd.DataFrame,
    components: Ints,
    rate: float,
) -> pd.DataFrame:
    """`Diagnostics.models`."""
    fits = [corrected(found.models) for found in surveys]
    related = reduce(Relation.added, (relation(found.models) for found in surveys))
    total = Weighed(*(np.sum(column, axis=0) for column in zip(*fits, strict=True)))
    by_model = takers.groupby("model_id")["answered"].agg(["sum", "size"])
    by_model = by_model.reindex(matched.models, fill_value=0)
    return pd.DataFrame(
        {
            "component": pd.Series(components, matched.models, dtype="Int64").where(components > 0),
            "answered": by_model["sum"],
            "domains": by_model["size"],
            "lz": total.standardised,
            "lz_p": total.p,
            "lz_q": adjusted(total.p),
            "unrelated": related.absent & (adjusted(total.p) <= rate),
            "clones": _groups_of(clones, ["model_id"], matched.models),
        },
        index=matched.models,
    )


def pair_table(matched: Matched, dependence: Sequence[Dependence]) -> pd.DataFrame:
    """`Diagnostics.pairs`."""
    parts = []
    for cells, found in zip(matched.domains, dependence, strict=True):
        ids = _ids(matched, cells.name).to_numpy(dtype=object)
        pairs = found.pairs
        parts.append(
            pd.DataFrame(
                {
                    "domain": pd.Series(cells.name, range(len(pairs.one)), dtype=object),
                    "item_id": ids[pairs.one],
                    "other_item_id": ids[pairs.other],
                    "q3": pairs.correlation,
                    "z": pairs.z,
                    "p": pairs.p,
                    "answered": pairs.common.astype(np.int64),
                }
            )
        )
    return pd.concat(parts, ignore_index=True)


def clone_table(
    matched: Matched, surveys: Sequence[Survey], rows: Digests, rate: float, copied: float
) -> pd.DataFrame:
    """`Diagnostics.clones`."""
    ids = matched.models
    exact = exact_copies(rows.values, rows.answered, ids)
    traits = np.stack([found.traits for found in surveys], axis=1)
    groups, pairs = copies(matched.domains, traits, exact, rows.answered, ids, rate, copied)
    members = np.flatnonzero(groups.group)
    alike = np.bincount(exact, minlength=len(ids))[exact] > 1
    answered = np.sum([found.models.answered for found in surveys], axis=0)
    near = best_match(pairs, ids).reindex(members)
    like = ids.to_numpy(dtype=object)[near["like"].fillna(0).to_numpy(np.intp)]
    is_copy = alike[members]
    original = pd.Series(ids.to_numpy(dtype=object)[exact[members]]).where(is_copy)
    table = pd.DataFrame(
        {
            "group": groups.group[members],
            "model_id": ids.to_numpy(dtype=object)[members],
            "copy_of": original,
            "like": pd.Series(like, dtype=object).where(near["like"].notna().to_numpy(), original),
            "correlation": near["correlation"].where(~is_copy, 1.0).to_numpy(),
            "z": near["z"].to_numpy(),
            "answered": near["common"].where(~is_copy, answered[members]).to_numpy(np.int64),
        }
    )
    return table.sort_values(["group", "model_id"], ignore_index=True)


def repeat_table(matched: Matched, surveys: Sequence[Survey], rate: float) -> pd.DataFrame:
    """`Diagnostics.repeats`: groups that chance does not explain.

    Two items of the same parameters are answered alike by all models with the probability
    prod (P^2 + (1 - P)^2); times the number of pairs of items, that must be at most the rate.
    """
    digests = [value for found in surveys for value in found.columns.values]
    constant = np.concatenate([cells.constant for cells in matched.domains])
    agreement = np.concatenate([found.items.agreement for found in surveys])
    count = len(constant)
    chance = np.exp(np.minimum(agreement + np.log(max(count * (count - 1) / 2, 1)), 0.0))
    order = pd.Index(matched.items.to_flat_index())
    exact = exact_copies(digests, ~constant & (chance <= rate), order)
    groups = grouped(exact, Pairs.joined([]), order)
    members = np.flatnonzero(groups.group)
    table = pd.DataFrame(
        {
            "group": groups.group[members],
            "domain": matched.items.get_level_values("domain")[members],
            "item_id": matched.items.get_level_values("item_id")[members],
            "chance": chance[members],
        }
    )
    return table.sort_values(["group", "domain", "item_id"], ignore_index=True)


def domain_table(
    fit: Fit,
    matched: Matched,
    items: pd.DataFrame,
    takers: pd.DataFrame,
    dependence: Sequence[Dependence],
    rate: float,
) -> pd.DataFrame:
    """`Diagnostics.domains`."""
    names = pd.Index([cells.name for cells in matched.domains], name="domain")
    flags = items[["constant", "uninformative", "negative", "miskeyed"]]
    counts = flags.assign(misfitting=items["fit_q"] <= rate).groupby("domain").sum().loc[names]
    models = takers.assign(odd=takers["lz_q"] <= rate).groupby("domain")["odd"]
    return pd.DataFrame(
        {
            "items": items.groupby("domain").size().loc[names],
            "models": models.size().reindex(names, fill_value=0),
            **{name: counts[name] for name in counts.columns},
            "dependent_pairs": pd.Series([found.total for found in dependence], names),
            "misfitting_models": models.sum().reindex(names, fill_value=0),
            "uniqueness": fit.domains["uniqueness"].loc[names],
        },
        index=names,
    )


def design_table(models: pd.DataFrame, of_items: Ints) -> pd.DataFrame:
    """`Diagnostics.design`."""
    by = models.dropna(subset="component").groupby("component")["answered"].agg(["size", "sum"])
    items = pd.Series(of_items).value_counts().reindex(by.index, fill_value=0)
    return pd.DataFrame({"models": by["size"], "items": items, "cells": by["sum"]})


def _joined(parts: Sequence[tuple[Float, ...]]) -> list[Float]:
    """The columns of some parts, one part after the other."""
    return [np.concatenate(column) for column in zip(*parts, strict=True)]


def _share(part: Float, whole: Float) -> Float:
    return np.where(whole > 0.0, part / np.where(whole > 0.0, whole, 1.0), np.nan)


def _ids(matched: Matched, domain: str) -> pd.Index:
    of_domain = matched.items.get_level_values("domain") == domain
    return matched.items[of_domain].get_level_values("item_id")


def _groups_of(table: pd.DataFrame, keys: list[str], index: pd.Index) -> npt.NDArray[np.int64]:
    """The group of each row of an index, 0 where it is in none."""
    return table.set_index(keys)["group"].reindex(index).fillna(0).to_numpy(np.int64)
