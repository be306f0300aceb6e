"""Points that stand for the traits of many models."""

import numpy as np
import pytest

from mtlirt.distill.selection.clusters import kmeans_centres
from mtlirt.distill.selection.greedy import greedy
from mtlirt.distill.selection.posterior import expected_variances
from mtlirt.distill.selection.representatives import representatives, trait_quantiles


def test_few_models_stand_for_themselves_and_copies_count(candidates):
    some = candidates((5, 5), models=6)
    some.traits[4:] = some.traits[0]
    found = representatives(some, 64)
    assert found.weights.tolist() == [
        0.5 if (row == some.traits[0]).all() else pytest.approx(1 / 6) for row in found.points
    ]
    assert {tuple(row) for row in found.points} == {tuple(row) for row in some.traits}


def test_centres_keep_the_mean_and_come_out_the_same_again(candidates):
    some = candidates((5, 5, 5), models=700)
    found, again = representatives(some, 20), representatives(some, 20)
    np.testing.assert_allclose(found.weights @ found.points, some.traits.mean(axis=0), atol=1e-12)
    assert found.weights.sum() == pytest.approx(1)
    assert (found.points == again.points).all()
    assert (found.weights == again.weights).all()


def test_copies_weigh_in_centres():
    found = kmeans_centres(np.array([[0.0]] * 9 + [[1.0], [10.0]]), 2, seed=0)
    order = found.points[:, 0].argsort()
    np.testing.assert_allclose(found.points[order, 0], [0.1, 10.0])
    np.testing.assert_allclose(found.weights[order], [10 / 11, 1 / 11])


def test_items_chosen_for_representatives_are_nearly_as_good_as_for_all_models(candidates):
    some = candidates((60, 90, 40), models=300)
    everyone = representatives(some, 300)
    rmse = [
        np.sqrt(expected_variances(some, greedy(some, 30, points=count).index, everyone).mean())
        for count in (32, 300)
    ]
    assert rmse[0] == pytest.approx(rmse[1], rel=0.01)


def test_quantiles_are_the_middles_of_equal_bins(candidates):
    some = candidates((5,), models=1000)
    below = (some.traits[:, :1] < trait_quantiles(some, 0, 4)).mean(axis=0)
    np.testing.assert_allclose(below, [0.125, 0.375, 0.625, 0.875], atol=1e-3)
