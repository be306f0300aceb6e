"""How well traits from a few items of each domain predict its other items, on real responses."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from functools import partial
from typing import TYPE_CHECKING, Literal

import dask.array as da
import numpy as np
import pandas as pd
from numpy.typing import NDArray

from mtlirt.cluster.executor import open_executor
from mtlirt.engine.options import FitOptions
from mtlirt.errors import InputError
from mtlirt.responses.arrays import from_arrays
from mtlirt.responses.matrix import MISSING, Responses
from mtlirt.studies.methods import METHODS, Estimates, each_domain
from mtlirt.studies.metrics import agreement

if TYPE_CHECKING:
    from mtlirt.cluster.executor import Client

Blocks = dict[str, NDArray[np.int8]]
Models = Literal["complete", "partial"]

ANCHOR = "mmlu"
"""The domain that partial models took, if none is named."""

FOLDS = FitOptions().folds
"""Method `joint` needs as many items."""

HELD_OUT_METHODS: dict[str, Callable[[Responses], Estimates]] = {
    "accuracy": METHODS["accuracy"],
    "separate": METHODS["separate"],
    "pooled": METHODS["pooled"],
    "joint": METHODS["joint"],
    "uncorrected": partial(each_domain, estimator="marginal", adapt=False),
    "marginal": METHODS["marginal"],
}
"""The methods that are compared; `uncorrected` pools all domains whatever they say."""


@dataclass(frozen=True)
class HeldOutOptions:
    """What a study of held-out items is asked for.

    Attributes
    ----------
    items
        Numbers of items drawn from each domain.
    splits
        Random draws of each number.
    seed
        Not negative.
    models
        "complete": those that answered every item; "partial": the others that took the domain
        `anchor` and at least two more.
    anchor
        A domain; only for partial models, None for `ANCHOR`.
    methods
        Of `HELD_OUT_METHODS`; None is all that such models allow.
    """

    items: tuple[int, ...] = (10, 30)
    splits: int = 20
    seed: int = 0
    models: Models = "complete"
    anchor: str | None = None
    methods: tuple[str, ...] | None = None

    def __post_init__(self) -> None:
        for name in self.asked:
            if name not in HELD_OUT_METHODS:
                known = ", ".join(HELD_OUT_METHODS)
                raise InputError(f"method {name!r}: there is none; known are {known}")
        if self.models == "partial" and "joint" in self.asked:
            raise InputError("method 'joint' needs every model in every domain; leave it out")
        for what, asked in (("items", self.items), ("methods", self.asked)):
            if len(set(asked)) < len(asked):
                raise InputError(f"{what} {asked}: name each once")
        if not self.items or min(self.items) < 1:
            raise InputError(f"items {self.items}: expected numbers from 1 up")
        if "joint" in self.asked and min(self.items) < FOLDS:
            raise InputError(
                f"items {min(self.items)}: method 'joint' is cross-validated and needs {FOLDS} or "
                "more; leave it out"
            )
        if self.anchor is not None and self.models == "complete":
            raise InputError(f"anchor {self.anchor!r}: is for partial models, these are complete")

    @property
    def asked(self) -> tuple[str, ...]:
        """The names of the methods."""
        if self.methods is not None:
            return self.methods
        partial = self.models == "partial"
        return tuple(name for name in HELD_OUT_METHODS if not (partial and name == "joint"))


def held_out_study(
    responses: Responses, options: HeldOutOptions, client: Client | None
) -> pd.DataFrame:
    """Spearman correlation of traits with the accuracy on the domain's remaining items.

    Returns
    -------
    pandas.DataFrame
        Columns ``items``, ``split``, ``method``, ``domain``, ``spearman`` over the models that
        took the domain. Splits are the same for all methods, and do not depend on where they run.

    Raises
    ------
    InputError
        If no model is left, or a domain has too few items.
    """
    blocks = chosen_models(responses, options)
    for name, block in blocks.items():
        if block.shape[1] <= max(options.items):
            raise InputError(
                f"domain {name!r} has {block.shape[1]} items: {max(options.items)} leave none out"
            )
    calls = [
        (blocks, count, split, options)
        for count in options.items
        for split in range(options.splits)
    ]
    with open_executor(client, 1) as executor:
        splits = [executor.submit(one_split, *call) for call in calls]
        found: list[pd.DataFrame] = executor.gather(splits)
    return pd.concat(found, ignore_index=True)


def chosen_models(responses: Responses, options: HeldOutOptions) -> Blocks:
    """The responses of the models asked for, in memory."""
    anchor = options.anchor or ANCHOR
    if options.models == "partial" and anchor not in responses.domains:
        names = ", ".join(responses.domains)
        raise InputError(f"domain {anchor!r}: there is none; known are {names}")
    blocks = {name: np.asarray(part.array) for name, part in responses.domains.items()}
    for name, block in blocks.items():
        if block.dtype != np.int8:
            raise InputError(
                f"domain {name!r}: its responses are not single right or wrong answers, which this "
                "study needs"
            )
    answered = {name: block != MISSING for name, block in blocks.items()}
    complete = np.all([cells.all(axis=1) for cells in answered.values()], axis=0)
    if options.models == "complete":
        rows = complete
    else:
        taken = np.stack([cells.any(axis=1) for cells in answered.values()])
        rows = ~complete & answered[anchor].any(axis=1) & (taken.sum(axis=0) >= 3)
    if rows.sum() < 3:
        raise InputError(f"{rows.sum()} models are {options.models}: a study needs 3")
    return {name: block[rows] for name, block in blocks.items()}


def one_split(blocks: Blocks, count: int, split: int, options: HeldOutOptions) -> pd.DataFrame:
    """The methods on one draw of items."""
    rng = np.random.default_rng(np.random.SeedSequence([options.seed, count, split]))
    drawn = {
        name: np.sort(rng.permutation(block.shape[1])[:count]) for name, block in blocks.items()
    }
    kept = from_arrays(
        {name: da.from_array(block[:, drawn[name]], chunks=-1) for name, block in blocks.items()}
    )
    records = []
    for method in options.asked:
        run = HELD_OUT_METHODS[method]
        if options.models == "partial" and method == "accuracy":
            traits = accuracies(blocks, drawn)
        else:
            traits = run(kept).traits
        for t, (name, block) in enumerate(blocks.items()):
            rest = np.delete(block, drawn[name], axis=1)
            there = (rest != MISSING).any(axis=1) & (block[:, drawn[name]] != MISSING).any(axis=1)
            target = shares(rest[there])
            value = agreement(traits[there, t], target)["spearman"]
            records.append((count, split, method, name, value))
    return pd.DataFrame(records, columns=["items", "split", "method", "domain", "spearman"])


def accuracies(blocks: Blocks, drawn: dict[str, NDArray[np.intp]]) -> NDArray[np.float64]:
    """Shares of right answers among the drawn items, models x domains."""
    return np.stack([shares(block[:, drawn[name]]) for name, block in blocks.items()], axis=1)


def shares(block: NDArray[np.int8]) -> NDArray[np.float64]:
    """Each model's share of right answers among those it gave; 0 where it gave none."""
    answered = (block != MISSING).sum(axis=1)
    return np.asarray((block == 1).sum(axis=1) / np.maximum(answered, 1))


def held_out_table(results: pd.DataFrame, domains: Sequence[str]) -> str:
    """Means over splits in Markdown."""
    lines = [f"| items | method | {' | '.join(domains)} |", "| --- " * (len(domains) + 2) + "|"]
    means = results.pivot_table(
        index=["items", "method"], columns="domain", values="spearman", sort=False
    )[list(domains)]
    for (count, method), row in zip(means.index, means.to_numpy(), strict=True):
        cells = [f"{value:.3f}" for value in row]
        lines.append(f"| {count} | {method} | {' | '.join(cells)} |")
    return "\n".join(lines) + "\n"
