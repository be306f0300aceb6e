"""Adaptive tests: the same scores as `mtlirt.score`, and the item that tells most."""

from dataclasses import replace

import numpy as np
import pandas as pd
import pytest

import mtlirt
from mtlirt.distill.adaptive.bank import ItemBank
from mtlirt.distill.adaptive.belief import Belief
from mtlirt.errors import InputError
from mtlirt.irt.linking import Link
from mtlirt.scores.linking import carried


def run(test, key):
    """Drive a test to its end; what was asked."""
    log = {}
    while asked := test.next():
        answers = {one: key[one] for one in asked}
        test.answer(answers)
        log |= answers
    return log


def linked(fit):
    """The fit with two of its domains on another scale, one turned round."""
    moved = carried(fit, {"arc": Link(1.3, -0.4), "mmlu": Link(-0.8, 0.2)})
    assert moved.domains["link_scale"].notna().sum() == 2
    return moved


def guessed(fit):
    """The fit with some items that may be guessed."""
    chance = np.where(np.arange(len(fit.items)) % 3 == 0, 0.25, 0.0)
    return replace(fit, items=fit.items.assign(guessing=chance))


def by_themselves(fit):
    """The fit with two domains that borrow nothing."""
    own = fit.domains.index.isin(["mmlu", "truthfulqa"])
    return replace(fit, domains=fit.domains.assign(pooling=np.where(own, "own", "joint")))


CHANGES = {f.__name__: f for f in (linked, guessed, by_themselves)} | {"plain": lambda fit: fit}


@pytest.mark.parametrize("change", CHANGES)
@pytest.mark.parametrize("target", ["domains", "overall", "gsm8k"])
def test_scores_are_those_of_score(board, key, scored, change, target):
    fit = CHANGES[change](board.fit)
    test = mtlirt.AdaptiveTest(fit, target=target, max_items=25)
    log = run(test, key)
    traits, overall = scored(fit, log)
    np.testing.assert_allclose(test.scores[["mean", "sd"]], traits, atol=1e-6)
    np.testing.assert_allclose(test.overall, overall, atol=1e-6)
    assert test.scores["answered"].sum() == len(log)


@pytest.mark.parametrize("change", CHANGES)
def test_scores_of_a_log_in_any_portions(board, key, scored, change):
    """Few items of one domain, none of another, all of a third; then more."""
    fit = CHANGES[change](board.fit)
    test, log = mtlirt.AdaptiveTest(fit), {}
    for domains in ({"hellaswag": 3, "arc": 100}, {"hellaswag": 40, "mmlu": 1}):
        for domain, count in domains.items():
            some = [one for one in key if one[0] == domain and one not in log][:count]
            test.answer({one: key[one] for one in some})
            log |= {one: key[one] for one in some}
        traits, overall = scored(fit, log)
        np.testing.assert_allclose(test.scores[["mean", "sd"]], traits, atol=1e-6)
        np.testing.assert_allclose(test.overall, overall, atol=1e-6)
        assert list(test.scores.index[test.scores["borrowed"]])[:1] == ["gsm8k"]


def test_without_borrowing_they_are_those_of_domains_by_themselves(board, key, scored):
    alone = replace(
        board.fit,
        representation=board.fit.representation.iloc[:, :0],
        domains=board.fit.domains.assign(uniqueness=1.0),
    )
    test = mtlirt.AdaptiveTest(board.fit, borrow=False)
    log = run(test, key)
    traits, _ = scored(alone, log)
    np.testing.assert_allclose(test.scores[["mean", "sd"]], traits, atol=1e-6)
    assert test.reason == "standard error"
    assert (test.scores["sd"] <= 0.3).all()
    for domain in board.fit.domains.index:  # none went on when it was done
        last = [one for one in log if one[0] == domain][-1]
        before, _ = scored(alone, {one: value for one, value in log.items() if one != last})
        assert before[board.fit.domains.index.get_loc(domain), 1] > 0.3


def test_before_any_answer_scores_are_the_priors(board):
    test = mtlirt.AdaptiveTest(linked(board.fit))
    np.testing.assert_allclose(test.scores["mean"], [-0.4, 0, 0, 0.2, 0, 0], atol=1e-12)
    np.testing.assert_allclose(test.scores["sd"], [1.3, 1, 1, 0.8, 1, 1], atol=1e-12)
    assert not test.done
    assert test.reason is None


