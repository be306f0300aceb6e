"""Simulated responses with faults planted in them, each one known."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, replace

import dask.array as da
import numpy as np
import pandas as pd
from dask.base import compute
from numpy.typing import NDArray
from scipy.special import expit

from mtlirt.responses.matrix import MISSING, DomainResponses, Responses
from mtlirt.simulate.simulation import Simulation

Cells = list[NDArray[np.int8]]
"""The responses of each domain, models x items."""

GROUP = "group"
"""The column of the table of models that holds their groups, a and b."""


@dataclass(frozen=True)
class Planted:
    """Responses and what was planted in them.

    Attributes
    ----------
    responses
        Models have a column `GROUP`.
    faults
        The ids that a diagnostic should find: of models, of (domain, item_id), or of pairs of
        either; empty for clean data.
    """

    responses: Responses
    faults: frozenset[tuple[str, ...]]


Plant = Callable[[np.random.Generator, Simulation, Cells, NDArray[np.bool_]], list[tuple[int, ...]]]
"""Changes cells; gives the numbers of what it changed. It is told who is in group b."""


def plant(simulation: Simulation, fault: str, seed: int) -> Planted:
    """Plant a fault of `FAULTS` in simulated responses; "clean" plants none."""
    rng = np.random.default_rng([seed, list(FAULTS).index(fault)])
    arrays = [part.array for part in simulation.responses.domains.values()]
    cells: Cells = [np.array(block) for block in compute(*arrays, scheduler="synchronous")]
    in_b = rng.permutation(np.arange(len(cells[0])) < len(cells[0]) // 2)
    of, change = FAULTS[fault]
    numbers = change(rng, simulation, cells, in_b)
    responses = simulation.responses
    domains = {
        name: DomainResponses(da.from_array(block, block.shape))
        for name, block in zip(responses.domains, cells, strict=True)
    }
    models = responses.models.assign(**{GROUP: np.where(in_b, "b", "a")})
    ids = _model_ids(models) if of == "models" else _item_ids(responses)
    faults = frozenset(sum((ids[k] for k in chosen), ()) for chosen in numbers)
    return Planted(replace(responses, domains=domains, models=models), faults)


def _model_ids(models: pd.DataFrame) -> list[tuple[str, ...]]:
    return [(str(name),) for name in models.index]


def _item_ids(responses: Responses) -> list[tuple[str, ...]]:
    """Of the first domain, in which all faults of items are planted."""
    domain = next(iter(responses.domains))
    return [(domain, str(item)) for item in responses.item_ids(domain)]


def clean(*_: object) -> list[tuple[int, ...]]:
    """Nothing is planted."""
    return []


def flipped_key(
    rng: np.random.Generator, _: Simulation, cells: Cells, __: NDArray[np.bool_]
) -> list[tuple[int, ...]]:
    """Right and wrong answers of an item change places."""
    item = int(rng.integers(cells[0].shape[1]))
    column = cells[0][:, item]
    cells[0][:, item] = np.where(column == MISSING, MISSING, 1 - column)
    return [(item,)]


def stepped_item(
    rng: np.random.Generator, simulation: Simulation, cells: Cells, _: NDArray[np.bool_]
) -> list[tuple[int, ...]]:
    """The chance of passing an item follows its distance from trait 0, not the trait."""
    item = int(rng.integers(cells[0].shape[1]))
    trait = simulation.truth.traits.to_numpy()[:, 0]
    answer = rng.random(len(trait)) < expit(2.0 * np.abs(trait) + 0.8 * trait - 1.6)
    cells[0][:, item] = np.where(cells[0][:, item] == MISSING, MISSING, answer)
    return [(item,)]


def repeated_item(
    rng: np.random.Generator, _: Simulation, cells: Cells, __: NDArray[np.bool_]
) -> list[tuple[int, ...]]:
    """An item has the answers of another."""
    one, other = np.sort(rng.choice(cells[0].shape[1], 2, replace=False))
    cells[0][:, other] = cells[0][:, one]
    return [(int(one), int(other))]


def dependent_item(
    rng: np.random.Generator, _: Simulation, cells: Cells, __: NDArray[np.bool_]
) -> list[tuple[int, ...]]:
    """A random two fifths of the models give another item's answer to an item."""
    one, other = np.sort(rng.choice(cells[0].shape[1], 2, replace=False))
    some = rng.random(len(cells[0])) < 0.4
    cells[0][some, other] = cells[0][some, one]
    return [(int(one), int(other))]


def shifted_item(
    rng: np.random.Generator, simulation: Simulation, cells: Cells, in_b: NDArray[np.bool_]
) -> list[tuple[int, ...]]:
    """An item is easier for group b by 1.5 logits."""
    item = int(rng.integers(cells[0].shape[1]))
    trait = simulation.truth.traits.to_numpy()[in_b, 0]
    slope, intercept = simulation.truth.items[["slope", "intercept"]].to_numpy()[item]
    answer = rng.random(len(trait)) < expit(slope * trait + intercept + 1.5)
    cells[0][in_b, item] = np.where(cells[0][in_b, item] == MISSING, MISSING, answer)
    return [(item,)]


def cloned_model(
    rng: np.random.Generator, simulation: Simulation, cells: Cells, _: NDArray[np.bool_]
) -> list[tuple[int, ...]]:
    """A model has another's answers, a fifth of them drawn anew from the same chances."""
    one, other = np.sort(rng.choice(len(cells[0]), 2, replace=False))
    for name, block in zip(simulation.responses.domains, cells, strict=True):
        slope, intercept = simulation.truth.items.loc[name, ["slope", "intercept"]].to_numpy().T
        trait = simulation.truth.traits.loc[:, name].iloc[one]
        anew = rng.random(block.shape[1]) < expit(slope * trait + intercept)
        redrawn = (rng.random(block.shape[1]) < 0.2) & (block[one] != MISSING)
        block[other] = np.where(redrawn, anew, block[one])
    return [(int(one), int(other))]


def random_responder(
    rng: np.random.Generator, _: Simulation, cells: Cells, __: NDArray[np.bool_]
) -> list[tuple[int, ...]]:
    """A model passes each item with the same chance of one half."""
    model = int(rng.integers(len(cells[0])))
    for block in cells:
        answer = rng.random(block.shape[1]) < 0.5
        block[model] = np.where(block[model] == MISSING, MISSING, answer)
    return [(model,)]


FAULTS: dict[str, tuple[str, Plant]] = {
    "clean": ("items", clean),
    "flipped key": ("items", flipped_key),
    "misshapen curve": ("items", stepped_item),
    "repeated item": ("items", repeated_item),
    "dependent item": ("items", dependent_item),
    "shifted item": ("items", shifted_item),
    "cloned model": ("models", cloned_model),
    "random responder": ("models", random_responder),
}
"""Name -> what it is planted in, and how."""
