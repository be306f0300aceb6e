"""Full scores of new models, told from their answers to the chosen items."""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np
import pandas as pd

from mtlirt.distill.distilled import Distilled
from mtlirt.distill.read import read_answers
from mtlirt.responses.matrix import Responses

if TYPE_CHECKING:
    from mtlirt.cluster.executor import Client


def reconstruct(
    distilled: Distilled,
    responses: Responses,
    *,
    level: float = 0.95,
    client: Client | None = None,
    threads: int | None = None,
) -> pd.DataFrame:
    """Tell models' full scores from their answers to the chosen items of a distilled benchmark.

    Parameters
    ----------
    distilled
        From `mtlirt.distill_benchmarks` or `mtlirt.load_distilled`.
    responses
        Of any models; items that were not chosen are not looked at, and missing ones make
        intervals wider.
    level
        Of the intervals.
    client, threads
        As for `mtlirt.fit`.

    Returns
    -------
    pandas.DataFrame
        Index (``model_id``, ``target``), the benchmarks and the grand mean: ``score`` in [0, 1],
        ``lower``, ``upper``, ``answered`` (chosen items of the target), ``extrapolated``: the
        model, or its score, is beyond those that trained, and its interval is wider for that.
        Null for a model that answered none of the chosen items.

    Raises
    ------
    InputError
        If the responses have none of the chosen items, or the level is not between 0 and 1.
    """
    answers = read_answers(distilled.refit, responses, client, threads)
    there = ~np.isnan(answers.responses)
    score = distilled.reconstruction.predict(answers)
    score[~there.any(axis=1)] = np.nan
    found = distilled.intervals.around(score, answers, level)
    own = answers.domain[:, None] == np.arange(len(distilled.refit.domains))
    answered = there.astype(np.int64) @ own.astype(np.int64)
    targets = pd.Index(distilled.targets, name="target")
    return pd.DataFrame(
        {
            "score": score.ravel(),
            "lower": np.where(np.isnan(score), np.nan, found.lower).ravel(),
            "upper": np.where(np.isnan(score), np.nan, found.upper).ravel(),
            "answered": np.column_stack([answered, answered.sum(axis=1)]).ravel(),
            "extrapolated": found.extrapolated.ravel(),
        },
        index=pd.MultiIndex.from_product([responses.models.index, targets]),
    )