@pytest.mark.parametrize("target", ["domains", "overall", "arc"])
@pytest.mark.parametrize("change", ["plain", "by_themselves"])
def test_the_next_item_is_the_best_of_all(board, key, target, change):
    """By brute force: each of some items answered both ways, all messages settled anew."""
    fit, names = CHANGES[change](board.fit), board.fit.domains.index
    some = [one for one in key if int(one[1][-2:]) < 8]
    chosen = mtlirt.AdaptiveTest(fit, target=target, standard_error=0.01, items=some)
    log, bank = [], ItemBank.of(fit)
    for _ in range(6):
        (one,) = chosen.next()
        expected = {}
        for candidate in some:
            if candidate in [item for item, _ in log]:
                continue
            number = bank.places[candidate]
            t = bank.domain_of[number]
            before = settled(bank, log)
            chance = chance_of_right(before, t, number)
            after = [error(settled(bank, [*log, (candidate, y)]), target, names) for y in (0, 1)]
            expected[candidate] = (1 - chance) * after[0] + chance * after[1]
        least, now = min(expected.values()), error(settled(bank, log), target, names)
        assert expected[one] - least < 0.03 * (now - least)
        log.append((one, key[one]))
        chosen.answer({one: key[one]})


def settled(bank, log):
    belief = Belief(bank)
    belief.add([(bank.places[one], bool(value)) for one, value in log])
    return belief


def chance_of_right(belief, t, number):
    """Of an item, under a normal posterior of its trait."""
    theta = belief.mean[t] + np.sqrt(belief.variance[t]) * np.linspace(-6, 6, 201)
    weight = np.exp(-0.5 * np.linspace(-6, 6, 201) ** 2)
    slope, intercept, _ = (part[number] for part in belief.bank.items)
    return weight @ (1 / (1 + np.exp(-slope * theta - intercept))) / weight.sum()


def error(belief, target, names):
    if target == "overall":
        return belief.covariance(True).mean()
    if target == "domains":
        return belief.variance.mean()
    return belief.variance[names.get_loc(target)]


def test_an_answer_tells_of_other_domains(board, key):
    test = mtlirt.AdaptiveTest(board.fit)
    others = test.scores.index != "arc"
    test.answer({one: key[one] for one in list(key)[:20]})
    assert (test.scores["sd"][others] < 0.8).all()


def test_a_domain_can_be_found_through_others_alone(board, key):
    elsewhere = [one for one in key if one[0] != "truthfulqa"]
    test = mtlirt.AdaptiveTest(board.fit, target="truthfulqa", standard_error=0.55, items=elsewhere)
    log = run(test, key)
    assert test.reason == "standard error"
    assert len(log) < 20
    assert test.scores.loc["truthfulqa", "borrowed"]


def test_asking_again_gives_the_same_items_and_batches_begin_alike(board, key):
    one, five = mtlirt.AdaptiveTest(board.fit), mtlirt.AdaptiveTest(board.fit, batch=5)
    for _ in range(3):
        asked = five.next()
        assert five.next() == asked
        assert len(set(asked)) == 5
        assert one.next() == asked[:1]
        assert len({domain for domain, _ in asked}) > 1
        for test in (one, five):
            test.answer({item: key[item] for item in asked})


def test_a_larger_batch_needs_few_items_more(board, key):
    asked = [len(run(mtlirt.AdaptiveTest(board.fit, batch=n), key)) for n in (1, 6)]
    assert asked[0] <= asked[1] + 1 <= 1.4 * asked[0] + 6


def test_tests_end_for_a_reason(board, key):
    some = list(key)[::40]
    test = mtlirt.AdaptiveTest(board.fit, items=some)
    assert set(run(test, key)) == set(some)
    assert (test.reason, test.done) == ("items used up", True)
    test = mtlirt.AdaptiveTest(board.fit, max_items=7, batch=5)
    test.answer({one: key[one] for one in some[:4]})
    assert len(run(test, key)) == 3
    assert test.reason == "max items"
    test = mtlirt.AdaptiveTest(board.fit, target="overall", standard_error=0.5)
    run(test, key)
    assert test.reason == "standard error"
    assert test.overall.sd <= 0.5


