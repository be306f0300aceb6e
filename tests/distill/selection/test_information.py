"""Choice by information at quantiles of the traits."""

import numpy as np
import pytest

from mtlirt.distill.selection.information import by_information
from mtlirt.errors import InputError


def information(candidates, item, theta):
    a, d, c = candidates.items.loc[item, ["slope", "intercept", "guessing"]]
    p = c + (1 - c) / (1 + np.exp(-(a * theta + d)))
    return (a * (p - c) * (1 - p) / (1 - c)) ** 2 / (p * (1 - p))


@pytest.mark.parametrize("guessing", [0.0, 0.3])
def test_every_bin_takes_the_best_item_that_is_left(candidates, guessing):
    some = candidates((30, 40), barred=[("a", "a7")], guessing=guessing)
    found = by_information(some, {"a": 8, "b": 5})
    assert list(found.index.get_level_values("domain")) == ["a"] * 8 + ["b"] * 5
    left = [item for item in some.items.index if item != ("a", "a7")]
    for t, (name, count) in enumerate({"a": 8, "b": 5}.items()):
        quantiles = np.quantile(some.traits[:, t], (np.arange(count) + 0.5) / count)
        for (item, row), theta in zip(found.loc[[name]].iterrows(), quantiles, strict=True):
            own = [other for other in left if other[0] == name]
            best = max(own, key=lambda other: information(some, other, theta))
            assert item == best
            assert row["trait"] == pytest.approx(theta)
            assert row["information"] == pytest.approx(information(some, item, theta))
            left.remove(item)


def test_items_below_the_threshold_are_not_chosen_and_other_bins_take_more(candidates):
    some = candidates((40,))
    plain = by_information(some, 20)
    threshold = plain["information"].median()
    found = by_information(some, 20, threshold=threshold)
    assert (found["information"] > threshold).all()
    ends = np.quantile(some.traits[:, 0], (np.arange(20) + 0.5) / 20)
    able = sum(
        max(information(some, item, theta) for theta in ends) > threshold
        for item in some.items.index
    )
    assert len(found) == min(able, 20)
    for item, row in found.iterrows():
        assert row["information"] == pytest.approx(information(some, item, row["trait"]))
    assert not found.index.duplicated().any()
    assert len(by_information(some, 20, threshold=1e9)) == 0


def test_what_bins_leave_over_goes_to_the_items_that_say_most(candidates):
    some = candidates((6,), models=100)
    some.items.loc[:, "slope"] = [3.0, 2.9, 2.8, 2.7, 2.6, 0.0]
    some.items.loc[:, "intercept"] = 0.0
    found = by_information(some, 5, threshold=0.5)
    at_the_ends = found["trait"].iloc[:3]
    assert abs(at_the_ends).max() < abs(some.traits).max()
    assert {item for _, item in found.index} == {"a0", "a1", "a2", "a3", "a4"}
    assert found["information"].iloc[3:].is_monotonic_decreasing


def test_a_total_is_shared_equally_and_too_many_are_refused(candidates):
    some = candidates((10, 10, 10))
    assert by_information(some, 9).groupby(level="domain").size().to_list() == [3, 3, 3]
    with pytest.raises(InputError, match="domain 'b': 11 items asked for, 10 are open"):
        by_information(some, {"b": 11})
