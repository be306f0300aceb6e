"""How often intervals hold what they are of, on data simulated from the model."""

from __future__ import annotations

from dataclasses import dataclass
from itertools import product
from typing import TYPE_CHECKING

import numpy as np
import pandas as pd
from numpy.typing import NDArray
from scipy.special import ndtri

from mtlirt.cluster.executor import open_executor
from mtlirt.engine.fit import fit
from mtlirt.errors import InputError
from mtlirt.result import Fit
from mtlirt.scores.ranks import probability_better, rank_intervals, ranks
from mtlirt.simulate.designs import numbered_design
from mtlirt.simulate.generate import simulate
from mtlirt.simulate.laws import FactorTraits, difficulty_items
from mtlirt.simulate.simulation import Truth

if TYPE_CHECKING:
    from mtlirt.cluster.executor import Client

Float = NDArray[np.float64]

LEVEL = 0.95
REACH = float(ndtri(0.5 + 0.5 * LEVEL))

NEARLY_SURE = (0.9, 0.99)
"""Pairs whose better model is this probable are compared with what they came to."""

TRAITS = FactorTraits(rank=1, uniqueness=0.36)
DOMAINS = 4


@dataclass(frozen=True)
class CoverageOptions:
    """What a study of coverage is asked for.

    Attributes
    ----------
    models, items
        Numbers of models, and of items in each of the `DOMAINS` domains; all pairs are studied.
    replications
        Data sets of each.
    seed
        Not negative.
    """

    models: tuple[int, ...] = (50, 500)
    items: tuple[int, ...] = (20, 200)
    replications: int = 200
    seed: int = 0

    def __post_init__(self) -> None:
        for what, asked in (("models", self.models), ("items", self.items)):
            if len(set(asked)) < len(asked):
                raise InputError(f"{what} {asked}: name each once")
            if not asked or min(asked) < 2:
                raise InputError(f"{what} {asked}: expected numbers from 2 up")


def coverage_study(options: CoverageOptions, client: Client | None) -> pd.DataFrame:
    """Shares of 95 % intervals that hold the truth, data set by data set.

    Returns
    -------
    pandas.DataFrame
        Columns ``models``, ``items``, ``replication``, ``quantity`` (trait, overall, slope,
        intercept, rank, difference: of two models' overall scores), ``share``; and for the quantity
        "better", pairs with a probability in `NEARLY_SURE` that one is better: the share of those
        where it is, and what was ``expected``. Data sets do not depend on where they are drawn.
    """
    calls = [
        (models, items, replication, options.seed)
        for models, items in product(options.models, options.items)
        for replication in range(options.replications)
    ]
    with open_executor(client, 1) as executor:
        submitted = [executor.submit(one_coverage, *call) for call in calls]
        found: list[pd.DataFrame] = executor.gather(submitted)
    return pd.concat(found, ignore_index=True)


def one_coverage(models: int, items: int, replication: int, seed: int) -> pd.DataFrame:
    """The shares in one data set.

    The truth is put on the scale of a fit, on which each domain's traits have mean 0 and variance 1
    over its models.
    """
    design = numbered_design(
        "coverage", TRAITS, (items,) * DOMAINS, models=models, items=difficulty_items
    )
    drawn = simulate(design, seed=own_seed(seed, models, items, replication))
    fitted = fit(drawn.responses, threads=1)
    records = [(quantity, share, LEVEL) for quantity, share in shares(fitted, drawn.truth).items()]
    records.append(("better", *better(fitted, drawn.truth)))
    table = pd.DataFrame(records, columns=["quantity", "share", "expected"])
    table.insert(0, "models", models)
    table.insert(1, "items", items)
    table.insert(2, "replication", replication)
    return table


def own_seed(seed: int, models: int, items: int, replication: int) -> int:
    """The seed of a data set."""
    words = np.random.SeedSequence([seed, models, items, replication]).generate_state(1, np.uint64)
    return int(words[0] >> np.uint64(1))


def shares(fitted: Fit, truth: Truth) -> dict[str, float]:
    """Shares of intervals that hold the truth, by quantity."""
    traits = truth.traits.to_numpy()
    mean, sd = traits.mean(axis=0), traits.std(axis=0)
    models, domains = traits.shape
    true_traits = (traits - mean) / sd
    of_item = np.repeat(np.arange(domains), truth.items.groupby("domain", sort=False).size())
    slope = truth.items["slope"].to_numpy()
    true_slope = slope * sd[of_item]
    true_intercept = truth.items["intercept"].to_numpy() + slope * mean[of_item]
    known = ~fitted.items["constant"].to_numpy()

    def of_traits(column: str) -> Float:
        return fitted.traits[column].to_numpy().reshape(models, domains)

    def of_items(name: str, at: Float) -> float:
        error = fitted.items[f"{name}_se"].to_numpy()
        return inside(fitted.items[name].to_numpy()[known], error[known], at[known])

    overall, true_overall = fitted.models["overall"].to_numpy(), true_traits.mean(axis=1)
    overall_sd = fitted.models["overall_sd"].to_numpy()
    low, high = rank_intervals(overall, overall_sd, LEVEL, 0)
    true_ranks = ranks(true_overall)
    one, other = np.triu_indices(models, 1)
    return {
        "trait": inside(of_traits("mean"), of_traits("sd"), true_traits),
        "overall": inside(overall, overall_sd, true_overall),
        "slope": of_items("slope", true_slope),
        "intercept": of_items("intercept", true_intercept),
        "rank": float(((low <= true_ranks) & (true_ranks <= high)).mean()),
        "difference": inside(
            overall[one] - overall[other],
            np.hypot(overall_sd[one], overall_sd[other]),
            true_overall[one] - true_overall[other],
        ),
    }


def inside(centre: Float, sd: Float, truth: Float) -> float:
    """The share of normal intervals that hold the truth."""
    return float((np.abs(centre - truth) <= REACH * sd).mean())


def better(fitted: Fit, truth: Truth) -> tuple[float, float]:
    """Of nearly sure pairs, the share in which the likelier one is better, and its probability."""
    traits = truth.traits.to_numpy()
    true = ((traits - traits.mean(axis=0)) / traits.std(axis=0)).mean(axis=1)
    mean, sd = (fitted.models[name].to_numpy() for name in ("overall", "overall_sd"))
    one, other = np.triu_indices(len(mean), 1)
    probability = probability_better(mean[one], sd[one], mean[other], sd[other])
    likelier = np.maximum(probability, 1.0 - probability)
    some = (likelier > NEARLY_SURE[0]) & (likelier < NEARLY_SURE[1])
    right = (true[one] > true[other]) == (probability > 0.5)
    if not some.any():
        return np.nan, np.nan
    return float(right[some].mean()), float(likelier[some].mean())


def coverage_table(results: pd.DataFrame) -> str:
    """Mean shares and their standard errors over data sets, in Markdown."""
    quantities = [name for name in results["quantity"].unique() if name != "better"]
    head = ["models", "items", *quantities, "better (expected)"]
    lines = [f"| {' | '.join(head)} |", "| --- " * len(head) + "|"]
    for (models, items), part in results.groupby(["models", "items"], sort=False):
        by = part.groupby("quantity", sort=False)[["share", "expected"]].agg(["mean", "sem"])
        share = by["share"]
        cells = [f"{share['mean'][q]:.3f} ({share['sem'][q]:.4f})" for q in quantities]
        cells.append(f"{share['mean']['better']:.3f} ({by['expected']['mean']['better']:.3f})")
        lines.append(f"| {models} | {items} | {' | '.join(cells)} |")
    return "\n".join(lines) + "\n"
