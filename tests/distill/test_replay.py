"""Replays: the same as driving each test by hand, honest, and with fewer items by borrowing."""

from dataclasses import replace

import dask.array as da
import numpy as np
import pandas as pd
import pytest

import mtlirt
from mtlirt.distill.adaptive.bank import ItemBank
from mtlirt.distill.adaptive.replay import replay
from mtlirt.errors import InputError
from mtlirt.responses.matrix import DomainResponses
from mtlirt.responses.subset import some_models
from mtlirt.simulate.cells import originals
from mtlirt.simulate.generate import simulate


def of(responses, change):
    """The responses with each domain's array changed."""
    parts = {
        name: DomainResponses(da.from_array(change(name, np.asarray(part.array))))
        for name, part in responses.domains.items()
    }
    return replace(responses, domains=parts)


def test_a_replay_is_a_test_driven_by_hand(board, key):
    found = replay(board.fit, some_models(board.new, np.arange(3)), standard_error=0.4)
    test = mtlirt.AdaptiveTest(board.fit, standard_error=0.4)
    while asked := test.next():
        test.answer({one: key[one] for one in asked})
    first = board.new.models.index[0]
    np.testing.assert_array_equal(
        found.traits.loc[first][["mean", "sd"]], test.scores[["mean", "sd"]]
    )
    assert found.traits.loc[first, "items"].tolist() == test.scores["answered"].tolist()
    told = found.models.loc[first]
    assert (told["overall"], told["overall_sd"]) == test.overall
    assert (told["items"], told["answered"]) == (test.scores["answered"].sum(), 890)
    assert told["reason"] == "standard error"


def test_full_scores_are_those_of_score(board):
    some = some_models(board.new, np.arange(5))
    found, full = replay(board.fit, some, max_items=4), mtlirt.score(board.fit, some)
    assert found.models["items"].tolist() == [4] * 5
    np.testing.assert_array_equal(found.traits["full_mean"], full.traits["mean"])
    np.testing.assert_array_equal(found.models["full_overall_sd"], full.models["overall_sd"])
    error = (found.traits["mean"] - found.traits["full_mean"]).to_numpy().reshape(5, 6)
    np.testing.assert_allclose(found.models["rmse"], np.sqrt((error**2).mean(axis=1)))


def test_results_depend_on_no_other_model(board):
    rows = np.array([4, 9, 7])
    together = replay(board.fit, some_models(board.new, rows), standard_error=0.4)
    for row in rows:
        alone = replay(board.fit, some_models(board.new, np.array([row])), standard_error=0.4)
        own = [column for column in alone.traits if not column.startswith("full")]
        pd.testing.assert_frame_equal(
            alone.traits[own], together.traits.loc[alone.models.index, own], check_exact=True
        )


def test_models_are_asked_what_they_answered_alone(board):
    """One lacks domains, one has odd items alone, one nothing; a domain that no fit knows."""

    def thinned(name, cells):
        cells = cells[:3].copy()
        cells[0] = -1 if name in ("arc", "mmlu") else cells[0]
        cells[1, ::2] = -1
        cells[2] = -1
        return cells

    some = of(some_models(board.new, np.arange(3)), thinned)
    more = replace(
        some,
        domains={"strange": some.domains["arc"], **some.domains},
        items=pd.DataFrame(
            index=pd.MultiIndex.from_tuples(
                [("strange", f"s{k}") for k in range(100)] + list(some.items.index),
                names=["domain", "item_id"],
            )
        ),
    )
    found = replay(board.fit, more, standard_error=0.05)
    assert found.models["answered"].tolist() == [490, 445, 0]
    useful = ItemBank.of(board.fit).useful
    answered = np.hstack([np.asarray(part.array) for part in some.domains.values()]) >= 0
    assert found.models["items"].tolist() == (answered & useful).sum(axis=1).tolist()
    assert found.models["reason"].tolist() == ["items used up"] * 3
    asked = found.traits["items"].to_numpy().reshape(3, 6)
    assert asked[0, 0] == asked[0, 3] == 0
    assert found.models["rmse"].iloc[:2].max() < 1e-4  # all that is useful was asked
    assert found.models.iloc[2][["rmse", "full_overall"]].isna().all()
    assert found.models["overall_sd"].iloc[2] > 0.8
    table = found.table()
    assert list(table.index) == list(some.models.index)
    np.testing.assert_array_equal(table["items:hellaswag"], asked[:, 2])


@pytest.mark.parametrize("many", [True, False])
def test_answers_must_be_right_or_wrong(board, many):
    some = some_models(board.new, np.arange(2))
    arc = np.asarray(some.domains["arc"].array)
    if many:
        part = DomainResponses(
            da.from_array(arc.astype(np.int16)), da.from_array(np.full(arc.shape, 2, np.int16))
        )
    else:
        part = DomainResponses(da.from_array(np.where(arc > 0, 0.5, 0.0).astype(np.float32)))
    said = "'arc' has several attempts" if many else "'arc' has answers that are right in part"
    with pytest.raises(InputError, match=said):
        replay(board.fit, replace(some, domains={**some.domains, "arc": part}))


def test_options_are_refused_before_anything_is_read(board):
    with pytest.raises(InputError, match="target 'maths' is not one of"):
        replay(board.fit, None, target="maths")


def honest(found, truth):
    """RMSE of the traits against the truth, and the share within 1.96 standard errors."""
    error = found.traits["mean"].to_numpy() - truth.to_numpy().ravel()
    sd = found.traits["sd"].to_numpy()
    return np.sqrt((error**2).mean()), np.sqrt((sd**2).mean()), (np.abs(error) < 1.96 * sd).mean()


def test_borrowing_saves_items_and_errors_are_as_told(board):
    found = {
        borrow: replay(board.fit, board.new, standard_error=0.4, borrow=borrow)
        for borrow in (True, False)
    }
    items = {borrow: each.models["items"].mean() for borrow, each in found.items()}
    assert items[True] < 0.62 * items[False]
    for each in found.values():
        rmse, told, within = honest(each, board.truth)
        assert rmse == pytest.approx(told, rel=0.15)
        assert within == pytest.approx(0.95, abs=0.035)


@pytest.mark.slow
def test_design_six():
    """2,000 models are fitted, 200 others tested on 22,550 items; copies are left out."""
    simulation = simulate("six", models=2430, seed=0)
    apart = np.flatnonzero(originals(2430, 6) == np.arange(2430))
    fit = mtlirt.fit(some_models(simulation.responses, apart[:2000]))
    tested = apart[2000:2200]
    new, truth = some_models(simulation.responses, tested), simulation.truth.traits.iloc[tested]
    untied = replace(
        fit,
        representation=0.0 * fit.representation,
        domains=fit.domains.assign(uniqueness=1.0),
    )
    found = {
        "all domains together": replay(fit, new),
        "each by itself, to its own .30": replay(fit, new, borrow=False),
        "each by itself, to a mean of .30": replay(untied, new),
    }
    print("\n| | items | mean standard error | error against the truth | truth within ±1.96 |")
    print("|---|---|---|---|---|")
    items = {}
    for name, each in found.items():
        assert (each.models["mean_sd"] <= 0.3).all()
        rmse, told, within = honest(each, truth)
        items[name] = each.models["items"].mean()
        sd = each.models["mean_sd"].mean()
        print(f"| {name} | {items[name]:.1f} | {sd:.3f} | {rmse:.3f} | {within:.1%} |")
        assert rmse == pytest.approx(told, rel=0.07)
        assert within == pytest.approx(0.95, abs=0.015)
    together, own, mean = items.values()
    assert together < 0.6 * own
    assert together < 0.7 * mean
