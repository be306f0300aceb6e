"""A leaderboard that stronger models join, and how far its first models move."""

from dataclasses import dataclass

import dask.array as da
import numpy as np
import pandas as pd

import mtlirt
from mtlirt.responses.matrix import DomainResponses, Responses
from mtlirt.simulate.designs import Design, find_design
from mtlirt.simulate.generate import simulate


@dataclass(frozen=True)
class Joined:
    """Traits of a design, those of all but the first models higher by so much."""

    design: Design
    first: int
    by: float

    def __call__(self, rng, models, domains):
        drawn = self.design.traits(rng, models, domains)
        drawn.traits[self.first :] += self.by
        return drawn


def leaderboards(design, first, added, by=1.0, seed=1):
    """The responses of the first models, and those of all."""
    design = find_design(design) if isinstance(design, str) else design
    traits = Joined(design, first, by)
    every = Design(design.name, design.domains, first + added, design.items, traits)
    responses = simulate(every, seed=seed).responses
    computed = {name: part.array.persist() for name, part in responses.domains.items()}
    return tuple(
        Responses(
            {name: DomainResponses(cells[:models]) for name, cells in computed.items()},
            responses.models.iloc[:models],
            responses.items,
        )
        for models in (first, first + added)
    )


def with_leaks(responses, share):
    """Which items leaked, and the responses with half of the wrong answers to them right."""
    rng = np.random.default_rng(0)
    leaked = rng.random(len(responses.items)) < share
    domains, ids = {}, responses.items.index.get_level_values("domain")
    for name, part in responses.domains.items():
        cells = np.asarray(part.array).copy()
        turned = (rng.random(cells.shape) < 0.5) & leaked[ids == name]
        cells[turned & (cells == 0)] = 1
        domains[name] = DomainResponses(da.from_array(cells))
    return leaked, Responses(domains, responses.models, responses.items)


def movements(before, after):
    """By overall and domain scores, in their standard errors before: how far models moved."""
    told = {"overall": (after.models["overall"] - before.models["overall"])}
    sds = {"overall": before.models["overall_sd"]}
    for domain in before.domains.index:
        one, other = (fit.traits.xs(domain, level="domain") for fit in (before, after))
        told[domain], sds[domain] = other["mean"] - one["mean"], one["sd"]
    ids = before.models.index
    moved = pd.DataFrame({name: (told[name] / sds[name]).loc[ids] for name in told})
    return pd.DataFrame(
        {
            "mean": moved.mean(),
            "rms": np.sqrt((moved**2).mean()),
            "within": (moved.abs() < 1.0).mean(),
        }
    )


def refits(design, first, added, **options):
    """The first fit, and fits of all models by themselves and on the first's scale."""
    some, every = leaderboards(design, first, added)
    before = mtlirt.fit(some, threads=1)
    alone = mtlirt.fit(every, threads=1)
    return before, alone, mtlirt.fit(every, threads=1, anchor=before, **options)
