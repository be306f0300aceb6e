"""Parallel forms against random halves and against all halves there are."""

from itertools import combinations

import numpy as np
import pytest

from mtlirt.distill.selection.chance import at_random
from mtlirt.distill.selection.forms import parallel_forms
from mtlirt.distill.selection.greedy import greedy


def curves(candidates, chosen, t, name):
    """Response curves and information of the chosen items of a domain at 16 quantiles."""
    theta = np.quantile(candidates.traits[:, t], (np.arange(16) + 0.5) / 16)
    own = candidates.items.loc[chosen].loc[[name]]
    a, d = own[["slope", "intercept"]].to_numpy().T
    p = 1 / (1 + np.exp(-(np.multiply.outer(theta, a) + d)))
    return p, a**2 * p * (1 - p)


def gaps(p, information, first):
    """Largest differences of two forms' expected scores and, relatively, of their information."""
    score = p[:, first].mean(axis=1) - p[:, ~first].mean(axis=1)
    amount = information[:, first].mean(axis=1) - information[:, ~first].mean(axis=1)
    return abs(score).max(), (abs(amount) / information.mean(axis=1)).max()


@pytest.mark.parametrize("choose", [greedy, lambda some, count: at_random(some, count, 0)])
def test_forms_are_far_closer_than_random_halves(candidates, choose):
    some = candidates((150, 200))
    chosen = choose(some, 100)
    found = parallel_forms(some, chosen)
    assert found.form.index.equals(chosen.index)
    rng, largest = np.random.default_rng(2), []
    for t, name in enumerate("ab"):
        table = curves(some, chosen.index, t, name)
        first = (found.form.loc[[name]] == "A").to_numpy()
        assert abs(2 * first.sum() - len(first)) <= 1
        own = gaps(*table, first)
        random = np.mean([gaps(*table, rng.permutation(first)) for _ in range(50)], axis=0)
        assert own[0] < 0.25 * random[0]
        assert own[1] < 0.7 * random[1]
        largest.append(own[0])
    assert found.difference == pytest.approx(max(largest))


def test_few_items_are_divided_nearly_as_well_as_can_be(candidates):
    some = candidates((10,), seed=2)
    found = parallel_forms(some, some.items)
    p, information = curves(some, some.items.index, 0, "a")
    halves = [np.isin(np.arange(10), (0, *rest)) for rest in combinations(range(1, 10), 4)]
    scores = sorted(gaps(p, information, half)[0] for half in halves)
    assert found.difference <= scores[len(scores) // 10]


def test_equal_items_make_equal_forms_and_odd_numbers_even_out(candidates):
    some = candidates((5, 7, 4, 1))
    some.items.loc[:, "slope"] = some.items.loc[:, "intercept"] = 1.0
    found = parallel_forms(some, some.items)
    sizes = found.form.groupby(level="domain").value_counts().unstack(fill_value=0)
    assert found.difference == pytest.approx(0.0, abs=1e-12)
    assert (abs(sizes["A"] - sizes["B"]) == [1, 1, 0, 1]).all()
    assert abs(sizes["A"].sum() - sizes["B"].sum()) == 1


def test_no_items_are_no_forms(candidates):
    some = candidates((5,))
    found = parallel_forms(some, some.items.iloc[:0])
    assert len(found.form) == 0
    assert found.difference == 0.0
