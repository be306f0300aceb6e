"""Scored models by hand."""

import numpy as np
import pandas as pd
import pytest

from mtlirt.result import Scores


@pytest.fixture(name="scored")
def scored_fixture():
    return scored


def scored(overall, sd=0.1, domains=("b", "a"), lacking=()):
    """Scores of models by id; NaN is no data; `lacking` are (model, domain) without responses."""
    ids = pd.Index(list(overall), name="model_id")
    means = np.array(list(overall.values()))
    data = ~np.isnan(means)
    index = pd.MultiIndex.from_product([ids, domains], names=["model_id", "domain"])
    taken = np.repeat(data, len(domains)) & ~index.isin(lacking)
    answered = pd.Series(np.where(taken, 3, 0), index)
    by_model = answered.unstack()
    models = pd.DataFrame(
        {
            "answered": by_model.sum(axis=1).loc[ids],
            "domains": (by_model > 0).sum(axis=1).loc[ids],
            "overall": means,
            "overall_sd": np.where(data, sd, np.nan),
        }
    )
    traits = pd.DataFrame(
        {
            "mean": np.repeat(means, len(domains)) + np.tile(np.arange(len(domains)), len(ids)),
            "sd": np.where(np.repeat(data, len(domains)), 0.2, np.nan),
            "site_precision": 1.0,
            "site_shift": 0.0,
            "answered": answered,
            "borrowed": ~taken & np.repeat(data, len(domains)),
        }
    )
    return Scores(models, traits, {"items_used": 5, "items_not_asked": 2, "items_unknown": 1})
