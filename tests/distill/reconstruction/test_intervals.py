"""How often intervals hold the truth, and what they do beyond training."""

import numpy as np
import pytest

from mtlirt.distill.answers import Answers
from mtlirt.distill.reconstruction.intervals import Intervals
from mtlirt.distill.reconstruction.methods import METHODS
from mtlirt.errors import InputError


@pytest.fixture(scope="module")
def learnt(world):
    """A world, a reconstruction of it, and intervals from five folds."""
    made = world(11, bend=0.7)
    board = made.board(2000)
    method, fold = METHODS["spline-ridge"](), np.arange(2000) % 5
    honest = np.empty(board.scores.shape)
    for k in range(5):
        others = fold != k
        part = method.train(board.answers.of(others), board.scores[others], board.benchmarks)
        honest[~others] = part.predict(board.answers.of(~others))
    intervals = Intervals.train(honest, board.scores, board.answers)
    return made, method.train(board.answers, board.scores, board.benchmarks), intervals


def held(learnt, board, level):
    _, reconstruction, intervals = learnt
    found = reconstruction.predict(board.answers)
    around = intervals.around(found, board.answers, level)
    return (board.scores >= around.lower) & (board.scores <= around.upper), found, around


@pytest.mark.parametrize("level", [0.8, 0.95])
def test_coverage_also_in_thirds_of_the_scores(learnt, level):
    inside, found, around = held(learnt, learnt[0].board(5000), level)
    assert np.abs(inside.mean(axis=0) - level).max() < 0.02
    third = (found.argsort(axis=0).argsort(axis=0) * 3) // len(found)
    for part in range(3):
        assert abs(inside[third == part].mean() - level) < 0.02
    assert around.extrapolated.mean() < 0.01


def test_coverage_of_stronger_models(learnt):
    inside, _, around = held(learnt, learnt[0].board(3000, shift=1.0), 0.95)
    assert inside.mean(axis=0).min() >= 0.93
    inside, _, around = held(learnt, learnt[0].board(500, shift=5.0), 0.95)
    assert around.extrapolated.mean() > 0.95 or inside.mean(axis=0).min() >= 0.93


def test_coverage_of_models_that_lack_answers(learnt):
    inside, _, around = held(learnt, learnt[0].board(2000, missing=0.6), 0.95)
    assert inside.mean(axis=0).min() >= 0.93
    assert around.extrapolated.mean() > 0.5
    _, _, narrow = held(learnt, learnt[0].board(2000), 0.95)
    assert (around.upper - around.lower).mean() > 1.2 * (narrow.upper - narrow.lower).mean()


def simple(count=199, seed=0):
    """Predictions with residuals of one size, and traits that are ten times the score."""
    rng = np.random.default_rng(seed)
    scores = rng.uniform(0.3, 0.7, (count, 2))
    predictions = scores + rng.normal(0.0, 0.02, scores.shape)
    traits = 10.0 * predictions[:, :1]
    answers = Answers(np.ones((count, 1)), np.zeros(1, dtype=np.intp), traits, np.ones((count, 1)))
    return predictions, scores, answers


def model(trait, sd=1.0):
    return Answers(
        np.ones((1, 1)), np.zeros(1, dtype=np.intp), np.full((1, 1), trait), np.full((1, 1), sd)
    )


def test_the_quantile_is_that_of_one_more_model():
    predictions, scores, answers = simple()
    intervals = Intervals.train(predictions, scores, answers)
    around = intervals.around(predictions, answers, 0.9)
    inside = (scores >= around.lower) & (scores <= around.upper)
    assert (inside.sum(axis=0) == 180).all()  # ceil(200 * .9) of 199


def test_too_few_residuals_for_a_level():
    predictions, scores, answers = simple(count=20)
    intervals = Intervals.train(predictions, scores, answers)
    around = intervals.around(predictions, answers, 0.96)
    assert (around.lower == 0.0).all()
    assert (around.upper == 1.0).all()
    assert (intervals.around(predictions, answers, 0.95).upper < 1.0).all()


def test_models_without_a_score_are_left_out():
    predictions, scores, answers = simple()
    scores[::2, 0] = np.nan
    some = Intervals.train(predictions, scores, answers)
    rows = np.arange(1, 199, 2)
    few = Intervals.train(predictions[rows], scores[rows], answers.of(rows))
    one, other = (part.around(predictions, answers) for part in (some, few))
    np.testing.assert_allclose(one.upper[:, 0], other.upper[:, 0])
    assert not np.allclose(one.upper[:, 1], other.upper[:, 1])


