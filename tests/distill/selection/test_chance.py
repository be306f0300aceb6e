"""Items at random, and the best of many such choices."""

import numpy as np
import pytest

from mtlirt.distill.selection.chance import at_random, best_of
from mtlirt.errors import InputError


def test_each_open_item_of_a_domain_is_as_likely(candidates):
    some = candidates((6, 9), barred=[("a", "a2")])
    drawn = [at_random(some, {"a": 2, "b": 3}, seed).index for seed in range(600)]
    assert all(list(index.get_level_values(0)) == ["a"] * 2 + ["b"] * 3 for index in drawn)
    assert not any(index.duplicated().any() for index in drawn)
    times = np.bincount(
        np.concatenate([some.items.index.get_indexer(index) for index in drawn]), minlength=15
    )
    assert times[2] == 0
    expected = np.array([2 / 5] * 5 + [1 / 3] * 9) * 600
    assert (abs(np.delete(times, 2) - expected) < 4.5 * np.sqrt(expected)).all()


def test_the_best_of_many_has_the_least_loss_and_more_tries_go_on(candidates):
    some = candidates((20, 20))
    seen = []

    def judge(chosen):
        seen.append(chosen)
        return some.items.loc[chosen, "slope"].sum()

    found = best_of(some, 6, judge, 30, seed=4)
    assert len(seen) == 30
    first = list(seen)
    losses = [some.items.loc[chosen, "slope"].sum() for chosen in first]
    assert found.index.equals(first[int(np.argmin(losses))])
    equals = best_of(some, 6, lambda _: 1.0, 30, seed=4)
    assert equals.index.equals(first[0])
    assert len({tuple(chosen) for chosen in first}) == 30
    seen.clear()
    best_of(some, 6, judge, 40, seed=4)
    assert all(one.equals(other) for one, other in zip(seen, first, strict=False))


def test_bad_judges_and_numbers_are_refused(candidates):
    some = candidates((5,))
    with pytest.raises(InputError, match="the loss of try 1 of 3 is nan"):
        best_of(some, 2, lambda _: np.nan, 3, seed=0)
    with pytest.raises(InputError, match="0 tries"):
        best_of(some, 2, len, 0, seed=0)
    with pytest.raises(InputError, match="6 items asked for, 5 are open"):
        at_random(some, 6, 0)
    assert len(best_of(some, 2, lambda _: np.inf, 3, seed=0)) == 2
