"""Draw the data of one replication of a row, with the truth that methods are judged by."""

from __future__ import annotations

from dataclasses import dataclass, replace
from zlib import crc32

import dask.array as da
import numpy as np
from dask.base import compute
from numpy.typing import NDArray
from scipy.special import expit

from mtlirt.responses.arrays import from_arrays
from mtlirt.responses.matrix import Responses
from mtlirt.simulate.generate import simulate
from mtlirt.simulate.median import sine_median
from mtlirt.simulate.simulation import Simulation
from mtlirt.studies.metrics import standardised
from mtlirt.studies.rows import Row

Array = NDArray[np.float64]
Cells = dict[str, NDArray[np.int8]]

ORIGINALS = 5
"""So many models are copied where a row has clones."""

REDRAWN = 0.05
"""The share of a clone's cells that are drawn anew."""


@dataclass(frozen=True)
class Drawn:
    """The data of a replication.

    Attributes
    ----------
    cells
        Domain -> responses, models x items; 1 correct, 0 wrong, -1 missing.
    traits
        The true ones, models x domains, with mean 0 and norm sqrt(models).
    general
        The true general trait: the sine median of the traits of the domains that have one.
    meant
        Which domains have a trait behind their responses.
    floors
        The guessing of all items, where methods may know of it.
    """

    cells: Cells
    traits: Array
    general: Array
    meant: NDArray[np.bool_]
    floors: Array | None

    @property
    def responses(self) -> Responses:
        """The cells, and what is known of the items, as `mtlirt.fit` takes them."""
        arrays = {name: da.from_array(block, block.shape) for name, block in self.cells.items()}
        responses = from_arrays(arrays)
        if self.floors is None:
            return responses
        return replace(responses, items=responses.items.assign(guessing=self.floors))


def sequence_of(seed: int, row: str, replication: int) -> np.random.SeedSequence:
    """The seeds of a replication: its own, whatever else is run, in which order and where."""
    return np.random.SeedSequence(seed, spawn_key=(crc32(row.encode()), replication))


def draw(row: Row, sequence: np.random.SeedSequence) -> Drawn:
    """Draw the data of a replication."""
    for_simulation, for_changes = sequence.spawn(2)
    seed = int(for_simulation.generate_state(1, np.uint64)[0])
    rng = np.random.default_rng(for_changes)
    simulation = simulate(row.design, seed=seed, missing=row.missing)
    arrays = [part.array for part in simulation.responses.domains.values()]
    blocks = compute(*arrays, scheduler="synchronous")
    cells: Cells = dict(zip(simulation.responses.domains, blocks, strict=True))
    traits = simulation.truth.traits.to_numpy()
    meant = np.array([name != row.noise for name in cells])
    if row.noise is not None:
        cells[row.noise] = rng.permuted(cells[row.noise], axis=0)
    if row.clones > 0:
        sources = clone_sources(rng, len(traits), row.clones)
        traits = traits[sources]
        cells = with_clones(rng, cells, simulation, sources)
    traits = standardised(traits)
    floors = simulation.truth.items["guessing"].to_numpy() if row.floors_known else None
    return Drawn(cells, traits, sine_median(traits[:, meant]), meant, floors)


def clone_sources(rng: np.random.Generator, models: int, share: float) -> NDArray[np.intp]:
    """For each model the one that it copies; itself where it is no clone."""
    order = rng.permutation(models)
    clones = round(share * models)
    sources = np.arange(models)
    sources[order[:clones]] = np.resize(order[clones : clones + ORIGINALS], clones)
    return sources


def with_clones(
    rng: np.random.Generator, cells: Cells, simulation: Simulation, sources: NDArray[np.intp]
) -> Cells:
    """Responses where clones answer as their originals, but for cells that are drawn anew.

    They are drawn from the same chances, so that clones have exactly the traits of their originals.
    """
    clones = np.flatnonzero(sources != np.arange(len(sources)))
    copied = {}
    for name, block in cells.items():
        items = simulation.truth.items.loc[name]
        trait = simulation.truth.traits[name].to_numpy()[sources[clones], None]
        slope, intercept, floor = items[["slope", "intercept", "guessing"]].to_numpy().T
        chance = floor + (1 - floor) * expit(trait * slope + intercept)
        anew = rng.random(chance.shape) < REDRAWN
        answer = rng.random(chance.shape) < chance
        copied[name] = block.copy()
        copied[name][clones] = np.where(anew, answer, block[sources[clones]])
    return copied