def test_items_that_tell_nothing_are_never_asked_but_answers_to_them_taken(board, key):
    first = board.fit.items.index[0]
    slope = board.fit.items["slope"].where(board.fit.items.index != first, 0.0)
    fit = replace(board.fit, items=board.fit.items.assign(slope=slope))
    test = mtlirt.AdaptiveTest(fit, "arc", 0.01, items=[one for one in key if one[0] == "arc"])
    test.answer({first: 1})
    np.testing.assert_allclose(test.scores["sd"], 1.0)
    arc = fit.items.index.get_level_values("domain") == "arc"
    assert 90 < len(run(test, key)) == (ItemBank.of(fit).useful & arc).sum() < 100
    test = mtlirt.AdaptiveTest(fit, "arc", 0.01, items=[first])
    assert test.reason == "items used up"


def test_flat_domains_are_no_part_of_the_target(board, key):
    flat = board.fit.domains.index == "gsm8k"
    of_flat = board.fit.items.index.get_level_values("domain") == "gsm8k"
    loadings = board.fit.representation.mul(np.where(flat, 0.0, 1.0), axis=0)
    fit = replace(
        board.fit,
        items=board.fit.items.assign(slope=board.fit.items["slope"].where(~of_flat, 0.0)),
        representation=loadings,
        domains=board.fit.domains.assign(
            flat=flat, uniqueness=np.where(flat, 1.0, board.fit.domains["uniqueness"])
        ),
    )
    test = mtlirt.AdaptiveTest(fit)
    run(test, key)
    assert test.reason == "standard error"
    assert test.scores["sd"][~flat].mean() <= 0.3
    assert test.scores["sd"]["gsm8k"] == 1.0
    with pytest.raises(InputError, match="target 'gsm8k': its items tell no models apart"):
        mtlirt.AdaptiveTest(fit, "gsm8k")


@pytest.mark.parametrize(
    ("answers", "said"),
    [
        ({("arc", "none"): 1}, r"item \('arc', 'none'\) is not among those of the fit"),
        ({("arc", "arc-001"): 1}, r"item \('arc', 'arc-001'\) is answered already"),
        ({("arc", "arc-003"): 0.5}, r"answer to item \('arc', 'arc-003'\) is 0.5, expected 0 or 1"),
        ({("arc", "arc-003"): np.nan}, "is nan, expected 0 or 1"),
        ({("arc", "arc-003"): "1"}, "is '1', expected 0 or 1"),
        ({("arc", "arc-003"): None}, "is None, expected 0 or 1"),
        ({("arc", "arc-003"): -1}, "is -1, expected 0 or 1"),
    ],
)
def test_wrong_answers_are_refused_and_nothing_taken_in(board, answers, said):
    test = mtlirt.AdaptiveTest(board.fit)
    test.answer({("arc", "arc-001"): True, ("mmlu", "mmlu-001"): np.int8(0)})
    before = test.scores
    with pytest.raises(InputError, match=said):
        test.answer({("arc", "arc-002"): 1, **answers})
    pd.testing.assert_frame_equal(test.scores, before)
    test.answer({})
    test.answer({("arc", "arc-002"): 1})


@pytest.mark.parametrize(
    ("options", "said"),
    [
        ({"target": "maths"}, "target 'maths' is not one of domains, overall, arc, gsm8k"),
        ({"standard_error": 0}, "standard_error 0: expected a number above 0"),
        ({"standard_error": np.nan}, "standard_error nan: expected"),
        ({"batch": 0}, "batch 0 is not a whole number from 1 up"),
        ({"max_items": 2.5}, "max_items 2.5 is not a whole number from 1 up"),
        ({"items": [("arc", "none")]}, r"item \('arc', 'none'\) is not among the 890 known ones"),
    ],
)
def test_wrong_options_are_refused(board, options, said):
    with pytest.raises(InputError, match=said):
        mtlirt.AdaptiveTest(board.fit, **options)


def test_a_fit_must_have_posteriors(board):
    joint = replace(board.fit, info={**board.fit.info, "estimator": "joint"})
    with pytest.raises(InputError, match="estimator 'joint' scores its own models only"):
        mtlirt.AdaptiveTest(joint)
    with pytest.raises(InputError, match="needs a fit, from fit or load"):
        mtlirt.AdaptiveTest("snapshots")
