"""What all adaptive tests from one fit share: items, their grids, and the prior."""

from __future__ import annotations

import itertools
from collections.abc import Mapping
from dataclasses import dataclass
from functools import cached_property

import numpy as np
import numpy.typing as npt

from mtlirt.engine.options import HIERARCHICAL
from mtlirt.errors import InputError
from mtlirt.irt.curves import SCORING, Grid, Items, item_reach, trait_grid
from mtlirt.irt.linking import Link
from mtlirt.irt.representation import Representation, independent
from mtlirt.result import Fit
from mtlirt.scores.linking import known_items, on_own_scale, scale_of

Float = npt.NDArray[np.float64]
Flags = npt.NDArray[np.bool_]
ItemId = tuple[str, str]

FARTHEST = 6.0
"""Other domains expect no trait farther out than so many standard deviations."""


@dataclass(frozen=True)
class ItemBank:
    """Items of a fit, ready for tests; all on the scale of the fit by itself.

    Attributes
    ----------
    domains
        Names of the domains.
    ids
        (domain, item_id) of all items, those of each domain together.
    places
        The number of each item.
    parts
        The items of each domain, as a run of `ids`.
    items, covariance
        Parameters, and the covariances aa, ad, dd of slopes and intercepts, shape (items, 3).
    useful
        Which items tell models apart, shape (items,).
    grids
        A trait grid for each domain, fine enough for answers to all of its items.
    prior
        The normal prior that ties the traits.
    borrow
        Whether domains tell of each other.
    alone
        Domains whose traits borrow nothing once one of their items is answered, and lend nothing.
    flat
        Domains without a trait behind them.
    scale
        What carries traits to the scale they are told on.
    told_prior
        The prior on that scale.
    """

    domains: list[str]
    ids: list[ItemId]
    places: Mapping[ItemId, int]
    parts: list[slice]
    items: Items
    covariance: Float
    useful: Flags
    grids: list[Grid]
    prior: Representation
    borrow: bool
    alone: Flags
    flat: Flags
    scale: Link
    told_prior: Representation

    @classmethod
    def of(cls, fitted: Fit, borrow: bool = True) -> ItemBank:
        """Prepare the items of a fit.

        Parameters
        ----------
        borrow
            Whether domains tell of each other; else each trait has the prior N(0, 1).

        Raises
        ------
        InputError
            If the fit's traits have no posterior.
        """
        if not isinstance(fitted, Fit):
            raise InputError(f"an adaptive test needs a fit, from fit or load, not {fitted!r}")
        if fitted.info["estimator"] not in HIERARCHICAL:
            raise InputError(
                f"a fit by estimator {fitted.info['estimator']!r} scores its own models only; "
                "fit by 'marginal' to test others"
            )
        own, names = on_own_scale(fitted), fitted.domains.index
        ids, known = list(own.items.index), known_items(own.items)
        counts = np.bincount(names.get_indexer(own.items.index.get_level_values("domain")))
        ends = np.cumsum([0, *counts]).tolist()
        parts = [slice(a, b) for a, b in itertools.pairwise(ends)]
        prior, told, scale = own.prior, fitted.prior, scale_of(fitted)
        if not borrow:
            prior = independent(len(names))
            told = Representation(scale.shift, prior.loadings, np.square(scale.scale))
        return cls(
            list(names),
            ids,
            {one: k for k, one in enumerate(ids)},
            parts,
            known.items,
            known.covariance,
            ~own.items["constant"].to_numpy(dtype=bool) & (known.items.slope != 0.0),
            [
                _grid(known.items.columns(part), float(least))
                for part, least in zip(parts, prior.uniqueness, strict=True)
            ],
            prior,
            borrow,
            (own.domains["pooling"] == "own").to_numpy() & borrow,
            own.domains["flat"].to_numpy(dtype=bool),
            scale,
            told,
        )

    @cached_property
    def domain_of(self) -> npt.NDArray[np.intp]:
        """The number of each item's domain, shape (items,)."""
        return np.repeat(
            np.arange(len(self.parts)), [part.stop - part.start for part in self.parts]
        )


def _grid(items: Items, least_variance: float) -> Grid:
    """The grid that holds a trait's posterior after any answers."""
    ends, ones = np.array([-FARTHEST, FARTHEST]), np.ones(2)
    reach = [item_reach(items, 1.0)]
    return trait_grid(reach, [(ends, ones)], SCORING, least_variance)
