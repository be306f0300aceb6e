"""Raw accuracies: the shares of right answers that models gave, whatever they were asked."""

from __future__ import annotations

from statistics import NormalDist
from typing import Literal, NamedTuple, get_args

import numpy as np
import numpy.typing as npt
import pandas as pd

from mtlirt.errors import InputError
from mtlirt.result import Fit, Scores

Float = npt.NDArray[np.float64]

RawWeights = Literal["equal", "items"]


def raw_accuracies(scored: Fit | Scores, weights: RawWeights = "equal") -> pd.DataFrame:
    """The share of right answers of each model, over the domains that it took.

    It is no score of the model alone: the raw accuracy of a model that lacks domains, or answered
    easy items only, is not comparable with those of others. That is what traits are for, and the
    accuracies expected on all items, see `mtlirt.scores.accuracy.domain_accuracies`.

    Parameters
    ----------
    scored
        From `fit`, `load` or `score`, by any estimator.
    weights
        Of the domains that a model took: "equal", or "items", by how many items it answered in
        each.

    Returns
    -------
    pandas.DataFrame
        Index ``model_id``. ``accuracy`` and its standard error ``se``, both of the same weights;
        ``answered`` (items), ``domains`` (taken) and ``weights`` (as given). Null for a model
        without data.

    Raises
    ------
    InputError
        If the weights are neither, or the snapshot is one of those that do not hold right answers.

    Notes
    -----
    The variance of the mean p of n attempts is p (1 - p) / (n - 1); it knows of no other items than
    those asked, takes repeated attempts at one item as independent, is the largest possible where
    answers are fractions, and 0 where all are right, or wrong. From one attempt there is none: the
    standard error is then null. `raw_intervals` need no standard error.
    """
    found = _shares(scored, weights)
    variance = np.divide(
        found.share * (1.0 - found.share),
        found.tried - 1.0,
        np.where(found.tried > 0.0, np.nan, 0.0),
        where=found.tried > 1.0,
    )
    return pd.DataFrame(
        {
            "accuracy": found.mean,
            "se": np.sqrt((found.weight**2 * variance).sum(axis=1)),
            "answered": scored.models["answered"],
            "domains": scored.models["domains"],
            "weights": weights,
        },
        index=scored.models.index,
    )


class RawIntervals(NamedTuple):
    """The ends of each model's interval, null without data."""

    lower: pd.Series
    upper: pd.Series


def raw_intervals(scored: Fit | Scores, weights: RawWeights, level: float) -> RawIntervals:
    """Intervals of raw accuracies, within 0 and 1; they have a width where all is right, or wrong.

    Parameters
    ----------
    scored, weights
        As for `raw_accuracies`, which says what is refused.
    level
        Of the intervals.

    Notes
    -----
    Of one domain it is Wilson's (1927, Journal of the American Statistical Association 22), of so
    many attempts. The distances of the domains' ends from their shares, times the domains'
    weights, are put together as standard errors are (Zou and Donner, 2008, Statistics in Medicine
    27).
    """
    found = _shares(scored, weights)
    z = NormalDist().inv_cdf(0.5 + level / 2.0)
    n = np.where(found.tried > 0.0, found.tried, np.inf)
    centre = (found.share + z**2 / (2.0 * n)) / (1.0 + z**2 / n)
    half = z * np.sqrt(found.share * (1.0 - found.share) / n + (z / (2.0 * n)) ** 2)
    half /= 1.0 + z**2 / n
    below, above = (
        np.sqrt((found.weight**2 * distance**2).sum(axis=1))
        for distance in (found.share - (centre - half), centre + half - found.share)
    )
    lower, upper = (
        pd.Series(np.clip(end, 0.0, 1.0), scored.models.index)
        for end in (found.mean - below, found.mean + above)
    )
    return RawIntervals(lower, upper)


class _Shares(NamedTuple):
    """Of each model in each domain, shape (models, domains).

    Attributes
    ----------
    share, tried
        Of right answers, and of so many attempts; 0 in a domain that it did not take.
    weight
        Of the domain in its accuracy; null for a model without data.
    """

    share: Float
    tried: Float
    weight: Float

    @property
    def mean(self) -> Float:
        """Raw accuracies, shape (models,)."""
        return np.asarray((self.weight * self.share).sum(axis=1))


def _shares(scored: Fit | Scores, weights: RawWeights) -> _Shares:
    if not isinstance(weights, str) or weights not in get_args(RawWeights):
        known = " or ".join(get_args(RawWeights))
        raise InputError(f"weights {weights!r}: raw accuracies have {known}")
    traits = scored.traits
    shape = len(scored.models), -1
    if "attempts" not in traits or traits["attempts"].isna().all():
        raise InputError("raw accuracies: the snapshot does not hold right answers; fit again")
    right, tried, answered = (
        traits[name].to_numpy(np.float64).reshape(shape)
        for name in ("correct", "attempts", "answered")
    )
    taken = tried > 0.0
    share = np.divide(right, tried, np.zeros(right.shape), where=taken)
    weight = taken * (answered if weights == "items" else 1.0)
    total = weight.sum(axis=1, keepdims=True)
    weight = np.divide(weight, total, np.full(weight.shape, np.nan), where=total > 0.0)
    return _Shares(share, tried, weight)
