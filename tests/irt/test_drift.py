"""Items that drifted: how many are found, and how many are blamed wrongly."""

import numpy as np
import pytest

from mtlirt.irt.curves import Items
from mtlirt.irt.drift import adjusted, robust_link
from mtlirt.irt.linking import KnownItems, Link, Population, differences, matrices, spread_of
from tests.irt.item_pairs import METHODS, TRUE, exact_pair, with_errors

STANDARD = Population(0.0, 1.0)
REPEATS = 60


def drawn(seed, items, drifted, size):
    rng = np.random.default_rng(seed)
    new, anchor = (with_errors(rng, part) for part in exact_pair(rng, items))
    which = np.isin(np.arange(items), rng.permutation(items)[:drifted])
    slope, intercept, guessing = new.items
    moved = Items(slope, intercept + np.where(which, size, 0.0), guessing)
    return KnownItems(moved, new.covariance), anchor, which


def linked(method, new, anchor):
    return robust_link(method, new, anchor, (STANDARD, STANDARD), 0.05)


@pytest.mark.parametrize("method", METHODS)
def test_false_alarms_are_few(method):
    """Without drift: any alarm in at most 15 % of the links of 40 items, of all items 0.6 %."""
    blamed = []
    for seed in range(REPEATS):
        new, anchor, _ = drawn(seed, 40, 0, 0.0)
        blamed.append(linked(method, new, anchor).drifted.sum())
    any_alarm, of_all = np.mean(np.array(blamed) > 0), np.mean(blamed) / 40
    print(f"\n{method}: any false alarm in {any_alarm:.1%} of links, {of_all:.2%} of all items")
    assert any_alarm <= 0.15
    assert of_all <= 0.006


@pytest.mark.parametrize("method", METHODS)
def test_drifted_items_are_found_and_do_not_move_the_link(method):
    """8 of 40 items a whole logit easier, all to one side: 70 % are found."""
    hits, blamed, links = 0, 0, []
    for seed in range(REPEATS):
        new, anchor, which = drawn(seed, 40, 8, 1.0)
        found = linked(method, new, anchor)
        hits += (found.drifted & which).sum()
        blamed += (found.drifted & ~which).sum()
        links.append(found.fitted.link)
    power, wrong = hits / (8 * REPEATS), blamed / (hits + blamed)
    print(f"\n{method}: {power:.1%} of drifted items found, {wrong:.1%} of those found had not")
    assert power >= 0.7
    assert wrong <= 0.08
    np.testing.assert_allclose(np.mean(links, axis=0), TRUE, atol=0.05)


def test_a_single_item_among_exact_ones_is_found():
    rng = np.random.default_rng(1)
    new, anchor = exact_pair(rng, 12)
    slope, intercept, guessing = new.items
    there = np.arange(12) == 4
    moved = KnownItems(Items(slope, intercept + there, guessing), new.covariance)
    found = linked("haebara", moved, anchor)
    np.testing.assert_array_equal(found.drifted, there)
    np.testing.assert_allclose(found.fitted.link, TRUE, atol=1e-9)
    np.testing.assert_allclose(found.difference[~there], 0.0, atol=1e-8)
    assert found.difference[there, 1] == pytest.approx(1.0)


def test_half_of_the_items_are_kept_at_least():
    rng = np.random.default_rng(2)
    new, anchor = exact_pair(rng, 10, Link(1.0, 0.0))
    slope, intercept, guessing = new.items
    moved = KnownItems(
        Items(slope, intercept + rng.normal(0.0, 30.0, 10), guessing), new.covariance
    )
    assert linked("haebara", moved, anchor).drifted.sum() <= 5


def test_scale_of_the_differences():
    """1 where covariances say what the errors are, less where they say too much."""
    rng = np.random.default_rng(3)
    new, anchor = exact_pair(rng, 400)
    wider = (
        KnownItems(new.items, 9.0 * new.covariance),
        anchor._replace(covariance=9.0 * anchor.covariance),
    )
    apart = [with_errors(rng, part) for part in (new, anchor)]
    assert linked("haebara", *apart).scale == pytest.approx(1.0, abs=0.12)
    known = [one._replace(items=other.items) for one, other in zip(wider, apart, strict=True)]
    assert linked("haebara", *known).scale == pytest.approx(1.0 / 3.0, abs=0.04)


@pytest.mark.parametrize("share", [0.0, 0.5, 1.0])
def test_fits_that_share_models_differ_by_less(share):
    """Estimates of two fits that have a share of the first one's models in common.

    The anchor's information on an item comes from such models and others, the new fit's from those
    and as much again; every part brings an estimate of its own.
    """
    rng = np.random.default_rng(5)
    _, known = exact_pair(rng, 600, Link(1.0, 0.0))
    whole = np.linalg.inv(matrices(known.covariance))
    parts = [size * whole for size in (share, 1.0 - share, 2.0 - share) if size > 0.0]
    pulls = []
    for part in parts:
        root = np.linalg.cholesky(part)
        pulls.append(np.einsum("jkl,jl->jk", root, rng.normal(size=(600, 2))))
    sides = (
        ([0, -1], [0, 1]) if 0.0 < share < 1.0 else ([-1], [0]) if share == 0.0 else ([0, 1], [0])
    )
    pair = []
    for which in sides:
        covariance = np.linalg.inv(sum(parts[k] for k in which))
        error = np.einsum("jkl,jl->jk", covariance, sum(pulls[k] for k in which))
        slope, intercept, guessing = known.items
        items = Items(slope + error[:, 0], intercept + error[:, 1], guessing)
        flat = np.stack([covariance[:, 0, 0], covariance[:, 0, 1], covariance[:, 1, 1]], axis=1)
        pair.append(KnownItems(items, flat))
    spread = spread_of(*pair, share)
    both = np.einsum("jkl,jl->jk", spread.whitener, differences(*pair))
    np.testing.assert_allclose(np.cov(both.T), np.eye(2), atol=0.12)
    average = np.einsum("jkl,jl->jk", spread.share, differences(*pair)) + np.stack(
        pair[1].items[:2], axis=1
    )
    errors = average - np.stack(known.items[:2], axis=1)
    correlation = np.corrcoef(np.hstack([errors, differences(*pair)]).T)[:2, 2:]
    np.testing.assert_allclose(correlation, 0.0, atol=0.12)


def test_adjusted_probabilities_by_hand():
    p = np.array([0.01, np.nan, 0.04, 0.03, 0.5])
    np.testing.assert_allclose(adjusted(p), [0.04, np.nan, 0.16 / 3, 0.16 / 3, 0.5])
    assert np.isnan(adjusted(np.full(3, np.nan))).all()