def test_intervals_widen_beyond_training():
    predictions, scores, answers = simple()
    intervals = Intervals.train(predictions, scores, answers)
    top = predictions[:, 0].max()

    def reach(value, trait, sd=1.0):
        around = intervals.around(np.full((1, 2), value), model(trait, sd))
        return around.upper[0, 0] - value, around.extrapolated[0].tolist()

    edge, flagged = reach(0.65, 6.5)
    assert flagged == [False, False]
    inner, flagged = reach(0.65, 10 * top + 0.5)  # a trait beyond, by 0.05 in units of the score
    assert flagged == [True, True]
    np.testing.assert_allclose(inner, edge + 0.05, atol=1e-9)
    at, _ = reach(top, 10 * top - 1e-9)
    far, flagged = reach(top + 0.05, 10 * top + 0.5)
    assert flagged == [True, True]
    np.testing.assert_allclose(far, at + 0.05, atol=1e-9)
    doubtful, flagged = reach(0.65, 6.5, sd=np.sqrt(2.0))
    assert flagged == [True, True]
    np.testing.assert_allclose(doubtful, np.sqrt(2.0) * edge)


def test_minimum_difference_and_storage():
    predictions, scores, answers = simple()
    intervals = Intervals.train(predictions, scores, answers)
    sd = np.sqrt(((predictions - scores) ** 2).mean(axis=0))
    np.testing.assert_allclose(intervals.minimum_difference, 1.96 * np.sqrt(2) * sd, rtol=1e-4)
    again = Intervals.from_arrays(intervals.arrays())
    for one, other in zip(
        again.around(predictions, answers), intervals.around(predictions, answers), strict=True
    ):
        np.testing.assert_array_equal(one, other)


def test_predictions_that_are_always_right():
    predictions, _, answers = simple()
    around = Intervals.train(predictions, predictions, answers).around(predictions, answers)
    np.testing.assert_allclose(around.upper, around.lower, atol=1e-8)


def test_no_prediction_has_no_interval():
    predictions, scores, answers = simple()
    intervals = Intervals.train(predictions, scores, answers)
    around = intervals.around(np.full((1, 2), np.nan), model(5.0))
    assert np.isnan(around.lower).all()
    assert np.isnan(around.upper).all()
    assert around.extrapolated.all()


def test_what_is_wrong_is_said():
    predictions, scores, answers = simple(count=4)
    with pytest.raises(InputError, match="target 0 has 4 honest residuals"):
        Intervals.train(predictions, scores, answers)
    intervals = Intervals.train(*simple())
    with pytest.raises(InputError, match="level 95: expected"):
        intervals.around(predictions, answers, 95)


def test_stronger_models_have_intervals_as_wide_as_errors_on_such_were():
    rng = np.random.default_rng(3)
    predictions, scores, answers = simple(count=2000)
    usual = Intervals.train(predictions, scores, answers)
    strong = predictions[:, -1] > np.quantile(predictions[:, -1], 0.9)
    wrong = scores[strong] + 3.0 * (scores - predictions)[strong] * rng.choice(
        [-1, 1], (strong.sum(), 1)
    )
    cut = float(np.quantile(predictions[:, -1], 0.95))
    wider = usual.for_stronger(cut, wrong, scores[strong], answers.of(strong))
    before, after = (each.around(predictions, answers) for each in (usual, wider))
    beyond = predictions[:, -1] > cut
    np.testing.assert_array_equal(after.lower[~beyond], before.lower[~beyond])
    np.testing.assert_array_equal(after.upper[~beyond], before.upper[~beyond])
    ratio = ((after.upper - after.lower) / (before.upper - before.lower))[beyond]
    assert 2.5 < ratio.mean() < 5.0
    assert after.extrapolated[beyond].all()
    assert after.extrapolated[~beyond].mean() == before.extrapolated[~beyond].mean()
    again = Intervals.from_arrays(wider.arrays()).around(predictions, answers)
    np.testing.assert_array_equal(again.upper, after.upper)


def test_stronger_models_never_have_narrower_ones():
    predictions, scores, answers = simple(count=300)
    usual = Intervals.train(predictions, scores, answers)
    right = usual.for_stronger(0.0, scores, scores, answers)
    before, after = (each.around(predictions, answers) for each in (usual, right))
    np.testing.assert_array_equal(after.upper, before.upper)
