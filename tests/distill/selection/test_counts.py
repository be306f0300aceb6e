"""How many items come from each benchmark."""

import pytest

from mtlirt.distill.selection.counts import counts_of, equal_counts, proportional_counts, rows_of
from mtlirt.errors import InputError


def test_equal_counts_are_as_equal_as_open_items_allow(candidates):
    some = candidates((10, 4, 10), barred=[("b", "b1")])
    assert equal_counts(some, 9) == {"a": 3, "b": 3, "c": 3}
    assert equal_counts(some, 13) == {"a": 5, "b": 3, "c": 5}
    assert equal_counts(some, 14) == {"a": 6, "b": 3, "c": 5}
    assert equal_counts(some, 23) == {"a": 10, "b": 3, "c": 10}


def test_proportional_counts_follow_the_totals_and_not_what_is_open(candidates):
    some = candidates((10, 40, 50), barred=[("b", f"b{k}") for k in range(35)])
    assert proportional_counts(some, 10) == {"a": 1, "b": 4, "c": 5}
    assert proportional_counts(some, 20) == {"a": 3, "b": 5, "c": 12}
    assert sum(proportional_counts(some, 33).values()) == 33


def test_named_counts_are_put_in_order_and_others_are_nothing(candidates):
    found = counts_of(candidates((5, 5, 5)), {"c": 2, "a": 4})
    assert list(found.items()) == [("a", 4), ("b", 0), ("c", 2)]


def test_more_than_is_open_is_refused_with_names_and_numbers(candidates):
    some = candidates((5, 5), barred=[("b", "b1")])
    with pytest.raises(InputError, match="10 items asked for, 9 are open: 5 in 'a', 4 in 'b'"):
        equal_counts(some, 10)
    with pytest.raises(InputError, match="domain 'b': 5 items asked for, 4 are open"):
        counts_of(some, {"b": 5})
    with pytest.raises(InputError, match="-1 items asked for"):
        proportional_counts(some, -1)


def test_items_that_are_none_are_refused(candidates):
    some, more = candidates((5, 5)), candidates((5, 6))
    with pytest.raises(InputError, match="domain 'b': item 'b5' is not among the candidates"):
        rows_of(some, more.items.index)
