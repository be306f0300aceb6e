"""The residuals' largest eigenvalue tells a second dimension from noise."""

import numpy as np
import pytest

from mtlirt.irt.blocks import ResponseBlock, response_block
from mtlirt.irt.cells import standard_residuals
from mtlirt.irt.curves import Items, probability
from mtlirt.irt.residuals import second_dimension

MODELS, ITEMS = 400, 60


@pytest.fixture(scope="module")
def truth():
    rng = np.random.default_rng(1)
    items = Items(rng.lognormal(0, 0.3, ITEMS), rng.normal(size=ITEMS), rng.choice([0, 0.2], ITEMS))
    return items, rng.normal(size=MODELS), rng.random((MODELS, ITEMS))


def drawn(items, traits, uniform):
    return (uniform < probability(traits[:, None], *items)).astype(np.int8)


def test_it_is_the_largest_eigenvalue_over_that_of_noise(truth):
    items, traits, uniform = truth
    responses = drawn(items, traits, uniform)
    residuals = responses - probability(traits[:, None], *items)
    scaled = residuals / np.sqrt((residuals**2).sum(axis=0))
    largest = np.linalg.eigvalsh(scaled.T @ scaled)[-1]
    found = second_dimension(response_block(responses), items, traits)
    noise = (1 + np.sqrt(ITEMS / MODELS)) ** 2
    np.testing.assert_allclose(found.ratio, largest / noise, rtol=1e-9)
    np.testing.assert_allclose(found.correlation, (largest - noise) / (ITEMS - 1), rtol=1e-6)


@pytest.mark.parametrize("missing", [0.0, 0.5])
def test_one_trait_leaves_noise_and_two_do_not(truth, missing):
    items, traits, uniform = truth
    rng = np.random.default_rng(2)
    gone = rng.random((MODELS, ITEMS)) < missing
    noise = np.where(gone, -1, drawn(items, traits, uniform)).astype(np.int8)
    assert 0.85 < second_dimension(response_block(noise), items, traits).ratio < 1.1
    other = np.where(np.arange(ITEMS) < ITEMS // 3, rng.normal(size=(MODELS, 1)), traits[:, None])
    torn = (uniform < probability(other, *items)).astype(np.int8)
    torn = np.where(gone, -1, torn).astype(np.int8)
    assert second_dimension(response_block(torn), items, traits).ratio > 1.5


def test_the_correlation_is_that_of_items_which_share_a_second_trait():
    rng = np.random.default_rng(3)
    models, count, share = 20_000, 12, 0.1
    items = Items.plain(np.zeros(count), np.zeros(count))
    common = rng.normal(size=(models, 1))
    latent = np.sqrt(share) * common + np.sqrt(1 - share) * rng.normal(size=(models, count))
    responses = (latent > 0).astype(np.int8)
    found = second_dimension(response_block(responses), items, np.zeros(models))
    of_signs = 2 / np.pi * np.arcsin(share)  # correlation of the signs of normals that share 10 %
    np.testing.assert_allclose(found.correlation, of_signs, atol=0.005)


def test_weighted_cells_of_one_attempt_are_plain_responses(truth):
    items, traits, uniform = truth
    responses = np.where(uniform[::-1] < 0.2, -1, drawn(items, traits, uniform)).astype(np.int8)
    there = (responses >= 0).astype(np.float32)
    weighted = ResponseBlock(np.maximum(responses, 0).astype(np.float32), there)
    plain = second_dimension(response_block(responses), items, traits)
    np.testing.assert_allclose(second_dimension(weighted, items, traits), plain, rtol=1e-12)


def test_items_that_all_pass_as_expected_count_for_nothing():
    items = Items.plain(np.array([0.0, 1.0, 1.0]), np.array([800.0, 0.0, 0.0]))
    responses = np.array([[1, 1, 0], [1, 0, 1], [1, 1, 1], [1, 0, 0]], np.int8)
    found = second_dimension(response_block(responses), items, np.zeros(4))
    np.testing.assert_allclose(found.ratio, 1.0 / (1 + np.sqrt(3 / 4)) ** 2)


@pytest.mark.parametrize("kind", ["single", "missing", "trials"])
def test_standard_residuals_are_what_the_responses_exceed_their_expectation_by(truth, kind):
    items, traits, uniform = truth
    expected = probability(traits[:, None], *items)
    there = np.random.default_rng(5).random(uniform.shape) < (1.0 if kind == "single" else 0.7)
    attempts = there * (3.0 if kind == "trials" else 1.0)
    successes = there * (uniform < expected) * (2.0 if kind == "trials" else 1.0)
    there[:, 0] = False
    attempts[:, 0] = successes[:, 0] = 0.0
    block = (
        ResponseBlock(successes.astype(np.float32), attempts.astype(np.float32))
        if kind == "trials"
        else response_block(np.where(there, successes, -1).astype(np.int8))
    )
    residuals = successes - attempts * expected
    length = np.sqrt((residuals**2).sum(axis=0))
    length[0] = 1.0
    found = standard_residuals(block.responses, block.weight, *items, traits)
    np.testing.assert_allclose(found, residuals / length, atol=1e-12)
    assert (found[:, 0] == 0.0).all()
