"""Draw responses from a design."""

from __future__ import annotations

from collections.abc import Mapping

import numpy as np
import pandas as pd
from numpy.typing import NDArray

from mtlirt.errors import InputError
from mtlirt.responses.matrix import DomainResponses, Responses
from mtlirt.simulate.cells import DomainLaw, lazy_cells, originals
from mtlirt.simulate.designs import Design, find_design
from mtlirt.simulate.laws import ItemParameters, Population
from mtlirt.simulate.simulation import Simulation, Truth
from mtlirt.simulate.streams import Stream, stream


def simulate(
    design: Design | str,
    *,
    models: int | None = None,
    seed: int = 0,
    missing: float = 0.0,
    domain_missing: float = 0.0,
) -> Simulation:
    """Draw responses and their truth from a design; cells are drawn when computed.

    Equal arguments give equal cells in any chunking. With `missing` or `domain_missing` the
    cells that remain are those of a simulation without.

    Parameters
    ----------
    design
        A design or the name of one.
    models
        Number of models; the design's own where None.
    seed
        Not negative.
    missing
        The probability that a cell is missing, whatever it holds.
    domain_missing
        The probability that a model lacks a whole domain; each keeps at least one.
    """
    if isinstance(design, str):
        design = find_design(design)
    models = design.models if models is None else models
    if models < 2:
        raise InputError(f"{models} models: expected at least 2")
    if seed < 0:
        raise InputError(f"seed {seed}: expected 0 or more")
    for name, share in (("missing", missing), ("domain_missing", domain_missing)):
        if not 0 <= share < 1:
            raise InputError(f"{name} {share}: expected a probability in [0, 1)")
    counts = dict(design.domains)
    population = design.traits(stream(seed, Stream.TRAITS), models, len(counts))
    if design.clones:
        population = population.of(originals(models, design.clones))
    items = [
        design.items(stream(seed, Stream.ITEMS, k), count)
        for k, count in enumerate(counts.values())
    ]
    absent = _absent_domains(stream(seed, Stream.ABSENT), population.traits.shape, domain_missing)
    laws = [
        DomainLaw(
            seed,
            k,
            population.traits[:, k].copy(),
            items[k],
            missing,
            absent[:, k].copy(),
            design.clones,
        )
        for k in range(len(counts))
    ]
    truth = _truth(counts, population, items)
    responses = Responses(
        domains={
            name: DomainResponses(lazy_cells(law)) for name, law in zip(counts, laws, strict=True)
        },
        models=pd.DataFrame(index=truth.traits.index),
        items=_item_metadata(truth.items),
    )
    options: dict[str, str | int | float] = {
        "design": design.name,
        "models": models,
        "seed": seed,
        "missing": missing,
        "domain_missing": domain_missing,
    }
    return Simulation(responses, truth, options)


def _item_metadata(items: pd.DataFrame) -> pd.DataFrame:
    """What a fit may know of the items: their guessing, where any has some."""
    return items[["guessing"] if items["guessing"].any() else []].copy()


def _absent_domains(
    rng: np.random.Generator, shape: tuple[int, int], share: float
) -> NDArray[np.bool_]:
    """Which domains (columns) each model (row) lacks; never all."""
    uniform = rng.random(shape)
    absent: NDArray[np.bool_] = uniform < share
    absent[np.arange(shape[0]), uniform.argmax(axis=1)] = False
    return absent


def _truth(counts: Mapping[str, int], population: Population, items: list[ItemParameters]) -> Truth:
    """The parameters as tables with ids."""
    models, rank = len(population.traits), population.loadings.shape[1]
    width = max(4, len(str(models)))
    model_ids = pd.Index([f"model-{k:0{width}d}" for k in range(1, models + 1)], name="model_id")
    width = max(3, len(str(max(counts.values()))))
    item_ids = pd.MultiIndex.from_tuples(
        [(name, f"{name}-{k:0{width}d}") for name, n in counts.items() for k in range(1, n + 1)],
        names=["domain", "item_id"],
    )
    domain_ids = pd.Index(counts, name="domain")
    loadings = {f"loading_{k + 1}": population.loadings[:, k] for k in range(rank)}
    return Truth(
        items=pd.DataFrame(
            {
                "slope": np.concatenate([part.slope for part in items]),
                "intercept": np.concatenate([part.intercept for part in items]),
                "guessing": np.concatenate(
                    [np.broadcast_to(part.guessing, part.slope.shape) for part in items]
                ),
            },
            index=item_ids,
        ),
        traits=pd.DataFrame(dict(zip(counts, population.traits.T, strict=True)), index=model_ids),
        domains=pd.DataFrame(loadings | {"uniqueness": population.uniqueness}, index=domain_ids),
        general=pd.DataFrame(population.general, index=model_ids),
    )
