"""Items that stand for others."""

import numpy as np
import pytest

from mtlirt.distill.selection import anchors
from mtlirt.distill.selection.anchors import kmeans_anchors, kmedoids_anchors
from mtlirt.errors import InputError

BOTH = pytest.mark.parametrize("choose", [kmeans_anchors, kmedoids_anchors])


def in_groups(some, groups, closeness=0.01):
    """Items of a few kinds, told by the last digit: kind k has the groups' k-th parameters."""
    rng = np.random.default_rng(0)
    kinds = np.array([int(item[-1]) % len(groups) for _, item in some.items.index])
    noise = closeness * rng.normal(size=(len(kinds), 2))
    some.items.loc[:, ["slope", "intercept"]] = np.array(groups)[kinds] + noise
    return kinds


@BOTH
def test_each_kind_of_items_gets_an_anchor_that_weighs_its_share(candidates, choose):
    some = candidates((60, 100), barred=[("a", "a3"), ("b", "b12")])
    kinds = in_groups(some, [(1.0, -3.0), (2.0, 0.0), (0.5, 2.0), (-1.5, 0.0), (1.0, -3.0)])
    found = choose(some, {"a": 4, "b": 4})
    np.testing.assert_allclose(found["weight"], [0.4, 0.2, 0.2, 0.2] * 2)
    rows = some.items.index.get_indexer(found.index)
    assert set(kinds[rows][:4] % 4) == set(kinds[rows][4:] % 4) == {0, 1, 2, 3}
    assert some.open[rows].all()
    assert (np.diff(rows[1:4]) > 0).all(), "of equal weights the first of the table comes first"


@BOTH
def test_weights_are_the_shares_of_items_nearest_to_each_anchor(candidates, choose):
    some = candidates((50, 80))
    found = choose(some, 17, seed=3)
    assert found.groupby(level="domain").size().to_dict() == {"a": 9, "b": 8}
    np.testing.assert_allclose(found.groupby(level="domain")["weight"].sum(), 1.0)
    for t, name in enumerate("ab"):
        theta = np.quantile(some.traits[:, t], (np.arange(16) + 0.5) / 16)
        own = some.items.loc[[name]]
        eta = own["slope"].to_numpy()[:, None] * theta + own["intercept"].to_numpy()[:, None]
        curves = 1 / (1 + np.exp(-eta))
        places = own.index.get_indexer(found.loc[[name]].index)
        distances = ((curves[:, None] - curves[places]) ** 2).sum(axis=2)
        shares = np.bincount(distances.argmin(axis=1), minlength=len(places)) / len(own)
        np.testing.assert_allclose(found.loc[[name], "weight"], shares)
        weights = found.loc[[name], "weight"].to_numpy()
        assert (np.diff(weights) <= 0).all()
        error = abs(weights @ curves[places] - curves.mean(axis=0)).max()
        assert error < 0.05


@BOTH
def test_anchors_are_open_and_distinct_and_the_same_for_the_same_seed(candidates, choose):
    some = candidates((30, 40), barred=[("b", f"b{k}") for k in range(20)])
    found, again = choose(some, {"b": 20}, seed=5), choose(some, {"b": 20}, seed=5)
    assert found.equals(again)
    assert set(found.index) == {("b", f"b{k}") for k in range(20, 40)}


@BOTH
def test_fewer_kinds_of_items_than_anchors(candidates, choose):
    some = candidates((30,))
    in_groups(some, [(1.0, -1.0), (2.0, 0.0), (0.5, 2.0)], closeness=0.0)
    found = choose(some, 10)
    assert not found.index.duplicated().any()
    assert len(found) == 10
    assert found["weight"].sum() == pytest.approx(1)


def test_medoids_of_a_sample_stand_for_all_items(candidates, monkeypatch):
    monkeypatch.setattr(anchors, "SAMPLE", 60)
    some = candidates((300,))
    kinds = in_groups(some, [(1.0, -3.0), (2.0, 0.0), (0.5, 2.0)])
    found = kmedoids_anchors(some, 3)
    rows = some.items.index.get_indexer(found.index)
    shares = np.bincount(kinds) / 300
    np.testing.assert_allclose(found["weight"], shares[kinds[rows]])


@BOTH
def test_too_many_and_none(candidates, choose):
    some = candidates((5, 6))
    with pytest.raises(InputError, match="domain 'a': 6 items asked for, 5 are open"):
        choose(some, {"a": 6})
    assert choose(some, 0).empty
