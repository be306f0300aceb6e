"""Items that stand for groups of items alike: anchors, as in tinyBenchmarks (arXiv 2402.14992).

Items are alike where models answer them alike: an item is the point of its response curve's values
at `QUANTILES` quantiles of its domain's traits. So distances are differences of probabilities, the
same in every domain, and two items that all models pass are alike whatever their slopes.
"""

from __future__ import annotations

from collections.abc import Callable

import kmedoids
import numpy as np
import pandas as pd
from scipy.optimize import linear_sum_assignment
from scipy.spatial.distance import cdist
from sklearn.metrics import pairwise_distances_argmin

from mtlirt.distill.candidates import Candidates
from mtlirt.distill.selection.clusters import Float, kmeans_centres
from mtlirt.distill.selection.counts import Wanted, counts_of, open_rows
from mtlirt.distill.selection.representatives import trait_quantiles
from mtlirt.irt.curves import probability

QUANTILES = 16
"""Traits at which curves are compared."""

SAMPLE = 4000
"""Items of a domain among which medoids are sought."""


def kmeans_anchors(candidates: Candidates, wanted: Wanted, *, seed: int = 0) -> pd.DataFrame:
    """Choose, domain by domain, the open items nearest to the centres of k-means clusters.

    All items of the domain are clustered. Centres and items are matched one to one, with the
    least sum of distances.

    Parameters
    ----------
    wanted
        How many items of each domain, or in all, shared equally.
    seed
        Of the first centres.

    Returns
    -------
    Index (``domain``, ``item_id``), domain by domain, the heaviest first. Column ``weight``: the
    share of the domain's items that are nearest to this one of those chosen (the first, of
    equals); those of a domain sum to 1.

    Raises
    ------
    InputError
        See `counts_of`.

    Notes
    -----
    Costs items x chosen items distances in each round of k-means, domain by domain, and as many
    numbers are held to match them.
    """

    def centres(curves: Float, count: int) -> Float:
        return kmeans_centres(curves, count, seed).points

    return _nearest(candidates, wanted, centres)


def kmedoids_anchors(candidates: Candidates, wanted: Wanted, *, seed: int = 0) -> pd.DataFrame:
    """Choose, domain by domain, the medoids of k-medoids clusters.

    In a domain of more than `SAMPLE` items medoids are sought among that many, drawn at random, and
    all its items are then assigned to them, as CLARA does (Kaufman and Rousseeuw 1990), with one
    sample. A medoid that may not be chosen gives way to an open item, as in `kmeans_anchors`.

    Parameters
    ----------
    wanted, seed
        See `kmeans_anchors`; the seed is that of the sample as well.

    Returns
    -------
    See `kmeans_anchors`.

    Raises
    ------
    InputError
        See `counts_of`.

    Notes
    -----
    Holds the distances of the sample, 128 MB, and costs as many steps in each round.
    """

    def centres(curves: Float, count: int) -> Float:
        size = min(len(curves), max(SAMPLE, count))
        sample = np.random.default_rng(seed).choice(len(curves), size, replace=False)
        drawn = curves[np.sort(sample)]
        distances = cdist(drawn, drawn)
        medoids = kmedoids.fasterpam(distances, count, random_state=seed, n_cpu=1).medoids
        return np.asarray(drawn[medoids])

    return _nearest(candidates, wanted, centres)


def _nearest(
    candidates: Candidates, wanted: Wanted, centres: Callable[[Float, int], Float]
) -> pd.DataFrame:
    """The open items nearest to the centres of each domain's curves, and what they stand for."""
    chosen, weights = [], []
    numbers, parameters = candidates.domain_numbers, candidates.parameters
    counts = counts_of(candidates, wanted).values()
    for t, (count, rows) in enumerate(zip(counts, open_rows(candidates), strict=True)):
        if not count:
            continue
        theta = trait_quantiles(candidates, t, QUANTILES)
        everyone = np.flatnonzero(numbers == t)
        curves = probability(theta, *(column[everyone, None] for column in parameters))
        own = curves[np.searchsorted(everyone, rows)]
        points = np.resize(centres(curves, count), (count, QUANTILES))
        anchors = linear_sum_assignment(cdist(points, own))[1]
        anchors.sort()
        nearest = pairwise_distances_argmin(curves, own[anchors])
        share = np.bincount(nearest, minlength=count) / len(everyone)
        order = (-share).argsort(kind="stable")
        chosen.append(rows[anchors[order]])
        weights.append(share[order])
    index = candidates.items.index[np.concatenate([*chosen, np.empty(0, dtype=np.intp)])]
    return pd.DataFrame({"weight": np.concatenate([*weights, np.empty(0)])}, index=index)
