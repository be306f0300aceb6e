"""The sine median against brute force and its known cases."""

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from scipy.optimize import minimize

from mtlirt.simulate.median import sine_median


def sum_of_sines(direction, traits):
    cosine = direction @ traits / np.linalg.norm(direction) / np.linalg.norm(traits, axis=0)
    return np.sqrt(np.clip(1 - cosine**2, 0, None)).sum()


@pytest.mark.parametrize("seed", range(3))
def test_no_direction_that_a_search_finds_is_better(seed):
    rng = np.random.default_rng(seed)
    traits = rng.normal(size=(12, 1)) + rng.normal(size=(12, 5))
    best = sum_of_sines(sine_median(traits), traits)
    starts = [traits.sum(axis=1), *traits.T, *rng.normal(size=(2, 12))]
    found = min(minimize(sum_of_sines, start, args=traits, tol=1e-9).fun for start in starts)
    assert best <= found + 1e-6


def test_in_the_plane_it_is_the_best_of_all_angles():
    angles = np.radians([0, 10, 25, 70, 100])
    traits = np.array([np.cos(angles), np.sin(angles)])
    turns = np.linspace(0, np.pi, 2001)
    every = np.array([np.cos(turns), np.sin(turns)])
    least = min(sum_of_sines(direction, traits) for direction in every.T)
    assert sum_of_sines(sine_median(traits), traits) <= least + 1e-9


def test_of_equal_traits_it_is_that_trait():
    trait = np.linspace(-1, 1, 10)
    median = sine_median(np.column_stack([trait, 2 * trait, 3 * trait]))
    np.testing.assert_allclose(median, trait * np.sqrt(10) / np.linalg.norm(trait), atol=1e-12)


def test_a_minority_far_away_does_not_move_it():
    rng = np.random.default_rng(0)
    trait, other = rng.normal(size=(2, 50))
    median = sine_median(np.column_stack([trait, trait, trait, other]))
    np.testing.assert_allclose(median, trait * np.sqrt(50) / np.linalg.norm(trait), atol=1e-6)


@settings(max_examples=30)
@given(seed=st.integers(0, 10**6), flips=st.lists(st.sampled_from([-1, 1]), min_size=4, max_size=4))
def test_signs_of_columns_decide_only_its_sign(seed, flips):
    traits = np.random.default_rng(seed).normal(size=(10, 4)) + np.arange(10)[:, None]
    one, other = sine_median(traits), sine_median(traits * flips)
    np.testing.assert_allclose(one @ one, 10)
    assert sum_of_sines(one, traits) == pytest.approx(sum_of_sines(other, traits), abs=1e-9)
    assert (one @ traits / np.linalg.norm(traits, axis=0)).sum() >= 0
