"""Raw accuracies: the shares of right answers that models gave, whatever they were asked."""

from __future__ import annotations

from typing import Literal, get_args

import numpy as np
import pandas as pd

from mtlirt.errors import InputError
from mtlirt.result import Fit, Scores

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
    standard error is then null.
    """
    if not isinstance(weights, str) or weights not in get_args(RawWeights):
        known = " or ".join(get_args(RawWeights))
        raise InputError(f"weights {weights!r}: raw accuracies have {known}")
    traits, models = scored.traits, scored.models
    shape = len(models), -1
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
    variance = np.divide(
        share * (1.0 - share), tried - 1.0, np.where(taken, np.nan, 0.0), where=tried > 1.0
    )
    return pd.DataFrame(
        {
            "accuracy": (weight * share).sum(axis=1),
            "se": np.sqrt((weight**2 * variance).sum(axis=1)),
            "answered": models["answered"],
            "domains": models["domains"],
            "weights": weights,
        },
        index=models.index,
    )
