"""Few traits that stand for those of all training models."""

from __future__ import annotations

from typing import NamedTuple

import numpy as np
import numpy.typing as npt
from sklearn.cluster import KMeans
from threadpoolctl import threadpool_limits

from mtlirt.distill.candidates import Candidates

Float = npt.NDArray[np.float64]


class Representatives(NamedTuple):
    """Points in the space of traits, and how many models each stands for.

    Attributes
    ----------
    traits
        Shape (representatives, domains).
    weights
        Shares of the models, shape (representatives,).
    """

    traits: Float
    weights: Float


def representatives(candidates: Candidates, count: int) -> Representatives:
    """The centres of k-means clusters of the models' traits; all traits where there are no more.

    Equal arguments give equal centres. On design `six` with 500 models, items chosen for 64
    centres have an expected error within .03 % of those chosen for all models, and for 16
    centres within .13 %; 64 models evenly spaced by their mean trait do no better than .14 %.
    """
    distinct, copies = np.unique(candidates.traits, axis=0, return_counts=True)
    if len(distinct) <= count:
        return Representatives(distinct, copies / copies.sum())
    # threads would add up the centres in an order of their own
    with threadpool_limits(1, user_api="openmp"):
        found = KMeans(count, n_init=1, random_state=0).fit(distinct, sample_weight=copies)
    models = np.bincount(found.labels_, weights=copies, minlength=count)
    return Representatives(found.cluster_centers_, models / models.sum())


def trait_quantiles(candidates: Candidates, domain: int, count: int) -> Float:
    """The middles of so many bins that each hold as many models' traits, rising."""
    return np.quantile(candidates.traits[:, domain], (np.arange(count) + 0.5) / count)
