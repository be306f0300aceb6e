"""Clusters of points, the same on every machine and however many are equal."""

from __future__ import annotations

from typing import NamedTuple

import numpy as np
import numpy.typing as npt
from sklearn.cluster import KMeans
from threadpoolctl import threadpool_limits

Float = npt.NDArray[np.float64]


class Centres(NamedTuple):
    """Centres of clusters, and how much belongs to them.

    Attributes
    ----------
    points
        Shape (centres, dimensions).
    weights
        Shares of all points, shape (centres,).
    """

    points: Float
    weights: Float


def kmeans_centres(points: Float, count: int, seed: int) -> Centres:
    """The centres of k-means clusters, or all distinct points where there are no more."""
    distinct, copies = np.unique(points, axis=0, return_counts=True)
    if len(distinct) <= count:
        return Centres(distinct, copies / len(points))
    # threads would add up the centres in an order of their own
    with threadpool_limits(1, user_api="openmp"):
        found = KMeans(count, n_init=1, random_state=seed).fit(distinct, sample_weight=copies)
    members = np.bincount(found.labels_, weights=copies, minlength=count)
    return Centres(found.cluster_centers_, members / len(points))
