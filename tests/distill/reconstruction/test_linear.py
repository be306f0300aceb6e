"""Additive models and ridges."""

import numpy as np
import pytest

from mtlirt.distill.answers import Answers
from mtlirt.distill.reconstruction.features import Features, quantile_knots
from mtlirt.distill.reconstruction.linear import Gam, Ridge
from mtlirt.distill.reconstruction.ridge import block_ridge


def rmse(found, expected):
    return np.sqrt(((found - expected) ** 2).mean(axis=0))


def with_traits(answers, traits):
    return Answers(answers.responses, answers.domain, traits, np.ones(traits.shape))


def test_additive_splines_are_recovered(trained):
    _, board = trained
    answers, rng = board.answers, np.random.default_rng(0)
    splines = Features.of(answers, 8).splines(answers)
    scores = splines @ rng.normal(size=(splines.shape[1], 4))
    scores = 0.5 + 0.1 * (scores - scores.mean(axis=0)) / scores.std(axis=0)
    found = Gam().train(answers, scores, board.benchmarks)
    np.testing.assert_allclose(found.unclipped(answers), scores, atol=1e-4)


def test_predictions_are_straight_beyond_the_knots(trained):
    _, board = trained
    found = Gam().train(board.answers, board.scores, board.benchmarks)
    edge = board.answers.traits.max(axis=0)
    steps = np.arange(4.0)[:, None]
    far = with_traits(board.answers.of(np.arange(4)), edge + 0.5 * steps)
    values = found.unclipped(far)
    np.testing.assert_allclose(np.diff(values, n=2, axis=0), 0.0, atol=1e-10)
    assert (np.diff(values, axis=0) != 0).all()


def test_own_trait_alone(trained):
    _, board = trained
    found = Gam(own_trait=True).train(board.answers, board.scores, board.benchmarks)
    before = found.unclipped(board.answers)
    traits = board.answers.traits.copy()
    traits[:, 1] = 0.3
    after = found.unclipped(with_traits(board.answers, traits))
    np.testing.assert_array_equal(before[:, [0, 2]], after[:, [0, 2]])
    assert (before[:, [1, 3]] != after[:, [1, 3]]).any(axis=0).all()
    np.testing.assert_allclose(before[:, 3], before[:, :3].mean(axis=1))


def test_joint_traits_predict_better_than_the_own_one(trained):
    world, board = trained
    test = world.board(1000)
    own, joint = (
        Gam(own_trait=alone).train(board.answers, board.scores, board.benchmarks)
        for alone in (True, False)
    )
    assert (
        rmse(joint.predict(test.answers), test.scores)[:3]
        < rmse(own.predict(test.answers), test.scores)[:3]
    ).all()


def test_targets_are_learnt_from_the_models_that_have_them(trained):
    _, board = trained
    scores, rows = board.scores.copy(), np.arange(200, 600)
    scores[:200, 0] = np.nan
    scores[500:, 3] = np.nan
    found = Ridge().train(board.answers, scores, board.benchmarks).unclipped(board.answers)
    whole = Ridge().train(board.answers, board.scores, board.benchmarks).unclipped(board.answers)
    np.testing.assert_allclose(found[:, 1:3], whole[:, 1:3])
    block = board.answers.responses
    some = block_ridge([block[rows]], board.scores[rows, :1], np.ones((1, 1)))
    np.testing.assert_allclose(found[:, 0], (some.constant + block @ some.coefficients)[:, 0])


def test_missing_responses_count_as_the_mean(trained):
    _, board = trained
    found = Ridge().train(board.answers, board.scores, board.benchmarks)
    gaps, filled = (board.answers.responses.copy() for _ in range(2))
    gaps[:, ::2] = np.nan
    filled[:, ::2] = board.answers.responses[:, ::2].mean(axis=0)
    one, other = (
        found.unclipped(
            Answers(part, board.answers.domain, board.answers.traits, board.answers.trait_sd)
        )
        for part in (gaps, filled)
    )
    np.testing.assert_allclose(one, other)


@pytest.mark.parametrize("values", [[2.0] * 9, [0.0, 1.0] * 5, [0.0] * 50 + list(range(9))])
def test_knots_rise_whatever_the_values(values):
    knots = quantile_knots(np.array(values), 5)
    assert len(knots) == 5
    assert (np.diff(knots) > 0).all()
    assert knots[0] <= min(values)
    assert knots[-1] >= max(values)
