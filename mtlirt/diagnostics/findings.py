"""What a person should look at: the largest departures, a row and a sentence each."""

from __future__ import annotations

from collections.abc import Callable, Mapping

import numpy as np
import pandas as pd

LARGE_GAP = 0.1
"""An item that fits badly is told of if a share of right answers is off by so much."""

LARGE_SHIFT = 0.64
"""So is one that differs between groups by so many logits: category C of Educational Testing
Service, 1.5 units of -2.35 log odds ratio (Dorans and Holland, 1993)."""

LARGE_Q3 = 0.2
"""So is a pair of items whose residuals have such a correlation (Chen and Thissen, 1997)."""

COLUMNS = ["kind", "domain", "item_id", "model_id", "value", "told"]

Tables = Mapping[str, pd.DataFrame]

Finder = Callable[[Tables, float], pd.DataFrame]
"""Picks rows of tables at a rate, with their ``value``."""


def find(tables: Tables, rate: float) -> pd.DataFrame:
    """`Diagnostics.findings`: by kind, of each kind the strongest first."""
    parts = []
    for kind, (of, told) in KINDS.items():
        table = of(tables, rate)
        rows = table.to_dict("records")
        texts = pd.Series(
            [told.format_map({str(name): cell for name, cell in row.items()}) for row in rows],
            table.index,
            dtype=object,
        )
        part = table.assign(kind=kind, told=texts).reindex(columns=COLUMNS)
        part["strength"] = part["value"].abs()
        keys = ["strength", "domain", "item_id", "model_id"]
        parts.append(part.sort_values(keys, ascending=[False, True, True, True])[COLUMNS])
    found = pd.concat([part.astype(object) for part in parts], ignore_index=True)
    return found.astype({"value": np.float64})


def _items(flag: Callable[[pd.DataFrame, float], pd.Series], value: str) -> Finder:
    """Rows of items that a rule picks."""

    def of(tables: Tables, rate: float) -> pd.DataFrame:
        items = tables["items"]
        return items[flag(items, rate)].reset_index().assign(value=lambda part: part[value])

    return of


def _takers(flag: Callable[[pd.DataFrame, float], pd.Series], value: str) -> Finder:
    """Rows of models in a domain that a rule picks."""

    def of(tables: Tables, rate: float) -> pd.DataFrame:
        takers = tables["takers"]
        return takers[flag(takers, rate)].reset_index().assign(value=lambda part: part[value])

    return of


def _disconnected(tables: Tables, _: float) -> pd.DataFrame:
    models = tables["models"]
    apart = models[(models["component"] > 1).fillna(False).astype(bool)]
    return apart.reset_index().assign(value=lambda part: part["component"].astype(np.float64))


def _unrelated(tables: Tables, _: float) -> pd.DataFrame:
    """Models over all domains, and in single ones."""
    found = [tables[name].query("unrelated").reset_index() for name in ("models", "takers")]
    rows = pd.concat([part.assign(value=part["lz"]) for part in found], ignore_index=True)
    return rows.reindex(columns=["domain", "model_id", "lz", "value"])


def _dif(tables: Tables, rate: float) -> pd.DataFrame:
    items = tables["items"].reset_index()
    if "dif_q" not in items:
        return items.iloc[:0].assign(value=0.0)
    some = (items["dif_q"] <= rate) & (items["dif_shift"] >= LARGE_SHIFT)
    return items[some].assign(value=lambda part: part["dif_shift"])


def _pairs(tables: Tables, _: float) -> pd.DataFrame:
    pairs = tables["pairs"]
    return pairs[pairs["q3"].abs() >= LARGE_Q3].assign(value=lambda part: part["q3"])


def _clones(tables: Tables, _: float) -> pd.DataFrame:
    clones = tables["clones"]
    sizes = clones.groupby("group")["model_id"].transform("size")
    return clones.assign(value=clones["correlation"], models=sizes)


def _repeats(tables: Tables, _: float) -> pd.DataFrame:
    repeats = tables["repeats"]
    sizes = repeats.groupby("group")["item_id"].transform("size")
    return repeats.assign(value=sizes.astype(np.float64), items=sizes)


KINDS: dict[str, tuple[Finder, str]] = {
    "disconnected": (
        _disconnected,
        "no answered items tie it to the largest component; do not rank it against that",
    ),
    "miskeyed": (
        _items(lambda items, _: items["miskeyed"], "trait_correlation"),
        "better models fail it (correlation {trait_correlation:.2f}); its key may be wrong",
    ),
    "repeat": (_repeats, "all models answered {items} items of group {group} alike"),
    "clone": (
        _clones,
        "one of {models} models of group {group} that answer alike; most like {like}",
    ),
    "dependent": (
        _pairs,
        "together with item {other_item_id}: the correlation of their residuals is {q3:.2f}",
    ),
    "dif": (
        _dif,
        "easier for {dif_easier} by up to {dif_shift:.2f} logits at the same trait",
    ),
    "misfit": (
        _items(
            lambda items, rate: (items["fit_q"] <= rate) & (items["gap"].abs() >= LARGE_GAP), "gap"
        ),
        "the share right is off its curve by {gap:+.2f} in an interval of traits",
    ),
    "negative": (
        _items(lambda items, _: items["negative"] & ~items["miskeyed"], "slope"),
        "better models fail it more often: slope {slope:.2f} (sd {slope_sd:.2f})",
    ),
    "unrelated": (
        _unrelated,
        "its answers show no relation to the items (lz* {lz:.1f})",
    ),
    "odd": (
        _takers(lambda takers, rate: (takers["lz_q"] <= rate) & ~takers["unrelated"], "lz"),
        "passes what it should fail and fails what it should pass (lz* {lz:.1f})",
    ),
    "below_chance": (
        _takers(lambda takers, _: takers["below_chance"], "share_right"),
        "{share_right:.1%} right, below what guessing gives",
    ),
    "always": (
        _takers(lambda takers, _: takers["always"].notna(), "share_right"),
        "always {always} in {answered} answers",
    ),
    "few": (
        _takers(lambda takers, _: takers["few"], "share_answered"),
        "answered {share_answered:.1%} of the domain's items, less than half of what others did",
    ),
    "constant": (
        _items(lambda items, _: items["constant"], "share_right"),
        "all {answered} models alike: tells nothing of any trait",
    ),
    "uninformative": (
        _items(lambda items, _: items["uninformative"], "slope_sd"),
        "the interval of its slope holds 0: {slope:.2f} (sd {slope_sd:.2f})",
    ),
}
"""Kind -> who picks its rows, and what is told of each."""
