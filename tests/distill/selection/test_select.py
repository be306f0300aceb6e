"""What all methods have in common."""

import pytest

from mtlirt.distill.selection.select import METHODS, select
from mtlirt.errors import InputError

ALL = pytest.mark.parametrize("method", METHODS)


@ALL
def test_a_total_or_numbers_by_domain_of_open_items_the_same_again(candidates, method):
    barred = [("a", "a1"), ("b", "b5"), ("c", "c0")]
    some = candidates((20, 30, 25), barred=barred)
    for wanted in (17, {"b": 6, "c": 4}):
        found = select(method, some, wanted, seed=3)
        assert len(found) == (17 if wanted == 17 else 10)
        assert found.index.names == ["domain", "item_id"]
        assert not found.index.duplicated().any()
        assert not found.index.isin(barred).any()
        assert found.equals(select(method, some, wanted, seed=3))
        if wanted != 17:
            assert found.groupby(level="domain").size().to_dict() == wanted


@ALL
def test_more_than_is_open_is_refused(candidates, method):
    some = candidates((5, 6), barred=[("b", "b5")])
    with pytest.raises(InputError, match="11 items asked for, 10 are open: 5 in 'a', 5 in 'b'"):
        select(method, some, 11)
    with pytest.raises(InputError, match="domain 'b': 6 items asked for, 5 are open"):
        select(method, some, {"b": 6})


def test_seeds_matter_where_something_is_drawn(candidates):
    some = candidates((40, 40))
    assert not select("random", some, 10, 1).equals(select("random", some, 10, 2))


def test_unknown_methods_are_refused(candidates):
    with pytest.raises(InputError, match="method 'best': there is none; choose one of greedy, "):
        select("best", candidates((5,)), 1)
