"""The greedy choice against the formulas written out, and against simulated answers."""

import numpy as np
import pandas as pd
import pytest
from scipy.special import expit

from mtlirt.distill.selection.greedy import greedy
from mtlirt.distill.selection.posterior import expected_variances
from mtlirt.errors import InputError

AIMS = ("scores", "grand_mean", "traits")
BARRED = (("a", "a1"), ("b", "b0"), ("c", "c3"))


def covariances(candidates, chosen):
    """V and the covariance of the full scores at each model's traits, by inversion."""
    a, d, c = candidates.items[["slope", "intercept", "guessing"]].to_numpy().T
    domains = candidates.items.index.get_level_values("domain")
    asked = candidates.items.index.isin(list(chosen)) if chosen else np.zeros(len(a), dtype=bool)
    for theta in candidates.traits:
        information, slopes, noise = [], [], []
        for t, (name, size) in enumerate(candidates.totals.items()):
            here = np.asarray(domains == name)
            p = c + (1 - c) * expit(a * theta[t] + d)
            rise = a * (p - c) * (1 - p) / (1 - c)
            information.append((rise**2 / (p * (1 - p)))[here & asked].sum())
            slopes.append(rise[here & ~asked].sum() / size)
            noise.append((p * (1 - p))[here & ~asked].sum() / size**2)
        sigma = candidates.prior.covariance
        v = np.linalg.inv(np.linalg.inv(sigma) + np.diag(information))
        yield v, np.diag(slopes) @ v @ np.diag(slopes) + np.diag(noise)


def loss(candidates, chosen, aim):
    """What the aim says, averaged over models."""
    value = {
        "scores": lambda v, s: np.trace(s) / len(s),
        "grand_mean": lambda v, s: s.sum() / len(s) ** 2,
        "traits": lambda v, s: np.trace(v) / len(s),
    }[aim]
    return np.mean([value(*pair) for pair in covariances(candidates, chosen)])


def brute_force(candidates, counts, total, aim):
    chosen = []
    free = candidates.items.index[candidates.open]
    for _ in range(total):
        taken = pd.Series([name for name, _ in chosen], dtype=object).value_counts()
        left = [
            item for item in free if item not in chosen and taken.get(item[0], 0) < counts[item[0]]
        ]
        chosen.append(min(left, key=lambda item: loss(candidates, [*chosen, item], aim)))
    return chosen


@pytest.mark.parametrize("aim", AIMS)
@pytest.mark.parametrize("guessing", [0.0, 0.3])
def test_greedy_is_the_best_next_item_by_the_formulas_written_out(candidates, aim, guessing):
    few = candidates((5, 7, 6), models=4, seed=3, barred=BARRED, guessing=guessing)
    found = greedy(few, 9, aim=aim)
    assert list(found.index) == brute_force(few, {"a": 9, "b": 9, "c": 9}, 9, aim)
    assert found.index.names == ["domain", "item_id"]
    before = [loss(few, list(found.index[:k]), aim) for k in range(10)]
    np.testing.assert_allclose(found["gain"], -np.diff(before), rtol=1e-9)
    rmse = [np.sqrt(loss(few, list(found.index[: k + 1]), "scores")) for k in range(9)]
    np.testing.assert_allclose(found["expected_rmse"], rmse, rtol=1e-9)


@pytest.mark.parametrize("aim", AIMS)
def test_greedy_with_numbers_by_domain(candidates, aim):
    few = candidates((5, 7, 6), models=4, seed=4, barred=BARRED)
    counts = {"c": 4, "a": 1}
    found = greedy(few, counts, aim=aim)
    assert list(found.index) == brute_force(few, counts | {"b": 0}, 5, aim)


def test_expected_variances_are_those_of_the_greedy_path(candidates):
    some = candidates((30, 50), models=20)
    found = greedy(some, 25)
    assert expected_variances(some, found.index).mean() == pytest.approx(
        found["expected_rmse"].iloc[-1] ** 2, rel=1e-10
    )
    written_out = np.mean([np.diag(s) for _, s in covariances(some, list(found.index))], axis=0)
    np.testing.assert_allclose(expected_variances(some, found.index), written_out, rtol=1e-10)


def test_all_items_leave_nothing_to_be_told(candidates):
    found = greedy(candidates((12, 9)), 21)
    assert (found["gain"] > 0).all()
    assert found["expected_rmse"].iloc[-1] < 1e-8
    assert not found.index.duplicated().any()


def test_equal_items_are_chosen_in_the_order_of_the_table(candidates):
    some = candidates((40,))
    some.items.loc[:] = some.items.iloc[0].to_list()
    assert list(greedy(some, 40).index) == list(some.items.index)


def test_an_item_whose_answer_is_sure_says_nothing(candidates):
    some = candidates((10, 10))
    some.items.iloc[0, :2] = [500.0, 1e5]
    found = greedy(some, 20)
    assert found.index[-1] == ("a", "a0")
    assert np.isfinite(found).all(axis=None)


def test_the_expected_error_is_that_of_the_best_guess_from_simulated_answers(candidates):
    """By Bayes on a grid of traits; an answer must not count twice in what is left to guess."""
    some = candidates((60,), models=1500, seed=8)
    chosen = greedy(some, 25).index
    a, d = some.items[["slope", "intercept"]].to_numpy().T
    y = np.random.default_rng(1).random((1500, 60)) < expit(some.traits * a + d)
    asked = some.items.index.isin(chosen)
    grid = np.linspace(-6, 6, 400)
    p = expit(np.multiply.outer(a, grid) + d[:, None])
    log_posterior = (
        y[:, asked] @ np.log(p[asked]) + ~y[:, asked] @ np.log1p(-p[asked]) - grid**2 / 2
    )
    weight = np.exp(log_posterior - log_posterior.max(axis=1, keepdims=True))
    weight /= weight.sum(axis=1, keepdims=True)
    guess = (y[:, asked].sum(axis=1) + weight @ p[~asked].sum(axis=0)) / 60
    rmse = np.sqrt(np.mean((guess - y.mean(axis=1)) ** 2))
    expected = np.sqrt(expected_variances(some, chosen)["a"])
    assert rmse == pytest.approx(expected, rel=0.06)


@pytest.mark.parametrize("wanted", [16, {"a": 5}, {"b": 7}, -1, {"a": -1}])
def test_more_items_than_are_open_are_refused(candidates, wanted):
    few = candidates((5, 7, 6), barred=BARRED)
    with pytest.raises(InputError, match=r"items asked for, \d+ are open"):
        greedy(few, wanted)


def test_unknown_aims_and_domains_are_refused(candidates):
    few = candidates((5, 7))
    with pytest.raises(InputError, match="domain 'x': there is none; choose of a, b"):
        greedy(few, {"x": 1})
    with pytest.raises(InputError, match="aim 'speed'"):
        greedy(few, 1, aim="speed")
