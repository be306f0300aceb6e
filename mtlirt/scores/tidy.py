"""Scores as one tidy table."""

from __future__ import annotations

import numpy as np
import pandas as pd

from mtlirt.result import Fit, Scores
from mtlirt.scores.components import several


def tidy_scores(scored: Fit | Scores) -> pd.DataFrame:
    """Put overall scores and traits into one table, a row a score.

    Returns
    -------
    pandas.DataFrame
        ``model_id``, ``score`` ("overall" or "trait"), ``domain`` (null for the overall score),
        ``mean``, ``sd``, ``answered``, ``borrowed`` (a trait with no response in its domain);
        ``component`` of the model, where there are several: see `leaderboard`. Models in the
        order they were scored in, each with its overall score first. A model without data has
        null means.
    """
    models = scored.models.rename(columns={"overall": "mean", "overall_sd": "sd"})
    overall = models[["mean", "sd", "answered"]].assign(score="overall", borrowed=False)
    traits = scored.traits[["mean", "sd", "answered", "borrowed"]].assign(score="trait")
    rows = pd.concat([overall.reset_index(), traits.reset_index()], ignore_index=True)
    order = np.argsort(models.index.get_indexer(pd.Index(rows["model_id"])), kind="stable")
    columns = ["model_id", "score", "domain", "mean", "sd", "answered", "borrowed"]
    out = rows.iloc[order][columns].reset_index(drop=True)
    apart = several(scored)
    return out.assign(**{name: out["model_id"].map(column) for name, column in apart.items()})
