"""How sure a fit is of its items, the models' traits being found with them."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np

from mtlirt.cluster.executor import Executor
from mtlirt.engine.placement import PlacedDomain, grid_of, taken_domains
from mtlirt.engine.scoring import TraitTable
from mtlirt.engine.state import State, slope_posteriors
from mtlirt.engine.steps import run_steps
from mtlirt.irt.curves import Grid
from mtlirt.irt.kernels import Float, added
from mtlirt.irt.observed import (
    TraitUncertainty,
    anchored_root,
    cell_uncertainty,
    observed_covariance,
    slope_likelihood,
    trait_uncertainty,
)
from mtlirt.irt.slopes import settled_slope_priors, widened

STEP = 0.3
"""Distance of the grid points at which the traits are gathered, in standard deviations."""


def item_covariances(
    executor: Executor, domains: Sequence[PlacedDomain], state: State, traits: TraitTable
) -> list[Float]:
    """Covariances of (a, d) of all items by domain: entries aa, ad, dd, shape (items, 3).

    Costs items x 40^2, and one pass over the cells of domains that are not complete.

    Parameters
    ----------
    traits
        Settled at the state's items.

    Notes
    -----
    The slopes' priors were found as if the traits were known, and so come out somewhat narrow. How
    far slopes spread is found again with what is known of them, and where that is more, the
    covariances are widened.
    """
    here = executor.here
    gathered, grids = gathered_traits(executor, domains, traits)
    roots = here.gather(here.submit_all(anchored_root, [(part,) for part in gathered]))
    known = state.items, state.information, gathered, roots, grids, state.slope_priors, state.held
    first = here.gather(here.submit_all(observed_covariance, list(zip(*known, strict=True))))
    if all(prior.precision == 0.0 for prior in state.slope_priors):
        return first
    observed = [spread[~held, 0] for spread, held in zip(first, state.held, strict=True)]
    columns = zip(slope_posteriors(state), observed, state.slope_priors, strict=True)
    told = [slope_likelihood(*each) for each in columns]
    settled = settled_slope_priors(told, state.slope_priors)
    return [widened(*each) for each in zip(first, state.slope_priors, settled, strict=True)]


def gathered_traits(
    executor: Executor, domains: Sequence[PlacedDomain], traits: TraitTable
) -> tuple[list[TraitUncertainty], list[Grid]]:
    """What the traits leave open, and the grid on which it is gathered, by domain."""
    mean, variance = traits.mean, traits.sd**2
    weights = domains[0].weights
    weight = np.ones(len(mean)) if weights is None else weights
    grids = [
        covering(low, high) for low, high in zip(mean.min(axis=0), mean.max(axis=0), strict=True)
    ]
    several = [t for t, domain in enumerate(domains) if not domain.one_curve]
    calls = [
        (
            grids[t],
            [mean[rows, t] for rows in domains[t].takers],
            [weight[rows] * variance[rows, t] for rows in domains[t].takers],
        )
        for t in several
    ]
    counts = run_steps(executor, spread_step, [domains[t] for t in several], calls)
    counted = dict(zip(several, counts, strict=True))
    taken = taken_domains(domains)
    active = taken.any(axis=1)
    parts = []
    for t, domain in enumerate(domains):
        rows, others = domain.models, active & ~taken[:, t]
        parts.append(
            (
                (mean[rows, t], variance[rows, t], weight[rows]),
                traits.precision[rows, t],
                traits.shift[rows, t],
                (mean[others, t], variance[others, t], weight[others]),
                grids[t],
                *counted.get(t, (None, None)),
            )
        )
    return executor.here.gather(executor.here.submit_all(trait_uncertainty, parts)), grids


def covering(low: float, high: float) -> Grid:
    """A grid of `STEP` from one trait to another."""
    first = int(np.floor(low / STEP))
    return Grid(first, int(np.ceil(high / STEP)) + 2 - first, STEP)


def spread_step(
    executor: Executor,
    blocks: Sequence[Sequence[Any]],
    grid: Grid,
    means: Sequence[Float],
    variances: Sequence[Float],
) -> tuple[Float, Float]:
    """``noise`` and ``drift`` of `TraitUncertainty` of a domain, added over model chunks.

    Parameters
    ----------
    means, variances
        Of the traits, variances times the models' weights, by model chunk.
    """
    calls = [
        (block, mean, variance, grid)
        for row, mean, variance in zip(blocks, means, variances, strict=True)
        for block in row
    ]
    found = executor.gather(executor.submit_all(cell_uncertainty, calls))
    by_chunk = zip(*grid_of(found, len(blocks[0])), strict=True)
    sums = [
        (added([noise for noise, _ in parts]), added([drift for _, drift in parts]))
        for parts in by_chunk
    ]
    noise, drift = (np.concatenate(part, axis=1) for part in zip(*sums, strict=True))
    return noise, drift
