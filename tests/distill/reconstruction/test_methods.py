"""What all methods promise."""

import io
from dataclasses import replace

import numpy as np
import pytest

from mtlirt.distill.answers import Answers
from mtlirt.distill.reconstruction.benchmarks import Benchmarks
from mtlirt.distill.reconstruction.methods import METHODS, RECONSTRUCTIONS, restored
from mtlirt.errors import InputError
from mtlirt.irt.curves import Items


@pytest.fixture(scope="module")
def made(trained):
    """Every method, trained."""
    _, board = trained
    return {
        name: method().train(board.answers, board.scores, board.benchmarks)
        for name, method in METHODS.items()
    }


@pytest.mark.parametrize("name", METHODS)
def test_stored_and_restored(made, trained, name):
    world, _ = trained
    assert type(made[name]) is RECONSTRUCTIONS[name]
    file = io.BytesIO()
    np.savez(file, **made[name].arrays())
    file.seek(0)
    with np.load(file, allow_pickle=False) as arrays:
        again = restored(name, arrays)
    test = world.board(50).answers
    np.testing.assert_array_equal(again.predict(test), made[name].predict(test))


@pytest.mark.parametrize("name", METHODS)
def test_predictions_are_possible(made, trained, name):
    world, _ = trained
    test = world.board(300, shift=2.0, missing=0.2)
    found = made[name].predict(test.answers)
    answered = ~np.isnan(test.answers.responses)
    least, greatest = np.empty((300, 3)), np.empty((300, 3))
    for t, total in enumerate(world.totals):
        own = test.answers.domain == t
        right = np.nansum(test.answers.responses[:, own], axis=1)
        wrong = answered[:, own].sum(axis=1) - right
        least[:, t], greatest[:, t] = right / total, 1.0 - wrong / total
    slack = 1e-12
    assert (found[:, :3] >= least - slack).all()
    assert (found[:, :3] <= greatest + slack).all()
    assert (found[:, 3] >= least.mean(axis=1) - slack).all()
    assert (found[:, 3] <= greatest.mean(axis=1) + slack).all()
    for scores, bound in ((test.scores[:, :3], least), (1 - test.scores[:, :3], 1 - greatest)):
        assert (scores >= bound - slack).all()  # as the truth is


@pytest.mark.parametrize("name", METHODS)
def test_a_benchmark_of_which_all_is_chosen_is_known(world, name):
    whole = world(4, totals=(15, 40, 40))
    board, test = whole.board(100), whole.board(100)
    found = METHODS[name]().train(board.answers, board.scores, board.benchmarks)
    np.testing.assert_allclose(found.predict(test.answers)[:, 0], test.scores[:, 0], atol=1e-12)


@pytest.mark.parametrize("name", METHODS)
def test_missing_answers_and_benchmarks(world, name):
    gaps = world(5)
    board = gaps.board(300, missing=0.1)
    lacking = board.answers.responses.copy()
    lacking[::3, board.answers.domain == 1] = np.nan
    lacking[7] = np.nan
    answers = gaps.answers(lacking)
    answers.traits[7], answers.trait_sd[7] = np.nan, np.nan
    scores = board.scores.copy()
    scores[::3, [1, 3]] = np.nan
    found = METHODS[name]().train(answers, scores, board.benchmarks).predict(answers)
    assert np.isfinite(np.delete(found[:, [0, 2]], 7, axis=0)).all()
    if name == "mean":
        assert np.isnan(found[::3, [1, 3]]).all()
    else:
        assert np.isfinite(found).all()
        lost = board.scores[::3, 1]
        error = np.sqrt(np.mean((found[::3, 1] - lost) ** 2))
        # other benchmarks tell of it; the traits here do not borrow from them
        learns = name in {"spline-ridge", "gam", "ridge"}
        assert error < (0.9 if learns else 1.05) * lost.std()


@pytest.mark.parametrize("name", sorted(METHODS.keys() - {"mean"}))
def test_benchmarks_and_items_without_any_answer(trained, name):
    _, board = trained
    kept = board.answers.domain != 1
    responses = board.answers.responses[:, kept].copy()
    responses[:, 0] = np.nan
    answers = replace(board.answers, responses=responses, domain=board.answers.domain[kept])
    benchmarks = replace(board.benchmarks, chosen=board.benchmarks.chosen[kept])
    found = METHODS[name]().train(answers, board.scores, benchmarks).predict(answers)
    error = np.sqrt(((found - board.scores) ** 2).mean(axis=0))
    assert (error < 0.65 * board.scores.std(axis=0)).all()


@pytest.mark.parametrize("bend", [0.0, 1.0])
def test_the_best_method(world, bend):
    """Where the model holds it is as good as p-IRT, and where it does not, better."""
    made = world(6, bend=bend)
    board, test = made.board(1000), made.board(1500)
    error = {}
    for name, method in METHODS.items():
        found = method().train(board.answers, board.scores, board.benchmarks)
        squares = (found.predict(test.answers) - test.scores) ** 2
        error[name] = np.sqrt(squares.mean(axis=0)).mean()
    assert error["spline-ridge"] < 1.01 * min(error.values())
    assert error["mean"] > 1.3 * error["spline-ridge"]
    if bend:
        assert error["spline-ridge"] < 0.97 * error["pirt"]


def test_what_is_wrong_is_said(trained, made):
    _, board = trained
    with pytest.raises(InputError, match=r"shape \(600, 3\): expected \(600, 4\)"):
        METHODS["gam"]().train(board.answers, board.scores[:, :3], board.benchmarks)
    few = np.full(board.scores.shape, np.nan)
    few[:, [0, 1, 3]] = 0.5
    few[0, 2] = 0.5
    with pytest.raises(InputError, match="'b2': fewer than 2 models"):
        METHODS["ridge"]().train(board.answers, few, board.benchmarks)
    other = Benchmarks(("a", "b", "c"), Items.plain(np.ones(3), np.ones(3)), np.arange(3), [0, 2])
    with pytest.raises(InputError, match="not to the chosen items"):
        METHODS["mean"]().train(board.answers, board.scores, other)
    known = board.answers
    some = Answers(known.responses[:, 1:], known.domain[1:], known.traits, known.trait_sd)
    with pytest.raises(InputError, match="answers to 44 items: expected the 45"):
        made["pirt"].predict(some)
    with pytest.raises(InputError, match="method 'lasso' is not one of spline-ridge, gam"):
        restored("lasso", {})
