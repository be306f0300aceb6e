"""The sine median against direct minimisation, kinks and symmetries."""

import numpy as np
import pytest
from scipy.optimize import minimize

from mtlirt.irt.median import sine_median


def total(general, traits, strengths=1.0):
    unit = traits / np.linalg.norm(traits, axis=0)
    cosines = general @ unit / np.linalg.norm(general)
    return (strengths * np.sqrt(np.clip(1 - cosines**2, 0, None))).sum()


def traits_around(seed, domains, spread, models=40):
    rng = np.random.default_rng(seed)
    traits = rng.normal(size=(models, 1)) + spread * rng.normal(size=(models, domains))
    return traits - traits.mean(axis=0)


@pytest.mark.parametrize("seed", range(4))
@pytest.mark.parametrize("weighted", [False, True])
def test_no_direction_is_better(seed, weighted):
    traits = traits_around(seed, 9, 0.8)
    strengths = np.random.default_rng(seed).uniform(0.5, 2, 9) if weighted else np.ones(9)
    found = sine_median(traits, strengths if weighted else None)
    reached = total(found.general, traits, strengths)
    rng = np.random.default_rng(seed + 10)
    for _ in range(5):
        start = traits @ rng.uniform(0, 1, 9)
        other = minimize(total, start, args=(traits, strengths), method="BFGS")
        assert reached <= other.fun + 1e-6


def test_norm_sign_weights_and_cosines():
    traits = traits_around(3, 6, 0.5) @ np.diag([1, 1, 1, 1, -1, 5.0])
    found = sine_median(traits)
    np.testing.assert_allclose(np.linalg.norm(found.general), np.sqrt(40))
    np.testing.assert_allclose(found.general.mean(), 0, atol=1e-12)
    np.testing.assert_allclose(traits @ found.weights, found.general, atol=1e-10)
    unit = traits / np.linalg.norm(traits, axis=0)
    np.testing.assert_allclose(found.cosines, found.general @ unit / np.sqrt(40))
    assert found.cosines.sum() > 0
    assert found.cosines[4] < 0


def test_it_lies_at_a_trait_that_most_share():
    rng = np.random.default_rng(0)
    one = rng.normal(size=30)
    traits = np.column_stack([one, one, one, rng.normal(size=(30, 2))])
    traits -= traits.mean(axis=0)
    np.testing.assert_allclose(sine_median(traits).cosines[:3], 1)


def test_two_traits_have_one_of_them_as_median():
    traits = traits_around(5, 2, 0.8)
    assert np.isclose(np.abs(sine_median(traits).cosines), 1).any()


def test_empty_traits_have_no_say():
    traits = traits_around(1, 4, 0.5)
    with_empty = np.column_stack([traits[:, :2], np.zeros(40), traits[:, 2:]])
    found, plain = sine_median(with_empty), sine_median(traits)
    np.testing.assert_allclose(found.general, plain.general)
    assert found.weights[2] == 0
    assert found.cosines[2] == 0
    nothing = sine_median(np.zeros((5, 2)))
    assert not nothing.general.any()
