"""Models for training and for the test."""

import numpy as np
import pandas as pd
import pytest

from mtlirt.distill.reconstruction.benchmarks import GRAND_MEAN
from mtlirt.distill.split import folds_of, held_back, strengths
from mtlirt.errors import InputError


@pytest.fixture
def scores():
    rng = np.random.default_rng(5)
    table = pd.DataFrame(rng.uniform(size=(200, 3)), columns=["a", "b", "c"])
    table.iloc[::7, 1] = np.nan
    table.iloc[:4] = np.nan
    return table.assign(**{GRAND_MEAN: table.mean(axis=1, skipna=False)})


def test_the_test_is_spread_over_all_strengths(scores):
    test = held_back(scores, share=0.1, seed=3)
    assert test.sum() == round(0.1 * 196)
    assert not test[:4].any()
    place = pd.Series(strengths(scores)).rank(pct=True).to_numpy()[test]
    assert np.histogram(place, bins=4, range=(0, 1))[0].min() >= 4
    assert not np.array_equal(test, held_back(scores, share=0.1, seed=4))
    np.testing.assert_array_equal(test, held_back(scores, share=0.1, seed=3))


def test_the_strongest_are_kept(scores):
    test = held_back(scores, share=0.2, by="strength")
    strength = strengths(scores)
    assert strength[test].min() > np.nanmax(strength[~test])


def test_the_latest_are_kept(scores):
    when = pd.Series(pd.date_range("2024-01-01", periods=200), index=scores.index)
    when.iloc[190:] = pd.NaT
    test = held_back(scores, share=0.1, by="time", order=when)
    assert list(np.flatnonzero(test)) == list(range(170, 190))


def test_groups_stay_together(scores):
    groups = pd.Series(np.arange(200) // 3).where(np.arange(200) < 150)
    for by in ("score", "strength"):
        test = held_back(scores, share=0.2, by=by, groups=groups)
        known = pd.Series(test)[groups.notna() & (np.arange(200) > 5)]
        assert (known.groupby(groups).nunique() == 1).all()
    fold = pd.Series(folds_of(scores, 5, groups))
    assert (fold[groups.notna()].groupby(groups).nunique() == 1).all()


def test_folds_are_alike(scores):
    fold = folds_of(scores, 5, seed=1)
    assert np.bincount(fold).min() >= 39
    means = pd.Series(strengths(scores)).groupby(fold).mean()
    assert means.std() < 0.05


@pytest.mark.parametrize(
    ("options", "words"),
    [
        ({"share": 1.0}, "share 1.0"),
        ({"share": 0.1, "by": "luck"}, "split by 'luck'"),
        ({"share": 0.1, "by": "time"}, "needs a column"),
        ({"share": 0.99}, "at least 5 and 1"),
        ({"share": 0.001}, "at least 5 and 1"),
    ],
)
def test_bad_splits_are_refused(scores, options, words):
    with pytest.raises(InputError, match=words):
        held_back(scores, **options)
