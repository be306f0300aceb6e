"""One pass over a domain: the sums that most diagnostics are made of."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
import numpy.typing as npt

from mtlirt.diagnostics.cells import DomainCells
from mtlirt.diagnostics.digests import Digests, transposed
from mtlirt.diagnostics.group_fit import trait_functions
from mtlirt.diagnostics.item_fit import interval_functions
from mtlirt.diagnostics.item_scores import ItemScores, item_scores
from mtlirt.diagnostics.keys import ItemSums, item_sums
from mtlirt.diagnostics.model_fit import ModelSums, model_sums
from mtlirt.diagnostics.posterior import (
    PART_CELLS,
    Float,
    Priors,
    group_priors,
    log_likelihood,
    posterior,
    trait_points,
)
from mtlirt.irt.blocks import ResponseBlock
from mtlirt.irt.components import Links, block_links


@dataclass(frozen=True)
class Survey:
    """What one pass over a domain finds.

    Attributes
    ----------
    traits, sd
        Moments of the posteriors, shape (models,) each.
    intervals
        Scores of the items in intervals of the trait.
    groups
        Scores of the items in each group of models.
    items, models
        Other sums over models and over items.
    columns
        Digests of the items' columns.
    """

    traits: Float
    sd: Float
    intervals: ItemScores
    groups: list[ItemScores]
    items: ItemSums
    models: ModelSums
    columns: Digests


def survey(
    cells: DomainCells,
    priors: Priors,
    published: tuple[Float, Float],
    groups: npt.NDArray[np.intp],
    links: Links,
    first_item: int,
    rows: Digests,
) -> Survey:
    """Go over a domain once, strip by strip of models.

    Parameters
    ----------
    priors
        Of the models' traits, by the other domains.
    published
        Means and standard deviations of the traits as fitted, shape (models,) each.
    groups
        Of the models: 0, 1, ...; -1 is none.
    links, first_item, rows
        What is collected over all domains: links of models and items, the number of this
        domain's first item there, and digests of models.
    """
    likelihood, points = _likelihood(cells, priors, published)
    everyone = posterior(likelihood, points, priors)
    traits, variance = everyone.mean, everyone.variance
    taken = np.zeros(cells.shape[0], bool)
    columns = Digests(cells.shape[1])
    of_models: list[ModelSums] = []
    of_items: ItemSums | None = None
    for strip in cells.strips:
        block = cells.block(strip)
        tied = block_links(block)
        taken[strip] = tied.models >= 0
        links.add(np.arange(strip.start, strip.stop), first_item, tied)
        rows.update(strip.start, block)
        columns.update(0, transposed(block))
        of_models.append(model_sums(block, cells.items, traits[strip]))
        found = _item_sums(block, cells, traits[strip], variance[strip])
        of_items = found if of_items is None else of_items.added(found)
    assert of_items is not None
    intervals = interval_functions(points, traits[taken] if taken.any() else traits)
    of_group = np.where(taken, groups, -1)
    own = group_priors(likelihood, points, priors, of_group)
    both = trait_functions(points)
    in_intervals: list[ItemScores] = []
    in_groups: list[list[ItemScores]] = [[] for _ in range(groups.max(initial=-1) + 1)]
    for strip in cells.strips:
        block = cells.block(strip)
        some = posterior(likelihood[strip], points, priors.part(strip))
        in_intervals.append(item_scores(block, cells.items, some, intervals))
        for group, parts in enumerate(in_groups):
            members = np.flatnonzero(of_group[strip] == group)
            here = members + strip.start
            prior = Priors(own.mean[here], own.variance[here])
            group_posterior = posterior(likelihood[here], points, prior)
            parts.append(item_scores(block.take(members), cells.items, group_posterior, both))
    return Survey(
        traits,
        np.sqrt(np.maximum(variance, 0.0)),
        _added(in_intervals),
        [_added(parts) for parts in in_groups],
        of_items,
        ModelSums(*(np.concatenate(column) for column in zip(*of_models, strict=True))),
        columns,
    )


def _likelihood(
    cells: DomainCells, priors: Priors, published: tuple[Float, Float]
) -> tuple[Float, Float]:
    """Log-likelihoods of all models on the grid, and the grid."""
    mean, sd = (
        np.where(np.isnan(part), empty, part)
        for part, empty in zip(published, (0.0, 1.0), strict=True)
    )
    points = trait_points(cells.items, mean, sd, priors)
    parts = [log_likelihood(cells.block(strip), cells.items, points) for strip in cells.strips]
    return np.concatenate(parts), points


def _item_sums(
    block: ResponseBlock, cells: DomainCells, traits: Float, variance: Float
) -> ItemSums:
    """Of a strip, a part of its items at a time."""
    models, count = block.responses.shape
    step = max(1, PART_CELLS // max(models, 1))
    parts = []
    for start in range(0, count, step):
        part = slice(start, start + step)
        weight = block.weight[:, part] if block.weight.size else block.weight
        some = ResponseBlock(block.responses[:, part], weight)
        parts.append(item_sums(some, cells.items.columns(part), traits, variance))
    return ItemSums(*(np.concatenate(column) for column in zip(*parts, strict=True)))


def _added(parts: Sequence[ItemScores]) -> ItemScores:
    """The sums over all strips, in their order."""
    total = parts[0]
    for part in parts[1:]:
        total = total.added(part)
    return total
