"""How often diagnostics find what was planted in simulated data, and what was not."""

from __future__ import annotations

from dataclasses import dataclass
from itertools import combinations, product
from typing import TYPE_CHECKING

import numpy as np
import pandas as pd

from mtlirt.cluster.executor import open_executor
from mtlirt.diagnostics.diagnose import Diagnostics, diagnose
from mtlirt.engine.fit import fit
from mtlirt.errors import InputError
from mtlirt.simulate.designs import numbered_design
from mtlirt.simulate.generate import simulate
from mtlirt.simulate.laws import FactorTraits, intercept_items
from mtlirt.studies.coverage import own_seed
from mtlirt.studies.planted import FAULTS, GROUP, plant

if TYPE_CHECKING:
    from mtlirt.cluster.executor import Client

TRAITS = FactorTraits(rank=1, uniqueness=0.36)
DOMAINS = 3
RATE = 0.05

TESTS = {"misfit": ("items", "fit_p"), "dif": ("items", "dif_p"), "odd": ("takers", "lz_p")}
"""Diagnostic -> the table and column of its p-values."""

IN_GROUPS = {"clone": ("clones", ["model_id"]), "repeat": ("repeats", ["domain", "item_id"])}
"""Diagnostic -> the table of its groups, and the columns of ids there."""

ADJUSTED = {"dif": "dif_q", "misfit": "fit_q"}
"""Diagnostic of items -> the column of its adjusted p-values."""

FOUND_BY = {
    "flipped key": "miskeyed",
    "misshapen curve": "misfit",
    "repeated item": "repeat",
    "dependent item": "dependent",
    "shifted item": "dif",
    "cloned model": "clone",
    "random responder": "unrelated",
}
"""Fault -> the diagnostic that should find it."""


@dataclass(frozen=True)
class DiagnosticsOptions:
    """What a study of diagnostics is asked for.

    Attributes
    ----------
    models, items
        Numbers of models, and of items in each of the `DOMAINS` domains; all pairs are studied.
    missing
        The probability that a cell is missing.
    replications
        Data sets of each, of each fault.
    seed
        Not negative.
    """

    models: tuple[int, ...] = (100, 500)
    items: tuple[int, ...] = (30, 100)
    missing: float = 0.2
    replications: int = 20
    seed: int = 0

    def __post_init__(self) -> None:
        for what, asked in (("models", self.models), ("items", self.items)):
            if len(set(asked)) < len(asked):
                raise InputError(f"{what} {asked}: name each once")
            if not asked or min(asked) < 10:
                raise InputError(f"{what} {asked}: expected numbers from 10 up")


def diagnostics_study(options: DiagnosticsOptions, client: Client | None) -> pd.DataFrame:
    """What was found in data sets with and without faults.

    Returns
    -------
    pandas.DataFrame
        Columns ``models``, ``items``, ``replication``, ``fault``, ``diagnostic``, ``found`` (of
        what was planted, the share that the diagnostic found; null in clean data), ``false``
        (what else it found, in clean data) and ``small`` (in clean data: the share of p-values up
        to `RATE`; null for diagnostics without).
    """
    calls = [
        (models, items, options.missing, fault, replication, options.seed)
        for models, items in product(options.models, options.items)
        for fault in FAULTS
        for replication in range(options.replications)
    ]
    with open_executor(client, 1) as executor:
        submitted = [executor.submit(one_data_set, *call) for call in calls]
        found: list[pd.DataFrame] = executor.gather(submitted)
    return pd.concat(found, ignore_index=True)


def one_data_set(
    models: int, items: int, missing: float, fault: str, replication: int, seed: int
) -> pd.DataFrame:
    """What is found in one data set."""
    design = numbered_design(
        "diagnostics", TRAITS, (items,) * DOMAINS, models=models, items=intercept_items
    )
    own = own_seed(seed, models, items, replication)
    planted = plant(simulate(design, seed=own, missing=missing), fault, own)
    fitted = fit(planted.responses, threads=1)
    found = diagnose(fitted, planted.responses, group=GROUP, rate=RATE)
    if fault == "clean":
        rows = [
            (kind, np.nan, len(named(found, kind)), small(found, kind))
            for kind in FOUND_BY.values()
        ]
        rows.insert(0, ("odd", np.nan, len(named(found, "odd")), small(found, "odd")))
    else:
        kind = FOUND_BY[fault]
        hit = np.mean([one in named(found, kind) for one in planted.faults])
        rows = [(kind, float(hit), 0, np.nan)]
    table = pd.DataFrame(rows, columns=["diagnostic", "found", "false", "small"])
    table.insert(0, "models", models)
    table.insert(1, "items", items)
    table.insert(2, "replication", replication)
    table.insert(3, "fault", fault)
    return table


def named(found: Diagnostics, kind: str) -> set[tuple[str, ...]]:
    """What a diagnostic found, by ids: models, items, or pairs of either."""
    if kind in IN_GROUPS:
        name, ids = IN_GROUPS[kind]
        parts = getattr(found, name).groupby("group")[ids]
        groups = [sorted(part.itertuples(index=False, name=None)) for _, part in parts]
        return {one + other for group in groups for one, other in combinations(group, 2)}
    if kind == "dependent":
        pairs = found.pairs[["domain", "item_id", "domain", "other_item_id"]]
        return set(pairs.itertuples(index=False, name=None))
    items, takers = found.items, found.takers
    if kind == "odd":
        return {(model,) for model, _ in takers.index[takers["lz_q"] <= RATE]}
    if kind == "unrelated":
        return {(model,) for model in found.findings.query("kind == 'unrelated'")["model_id"]}
    some = items[ADJUSTED[kind]] <= RATE if kind in ADJUSTED else items[kind]
    return {(domain, item) for domain, item in items.index[some]}


def small(found: Diagnostics, kind: str) -> float:
    """The share of a diagnostic's p-values up to `RATE`; null without any."""
    if kind not in TESTS:
        return np.nan
    table, column = TESTS[kind]
    p = getattr(found, table)[column].dropna()
    return float((p <= RATE).mean()) if len(p) else np.nan


def diagnostics_table(results: pd.DataFrame) -> str:
    """Power, false alarms and small p-values by size and diagnostic, in Markdown."""
    head = ["models", "items", "diagnostic", "fault", "found", "false in a clean set", "p <= .05"]
    lines = [f"| {' | '.join(head)} |", "| --- " * len(head) + "|"]
    faults = {kind: fault for fault, kind in FOUND_BY.items()}
    for (models, items, kind), part in results.groupby(
        ["models", "items", "diagnostic"], sort=False
    ):
        none = part[part["fault"] == "clean"]
        share, power = none["small"].mean(), part["found"].mean()
        cells = [
            str(models),
            str(items),
            str(kind),
            faults.get(str(kind), "-"),
            "-" if np.isnan(power) else f"{power:.2f}",
            f"{none['false'].mean():.2f}",
            "-" if np.isnan(share) else f"{share:.3f}",
        ]
        lines.append(f"| {' | '.join(cells)} |")
    return "\n".join(lines) + "\n"
