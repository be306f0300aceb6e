"""Keys of items and the scree."""

import numpy as np
import pytest

from mtlirt.diagnostics.keys import item_sums, wrongly_keyed
from mtlirt.diagnostics.scree import scree
from mtlirt.irt.blocks import response_block
from mtlirt.irt.curves import Items


def test_a_trait_correlation_is_that_of_answers_and_traits():
    rng = np.random.default_rng(2)
    items = Items.plain(np.array([1.0, -1.0, 0.0]), np.zeros(3))
    traits = rng.normal(size=300)
    block = rng.integers(-1, 2, (300, 3)).astype(np.int8)
    found = item_sums(response_block(block), items, traits, np.zeros(300))
    for j in range(3):
        seen = block[:, j] >= 0
        expected = np.corrcoef(block[seen, j], traits[seen])[0, 1]
        assert found.correlation[j] == pytest.approx(expected)
    halves = [
        item_sums(response_block(block[rows]), items, traits[rows], np.zeros(150))
        for rows in (slice(0, 150), slice(150, 300))
    ]
    np.testing.assert_allclose(halves[0].added(halves[1]).correlation, found.correlation)


def test_wrong_keys_are_told_in_coherent_domains_only():
    rng = np.random.default_rng(3)
    trait = rng.normal(size=400)

    def judged(slope):
        p = 1 / (1 + np.exp(-np.multiply.outer(trait, slope)))
        block = (rng.random(p.shape) < p).astype(np.int8)
        items = Items.plain(slope, np.zeros(len(slope)))
        sums = item_sums(response_block(block), items, trait, np.full(400, 0.01))
        return wrongly_keyed(sums, slope, np.zeros(len(slope), bool), 0.05)

    slope = np.full(20, 1.2)
    assert not judged(slope).any()
    slope[3] = -1.2
    assert np.flatnonzero(judged(slope)).tolist() == [3]
    slope[3] = -0.1  # negative, but flat
    assert not judged(slope).any()
    slope[:6] = -1.2  # no coherent domain
    assert not judged(slope).any()


def test_the_scree_is_that_of_the_traits_correlations(planted):
    fit = planted[0]
    table = scree(fit)
    correlation = float((fit.representation.to_numpy() @ fit.representation.to_numpy().T)[0, 1])
    np.testing.assert_allclose(table["eigenvalue"], [1 + correlation, 1 - correlation])
    assert table["cumulative"].iloc[-1] == pytest.approx(1.0)
