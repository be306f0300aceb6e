"""Links of two scales: published formulas, exact recovery, brute force, and standard errors."""

import numpy as np
import pytest
from scipy.optimize import minimize

from mtlirt.irt.curves import Items, probability
from mtlirt.irt.drift import robust_link
from mtlirt.irt.linking import (
    FittedLink,
    KnownItems,
    Link,
    Nodes,
    Population,
    carried_sites,
    first_link,
    fitted_link,
    item_weights,
    mean_sigma,
)
from tests.irt.item_pairs import METHODS, TRUE, exact_pair, with_errors

STANDARD = Population(0.0, 1.0)


def linked(method, new, anchor):
    return robust_link(method, new, anchor, (STANDARD, STANDARD), 0.05)


@pytest.mark.parametrize("method", METHODS)
@pytest.mark.parametrize("link", [TRUE, Link(0.6, 2.0), Link(-1.1, 0.4), Link(1.0, 0.0)])
def test_an_exact_transform_is_recovered(method, link):
    """Also with falling curves, guessing floors and a trait that points the other way."""
    found = linked(method, *exact_pair(np.random.default_rng(1), 30, link))
    np.testing.assert_allclose(found.fitted.link, link, atol=1e-9)
    np.testing.assert_allclose(found.fitted.covariance, 0.0, atol=1e-12)
    assert not found.drifted.any()


def test_probabilities_and_covariances_of_logits_are_carried():
    rng = np.random.default_rng(2)
    new, anchor = exact_pair(rng, 9)
    theta = rng.normal(size=(5, 1))
    moved = new.carried(TRUE)
    np.testing.assert_allclose(moved.items, anchor.items, atol=1e-12)
    np.testing.assert_allclose(
        probability(TRUE.scale * theta + TRUE.shift, *moved.items),
        probability(theta, *new.items),
        atol=1e-12,
    )

    def of_logit(known, at):
        aa, ad, dd = known.covariance.T
        return at**2 * aa + 2.0 * at * ad + dd

    carried = of_logit(moved, TRUE.scale * theta + TRUE.shift)
    np.testing.assert_allclose(carried, of_logit(new, theta), rtol=1e-12)


def test_sites_are_carried():
    precision, shift = np.array([0.0, 0.5, 4.0]), np.array([0.0, -1.0, 2.0])
    moved, pull = carried_sites(precision, shift, TRUE)
    theta = np.linspace(-2.0, 2.0, 7)[:, None]
    there = TRUE.scale * theta + TRUE.shift
    before = -0.5 * precision * theta**2 + shift * theta
    after = -0.5 * moved * there**2 + pull * there
    np.testing.assert_allclose(np.diff(after, axis=0), np.diff(before, axis=0), atol=1e-12)


def test_mean_sigma_is_that_of_kolen_and_brennan():
    """Equations 6.8a and 6.9a (2014), by hand."""
    new, anchor = np.array([-1.0, 0.0, 1.0, 2.0]), np.array([-2.5, -0.5, 1.5, 3.5])
    assert mean_sigma(new, anchor) == pytest.approx((2.0, -0.5))
    assert mean_sigma(new, anchor, np.array([1.0, 0.0, 2.0, 0.0])) == pytest.approx((2.0, -0.5))
    shifted = anchor + np.array([0.4, 0.0, 0.0, 0.0])
    scale = np.std(shifted) / np.std(new)
    expected = (scale, shifted.mean() - scale * new.mean())
    assert mean_sigma(new, shifted) == pytest.approx(expected)
    assert mean_sigma(np.ones(3), anchor[:3]) == pytest.approx((1.0, -1.5))


def test_the_start_is_near_and_knows_the_direction():
    new, anchor = exact_pair(np.random.default_rng(3), 20, Link(-1.3, 0.5))
    np.testing.assert_allclose(first_link(new, anchor), (-1.3, 0.5), atol=1e-9)
    flat = KnownItems(Items.plain(np.zeros(4), np.arange(4.0)), np.ones((4, 3)))
    assert first_link(flat, flat) == (1.0, 0.0)


@pytest.mark.parametrize("method", METHODS)
def test_the_criterion_is_least_by_brute_force_too(method):
    rng = np.random.default_rng(4)
    new, anchor = (with_errors(rng, part) for part in exact_pair(rng, 25))
    nodes = Nodes.of((STANDARD, STANDARD))
    start = first_link(new, anchor)
    weights = item_weights(method, new, anchor, nodes, start)

    def criterion(point):
        """SLcrit and Hcrit of Kolen & Brennan (2014), weighted: written out item by item."""
        scale, shift = point
        test, items = np.zeros(len(nodes.at)), 0.0
        columns = zip(*new.items, *anchor.items, weights, strict=True)
        for a, d, c, a_there, d_there, c_there, weight in columns:
            carried = c + (1 - c) / (1 + np.exp(-(a / scale * nodes.at + d - a * shift / scale)))
            there = c_there + (1 - c_there) / (1 + np.exp(-(a_there * nodes.at + d_there)))
            test += weight * (carried - there)
            items += weight * (nodes.weight @ (carried - there) ** 2)
        return items if method == "haebara" else nodes.weight @ test**2

    options = {"xatol": 1e-10, "fatol": 1e-18, "maxiter": 10_000, "maxfev": 10_000}
    found = minimize(criterion, [1.0, 0.0], method="Nelder-Mead", options=options)
    fitted = fitted_link(method, new, anchor, nodes, start)
    np.testing.assert_allclose(fitted.link, found.x, atol=1e-7)


@pytest.mark.parametrize("method", METHODS)
def test_the_jackknife_is_that_of_leaving_items_out(method):
    rng = np.random.default_rng(5)
    new, anchor = (with_errors(rng, part) for part in exact_pair(rng, 40))
    nodes = Nodes.of((STANDARD, STANDARD))
    fitted = fitted_link(method, new, anchor, nodes, TRUE)
    without = []
    for j in range(40):
        others = np.arange(40) != j
        pair = new.some(others), anchor.some(others)
        without.append(fitted_link(method, *pair, nodes, TRUE).link)
    moved = np.array(without) - np.mean(without, axis=0)
    np.testing.assert_allclose(fitted.covariance, 39 / 40 * moved.T @ moved, rtol=0.1, atol=1e-5)


@pytest.mark.parametrize("method", METHODS)
def test_standard_errors_are_those_of_a_simulation(method):
    """Root mean square of the standard errors beside the spread of 120 links: within a fifth."""
    rng = np.random.default_rng(6)
    new, anchor = exact_pair(rng, 50)
    links, variances = [], []
    for _ in range(120):
        found = linked(method, with_errors(rng, new), with_errors(rng, anchor))
        links.append(found.fitted.link)
        variances.append(np.diag(found.fitted.covariance))
    spread = np.std(links, axis=0)
    np.testing.assert_allclose(np.sqrt(np.mean(variances, axis=0)), spread, rtol=0.2)
    np.testing.assert_allclose(np.mean(links, axis=0), TRUE, atol=0.02)


def test_the_variance_of_a_trait_is_the_delta_method_s():
    found = FittedLink(Link(2.0, 1.0), np.array([[0.04, 0.01], [0.01, 0.09]]))
    theta = np.array([-1.0, 0.0, 3.0])
    expected = theta**2 * 0.04 + 2 * theta * 0.01 + 0.09
    np.testing.assert_allclose(found.trait_variance(2.0 * theta + 1.0), expected)
