"""Items and traits to choose from."""

import numpy as np
import pandas as pd
import pytest

from mtlirt.distill.candidates import Candidates
from mtlirt.irt.representation import Representation


def make_candidates(sizes, models=40, seed=0, *, barred=(), guessing=0.0, share=0.7):
    """Domains "a", "b", ... of steep items, some of negative slope; a common factor."""
    rng = np.random.default_rng(seed)
    names = [chr(ord("a") + t) for t in range(len(sizes))]
    ids = [
        (name, f"{name}{k}") for name, size in zip(names, sizes, strict=True) for k in range(size)
    ]
    count = len(ids)
    items = pd.DataFrame(
        {
            "slope": rng.choice([1, 1, 1, 1, -1], count) * rng.lognormal(0.2, 0.4, count),
            "intercept": rng.normal(0.0, 1.5, count),
            "guessing": rng.uniform(0.0, guessing, count),
            "constant": False,
        },
        index=pd.MultiIndex.from_tuples(ids, names=["domain", "item_id"]),
    )
    loadings = np.full((len(sizes), 1), np.sqrt(share))
    prior = Representation(np.zeros(len(sizes)), loadings, np.full(len(sizes), 1 - share))
    traits = rng.multivariate_normal(np.zeros(len(sizes)), prior.covariance, models)
    free = ~items.index.isin(list(barred)) if barred else np.ones(count, dtype=bool)
    totals = pd.Series(sizes, index=pd.Index(names, name="domain"))
    return Candidates(items, free, totals, traits, prior)


@pytest.fixture
def candidates():
    """A maker of candidates."""
    return make_candidates
