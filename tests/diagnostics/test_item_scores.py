"""Scores of items and their information against sums over all patterns of answers."""

import itertools

import numpy as np
import pytest
from scipy.special import expit
from scipy.stats import norm

from mtlirt.diagnostics.item_fit import interval_functions, item_fit
from mtlirt.diagnostics.item_scores import item_scores
from mtlirt.diagnostics.posterior import Priors, group_priors, log_likelihood, posterior
from mtlirt.irt.blocks import response_block
from mtlirt.irt.curves import Items

POINTS = np.linspace(-6, 6, 241)
FUNCTIONS = np.vstack([POINTS < 0, POINTS >= 0, POINTS]).astype(float)
ITEMS = {
    "plain": Items.plain(np.array([1.2, -0.7, 2.0, 0.5]), np.array([0.3, -1.0, 0.8, 0.0])),
    "guessed": Items(
        np.array([1.2, 0.7, 2.0, 0.5]), np.array([0.3, -1.0, 0.8, 0.0]), np.full(4, 0.25)
    ),
}


def everyone(items):
    """All 16 patterns with their probabilities for a standard normal trait."""
    patterns = np.array(list(itertools.product([0, 1], repeat=4)), np.int8)
    block = response_block(patterns)
    priors = Priors(np.zeros(16), np.ones(16))
    likelihood = log_likelihood(block, items, POINTS)
    prior = norm.pdf(POINTS)
    probabilities = np.exp(likelihood) @ (prior / prior.sum())
    return block, probabilities, posterior(likelihood, POINTS, priors)


def single(block, items, trait, line):
    part = type(trait)(trait.points, trait.weights[line : line + 1])
    return item_scores(block.take(np.array([line])), items, part, FUNCTIONS)


@pytest.mark.parametrize("kind", ITEMS)
def test_scores_have_mean_0_and_the_stated_variance(kind):
    items = ITEMS[kind]
    block, probabilities, trait = everyone(items)
    assert probabilities.sum() == pytest.approx(1.0)
    found = [single(block, items, trait, line) for line in range(16)]
    scores = np.stack([one.score for one in found])
    information = np.stack([one.information for one in found])
    np.testing.assert_allclose(np.tensordot(probabilities, scores, 1), 0.0, atol=1e-10)
    products = np.einsum("i,ijk,ijl->jkl", probabilities, scores, scores)
    stated = np.tensordot(probabilities, information, 1)
    np.testing.assert_allclose(stated, products, rtol=1e-8, atol=1e-12)


@pytest.mark.parametrize("kind", ITEMS)
def test_the_score_is_the_derivative_of_the_marginal_likelihood(kind):
    items, step = ITEMS[kind], 1e-5
    block, _, trait = everyone(items)
    prior = norm.pdf(POINTS) / norm.pdf(POINTS).sum()

    def marginal(shift, along):
        eta = items.slope[0] * POINTS + items.intercept[0] + shift * along
        p = items.guessing[0] + (1 - items.guessing[0]) * expit(eta)
        others = Items(*(part[1:] for part in items))
        rest = np.exp(log_likelihood(response_block(block.responses[:, 1:]), others, POINTS))
        own = np.where(block.responses[:, :1] == 1, p, 1 - p)
        return np.log((rest * own) @ prior)

    scores = np.stack([single(block, items, trait, line).score[0] for line in range(16)])
    for k, along in enumerate(FUNCTIONS):
        slope = (marginal(step, along) - marginal(-step, along)) / (2 * step)
        np.testing.assert_allclose(scores[:, k], slope, rtol=1e-6, atol=1e-9)


def test_missing_cells_say_nothing_and_blocks_add_up():
    items = ITEMS["plain"]
    rng = np.random.default_rng(3)
    cells = rng.integers(-1, 2, (50, 4)).astype(np.int8)
    priors = Priors(rng.normal(size=50), rng.uniform(0.3, 1.0, 50))

    def of(rows):
        block = response_block(cells[rows])
        own = Priors(priors.mean[rows], priors.variance[rows])
        return item_scores(
            block, items, posterior(log_likelihood(block, items, POINTS), POINTS, own), FUNCTIONS
        )

    whole = of(np.arange(50))
    halves = of(np.arange(20)).added(of(np.arange(20, 50)))
    for one, other in zip(whole, halves, strict=True):
        np.testing.assert_allclose(one, other, rtol=1e-9, atol=1e-12)
    np.testing.assert_allclose(whole.mass[:, :2].sum(axis=1), (cells >= 0).sum(axis=0))
    taken = np.flatnonzero(cells[:, 1] >= 0)
    np.testing.assert_allclose(of(taken).score[1], whole.score[1])


def test_item_fit_needs_enough_answers():
    items = ITEMS["plain"]
    rng = np.random.default_rng(4)
    trait = rng.normal(size=4000)
    cells = (rng.random((4000, 4)) < expit(trait[:, None] * items.slope + items.intercept)) * 1
    block = response_block(cells.astype(np.int8))
    known = posterior(
        log_likelihood(block, items, POINTS), POINTS, Priors(np.zeros(4000), np.ones(4000))
    )
    functions = interval_functions(POINTS, known.mean)
    assert (functions[:-1].sum(axis=0) == 1).all()
    full = item_fit(item_scores(block, items, known, functions))
    assert (full.freedom >= 1).all()
    few = known.__class__(known.points, known.weights[:10])
    none = item_fit(item_scores(block.take(np.arange(10)), items, few, functions))
    assert np.isnan(none.p).all()


def test_the_priors_of_groups_are_their_means_and_spreads():
    rng = np.random.default_rng(5)
    items = Items.plain(np.full(60, 1.5), rng.normal(0, 1.0, 60))
    groups = np.repeat([0, 1, -1], [1500, 1500, 10])
    trait = np.where(groups == 1, 0.8 + 0.5 * rng.normal(size=3010), rng.normal(size=3010))
    cells = rng.random((3010, 60)) < expit(trait[:, None] * 1.5 + items.intercept)
    likelihood = log_likelihood(response_block(cells.astype(np.int8)), items, POINTS)
    found = group_priors(likelihood, POINTS, Priors(np.zeros(3010), np.ones(3010)), groups)
    for group, mean, sd in ((0, 0.0, 1.0), (1, 0.8, 0.5)):
        some = groups == group
        assert found.mean[some] == pytest.approx(mean, abs=0.07)
        assert np.sqrt(found.variance[some]) == pytest.approx(sd, abs=0.07)
    assert (found.mean[groups == -1] == 0).all()
