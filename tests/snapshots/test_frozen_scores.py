"""Scores against a published snapshot: a model's own, whoever is scored beside it."""

import dask.array as da
import numpy as np
import pandas as pd
import pytest

from mtlirt.engine.fit import fit, score
from mtlirt.responses.matrix import DomainResponses, Responses
from mtlirt.snapshots.load import load
from mtlirt.snapshots.publish import publish

WEAK = 100


@pytest.fixture(scope="module")
def arrays():
    """Two domains: 150 models to fit, then model X, then 100 weak ones."""
    rng = np.random.default_rng(9)
    factor = np.concatenate([rng.normal(size=150), [0.7], rng.normal(-3.0, 0.3, WEAK)])
    out = {}
    for name, items in (("algebra", 40), ("biology", 25)):
        trait = 0.8 * factor + 0.6 * rng.normal(size=len(factor))
        odds = trait[:, None] * rng.normal(1.2, 0.3, items) + rng.normal(size=items)
        out[name] = (rng.random(odds.shape) < 1 / (1 + np.exp(-odds))).astype("int8")
    return out


def responses(arrays, rows):
    index = [(name, f"i{j}") for name, block in arrays.items() for j in range(block.shape[1])]
    return Responses(
        {name: DomainResponses(da.from_array(block[rows])) for name, block in arrays.items()},
        pd.DataFrame(index=pd.Index([f"m{i}" for i in rows], name="model_id")),
        pd.DataFrame(index=pd.MultiIndex.from_tuples(index, names=["domain", "item_id"])),
    )


@pytest.fixture(scope="module")
def snapshot(arrays, tmp_path_factory):
    url = tmp_path_factory.mktemp("frozen") / "snapshots"
    publish(fit(responses(arrays, np.arange(150))), url)
    return load(url, 1)


@pytest.mark.parametrize("estimate", ["eap", "map"])
def test_a_model_alone_among_weak_ones_and_shuffled_gets_the_same(arrays, snapshot, estimate):
    batch = np.arange(150, 151 + WEAK)
    shuffled = np.random.default_rng(0).permutation(batch)
    alone = score(snapshot, responses(arrays, [150]), estimate=estimate).traits.loc["m150"]
    for rows in (batch, shuffled):
        found = score(snapshot, responses(arrays, rows), estimate=estimate).traits.loc["m150"]
        np.testing.assert_allclose(found[["mean", "sd"]], alone[["mean", "sd"]], atol=1e-10)
    assert alone["mean"].between(-1.5, 2.5).all()


def test_a_model_of_the_fit_gets_its_published_score(arrays, snapshot):
    found = score(snapshot, responses(arrays, [3])).traits.loc["m3"]
    published = snapshot.traits.loc["m3"]
    np.testing.assert_allclose(found[["mean", "sd"]], published[["mean", "sd"]], atol=1e-8)


def test_the_snapshot_says_where_the_scale_lies_and_its_traits_lie_there(snapshot):
    assert (
        "traits have mean 0 and variance 1 over the models of the fit"
        in (snapshot.info["convention"])
    )
    by_domain = snapshot.traits.groupby("domain")
    second_moment = by_domain["mean"].apply(lambda m: (m**2).mean()) + by_domain["sd"].apply(
        lambda s: (s**2).mean()
    )
    np.testing.assert_allclose(by_domain["mean"].mean(), 0.0, atol=0.01)
    np.testing.assert_allclose(second_moment, 1.0, atol=0.06)  # sds hold the items' uncertainty too
