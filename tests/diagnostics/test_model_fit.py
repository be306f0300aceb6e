"""Fit of models against closed forms and enumeration."""

import numpy as np
import pytest
from scipy.special import expit, logit
from scipy.stats import binom, norm

from mtlirt.diagnostics.model_fit import chance_tail, corrected, model_sums, relation
from mtlirt.diagnostics.tails import adjusted, lower_tail, upper_tail
from mtlirt.irt.blocks import response_block
from mtlirt.irt.curves import Items

RNG = np.random.default_rng(2)
ITEMS = Items(RNG.uniform(0.5, 2, 25), RNG.normal(size=25), np.repeat([0.0, 0.2], [15, 10]))
TRAITS = np.array([-1.0, 0.3, 1.4])


def answers(seed=0, missing=0.2):
    rng = np.random.default_rng(seed)
    p = ITEMS.guessing + (1 - ITEMS.guessing) * expit(
        TRAITS[:, None] * ITEMS.slope + ITEMS.intercept
    )
    cells = (rng.random(p.shape) < p).astype(np.int8)
    cells[rng.random(p.shape) < missing] = -1
    return cells, p


def test_lz_is_that_of_snijders():
    cells, p = answers()
    found = corrected(model_sums(response_block(cells), ITEMS, TRAITS))
    for i in range(3):
        seen = cells[i] >= 0
        y, q, c = cells[i][seen], p[i][seen], ITEMS.guessing[seen]
        slope = ITEMS.slope[seen] * (q - c) * (1 - q) / (1 - c)  # dP/dtheta
        w, r = logit(q), slope / (q * (1 - q))
        cn = (slope * w).sum() / (slope * r).sum()
        free = w - cn * r
        r0 = -((y - q) * r).sum()
        value = ((y - q) * w).sum() + cn * r0
        variance = (free**2 * q * (1 - q)).sum()
        assert found.standardised[i] == pytest.approx(value / np.sqrt(variance))
        third = (free**3 * q * (1 - q) * (1 - 2 * q)).sum()
        assert found.third[i] == pytest.approx(third)


def test_lz_is_null_where_all_items_are_alike():
    items = Items.plain(np.ones(10), np.zeros(10))
    cells = np.tile([0, 1], (1, 5)).astype(np.int8)
    found = corrected(model_sums(response_block(cells), items, np.array([0.7])))
    assert np.isnan(found.standardised).all()
    assert np.isnan(found.p).all()


def test_sums_do_not_depend_on_items_order_and_ignore_missing_cells():
    cells, _ = answers()
    order = np.random.default_rng(1).permutation(25)
    shuffled = Items(*(part[order] for part in ITEMS))
    one = model_sums(response_block(cells), ITEMS, TRAITS)
    other = model_sums(response_block(cells[:, order]), shuffled, TRAITS)
    np.testing.assert_allclose(np.array(one), np.array(other), rtol=1e-10)
    assert one.answered.tolist() == (cells >= 0).sum(axis=1).tolist()


def test_answers_without_regard_to_the_item():
    rng = np.random.default_rng(8)
    items = Items.plain(np.full(200, 1.0), rng.normal(0, 1.5, 200))
    traits = np.zeros(400)
    careless = (rng.random((400, 200)) < 0.5).astype(np.int8)
    found = relation(model_sums(response_block(careless), items, traits))
    z = found.observed / np.sqrt(found.variance)
    assert abs(z.mean()) < 0.15
    assert z.std() == pytest.approx(1.0, abs=0.1)
    assert found.absent.mean() == pytest.approx(norm.cdf(1.645), abs=0.04)
    careful = (rng.random((400, 200)) < expit(items.intercept)).astype(np.int8)
    found = relation(model_sums(response_block(careful), items, traits))
    assert not found.absent.any()
    assert (found.observed - found.expected).mean() == pytest.approx(0.0, abs=2.0)


def test_below_chance_is_a_binomial_tail():
    items = Items(np.ones(40), np.zeros(40), np.full(40, 0.25))
    cells = np.zeros((2, 40), np.int8)
    cells[0, :3] = cells[1, :12] = 1
    found = chance_tail(model_sums(response_block(cells), items, np.zeros(2)))
    np.testing.assert_allclose(found, binom.cdf([3, 12], 40, 0.25))
    plain = Items.plain(np.ones(40), np.zeros(40))
    assert np.isnan(chance_tail(model_sums(response_block(cells), plain, np.zeros(2)))).all()


def test_tails_of_a_skewed_sum():
    # 400 answers with a chance of .01: mean 4, so P(8 or more) is far above the normal tail
    n, p = 400, 0.01
    variance, third = n * p * (1 - p), n * p * (1 - p) * (1 - 2 * p)
    at = np.array([8.0 - 0.5 - n * p])
    exact = binom.sf(7, n, p)
    assert upper_tail(at, np.array([variance]), np.array([third]))[0] == pytest.approx(
        exact, rel=0.1
    )
    assert norm.sf(at[0] / np.sqrt(variance)) < 0.8 * exact
    low = lower_tail(-at, np.array([variance]), np.array([-third]))
    np.testing.assert_allclose(low, upper_tail(at, np.array([variance]), np.array([third])))


def test_adjusted_p_values_leave_out_null_ones():
    p = np.array([0.01, np.nan, 0.02, 0.3])
    np.testing.assert_allclose(adjusted(p), [0.03, np.nan, 0.03, 0.3])
    assert np.isnan(adjusted(np.array([np.nan]))).all()
