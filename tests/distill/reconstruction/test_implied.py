"""Methods that trust the item response model, by hand and by direct summation."""

from itertools import combinations

import numpy as np
import pytest
from scipy.integrate import quad
from scipy.optimize import minimize_scalar
from scipy.special import expit
from scipy.stats import norm

from mtlirt.distill.answers import Answers
from mtlirt.distill.reconstruction.benchmarks import Benchmarks
from mtlirt.distill.reconstruction.implied import (
    Aipw,
    AipwReconstruction,
    Gpirt,
    Implied,
    Pirt,
)
from mtlirt.distill.reconstruction.mean import Mean
from mtlirt.errors import InputError
from mtlirt.irt.curves import Items

NONE = np.full((2, 3), 0.5)
"""Scores that teach nothing."""


@pytest.fixture
def small():
    """Two benchmarks of 4 and 3 items, of which 3 and 1 are chosen, out of order."""
    items = Items(
        np.array([1.0, 2.0, -0.5, 3.0, 0.7, 1.2, 4.0]),
        np.array([0.0, 1.0, 0.3, -2.0, 0.1, -1.0, 0.5]),
        np.array([0.0, 0.25, 0.0, 0.2, 0.0, 0.0, 0.0]),
    )
    domain = np.array([0, 0, 1, 0, 1, 0, 1])
    benchmarks = Benchmarks(("a", "b"), items, domain, np.array([3, 0, 4, 5]))
    responses = np.array([[1.0, 0.0, np.nan, 1.0], [np.nan, np.nan, 1.0, 0.0]])
    traits, sds = np.array([[0.4, -1.5], [2.0, 0.1]]), np.array([[0.3, 0.8], [1e-6, 0.05]])
    return benchmarks, Answers(responses, domain[benchmarks.chosen], traits, sds)


def expected(items, j, mean, sd):
    """The integral of one item's curve over a normal trait."""

    def density(theta):
        p = expit(items.slope[j] * theta + items.intercept[j])
        return (items.guessing[j] + (1 - items.guessing[j]) * p) * norm.pdf(theta, mean, sd)

    return quad(density, mean - 9 * sd, mean + 9 * sd, epsabs=1e-10, limit=200)[0]


def expectations(benchmarks, answers):
    """Of all items, shape (models, items)."""
    return np.array(
        [
            [expected(benchmarks.items, j, mean[t], sd[t]) for j, t in enumerate(benchmarks.domain)]
            for mean, sd in zip(answers.traits, answers.trait_sd, strict=True)
        ]
    )


def targets(cells, domain):
    scores = np.stack([cells[:, domain == t].mean(axis=1) for t in (0, 1)], axis=1)
    return np.column_stack([scores, scores.mean(axis=1)])


def test_implied_is_the_mean_of_integrals(small):
    benchmarks, answers = small
    found = Implied().train(answers, NONE, benchmarks).unclipped(answers)
    np.testing.assert_allclose(
        found, targets(expectations(benchmarks, answers), benchmarks.domain), atol=1e-4
    )


def test_implied_of_many_items_is_the_direct_sum(trained):
    _, board = trained
    found = Implied().train(board.answers, board.scores, board.benchmarks)
    known = board.answers.of(np.arange(20))
    sharp = Answers(known.responses, known.domain, known.traits, np.full((20, 3), 1e-9))
    items, domain = board.benchmarks.items, board.benchmarks.domain
    p = expit(items.slope * known.traits[:, domain] + items.intercept)
    for t in range(3):
        direct = p[:, domain == t].mean(axis=1)
        np.testing.assert_allclose(found.unclipped(sharp)[:, t], direct, atol=3e-5)


def test_pirt_by_hand(small):
    benchmarks, answers = small
    cells = expectations(benchmarks, answers)
    # model 0 answered items 3 and 0 of benchmark a, and 5; model 1 items 4 and 5
    cells[0, [3, 0, 5]] = 1.0, 0.0, 1.0
    cells[1, [4, 5]] = 1.0, 0.0
    found = Pirt().train(answers, NONE, benchmarks).predict(answers)
    np.testing.assert_allclose(found, targets(cells, benchmarks.domain), atol=1e-4)


def test_traits_that_are_unknown_are_those_of_the_population(small):
    benchmarks, answers = small
    gone = Answers(
        np.full((2, 4), np.nan), answers.domain, np.full((2, 2), np.nan), np.full((2, 2), np.nan)
    )
    standard = Answers(gone.responses, gone.domain, np.zeros((2, 2)), np.ones((2, 2)))
    method = Pirt().train(answers, NONE, benchmarks)
    np.testing.assert_array_equal(method.predict(gone), method.predict(standard))


def test_gpirt_finds_the_share_of_least_squares(trained):
    _, board = trained
    weights = tuple(np.random.default_rng(2).random(len(board.answers.domain)))
    found = Gpirt(weights).train(board.answers, board.scores, board.benchmarks)
    pirt = Pirt().train(board.answers, board.scores, board.benchmarks).predict(board.answers)
    for t in range(3):
        own = board.answers.domain == t
        mean = np.average(board.answers.responses[:, own], axis=1, weights=np.array(weights)[own])

        def error(share, t=t, mean=mean):
            mixed = share * mean + (1 - share) * pirt[:, t]
            return ((mixed - board.scores[:, t]) ** 2).sum()

        best = minimize_scalar(error, bounds=(0.0, 1.0), method="bounded", options={"xatol": 1e-7})
        np.testing.assert_allclose(found.share[t], best.x, atol=1e-5)
        mixed = found.share[t] * mean + (1 - found.share[t]) * pirt[:, t]
        np.testing.assert_allclose(found.unclipped(board.answers)[:, t], mixed, atol=1e-12)


def test_gpirt_refuses_weights_of_other_items(small):
    benchmarks, answers = small
    with pytest.raises(InputError, match="anchors: expected 4 weights"):
        Gpirt((1.0, 1.0)).train(answers, NONE, benchmarks)
    with pytest.raises(InputError, match="not negative"):
        Gpirt((1.0, 1.0, -1.0, 1.0)).train(answers, NONE, benchmarks)


def test_aipw_is_right_on_average_of_all_samples_with_any_curves():
    rng = np.random.default_rng(3)
    items = Items.plain(rng.normal(size=6), rng.normal(size=6))
    cells, domain = rng.random((4, 6)).round(), np.zeros(6, dtype=np.intp)
    traits, sds = rng.normal(size=(4, 1)), np.full((4, 1), 0.4)
    found = []
    for sample in combinations(range(6), 3):
        chosen = np.array(sample)
        benchmarks = Benchmarks(("a",), items, domain, chosen)
        answers = Answers(cells[:, chosen], domain[chosen], traits, sds)
        found.append(AipwReconstruction.of(benchmarks).unclipped(answers)[:, 0])
    np.testing.assert_allclose(np.mean(found, axis=0), cells.mean(axis=1), atol=1e-12)


def test_aipw_without_answers_is_implied(small):
    benchmarks, answers = small
    gone = Answers(np.full((2, 4), np.nan), answers.domain, answers.traits, answers.trait_sd)
    np.testing.assert_allclose(
        Aipw().train(answers, NONE, benchmarks).predict(gone),
        Implied().train(answers, NONE, benchmarks).predict(gone),
    )


def test_mean_by_hand(small):
    benchmarks, answers = small
    found = Mean().train(answers, NONE, benchmarks).unclipped(answers)
    np.testing.assert_array_equal(found, [[2 / 3, np.nan, np.nan], [0.0, 1.0, 0.5]])
