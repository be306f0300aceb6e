"""Responses without any trait behind them must not separate models."""

import dask.array as da
import numpy as np
import pytest

from mtlirt.engine.fit import fit


def shuffled_columns(models, items, seed):
    """Real-looking shares of correct answers, each column in random order: no trait at all."""
    rng = np.random.default_rng(seed)
    share = rng.beta(2, 2, items)
    return (rng.random((models, items)) < share).astype(np.int8)


def separated_pairs(fitted):
    """Share of pairs of models whose difference is significant at 95 %."""
    return separated(fitted.models["overall"].to_numpy(), fitted.models["overall_sd"].to_numpy())


def separated(mean, sd):
    i, j = np.triu_indices(len(mean), 1)
    return np.mean(np.abs(mean[i] - mean[j]) > 1.96 * np.hypot(sd[i], sd[j]))


@pytest.mark.parametrize(("models", "items"), [(40, 200), (24, 12)])
def test_noise_separates_no_models(models, items):
    shares = [
        separated_pairs(fit({"noise": da.from_array(shuffled_columns(models, items, seed))}))
        for seed in range(20)
    ]
    assert np.mean(shares) <= 0.05


def test_a_domain_of_noise_beside_a_real_one_borrows_nothing_and_lends_nothing():
    rng = np.random.default_rng(5)
    trait = rng.normal(size=300)
    eta = trait[:, None] * rng.lognormal(0, 0.3, 60) + rng.normal(size=60)
    real = (rng.random((300, 60)) < 1 / (1 + np.exp(-eta))).astype(np.int8)
    both = {"noise": shuffled_columns(300, 60, 6), "real": real}
    fitted = fit({name: da.from_array(block) for name, block in both.items()})
    alone = fit({"real": da.from_array(real)})
    noise = fitted.traits.xs("noise", level="domain")
    assert separated(noise["mean"].to_numpy(), noise["sd"].to_numpy()) <= 0.05
    found = fitted.traits.xs("real", level="domain")["mean"]
    np.testing.assert_allclose(found, alone.traits["mean"].to_numpy(), atol=0.03)


def test_weak_but_real_traits_survive():
    rng = np.random.default_rng(8)
    trait = rng.normal(size=40)
    eta = 0.5 * trait[:, None] + rng.normal(size=200)
    responses = (rng.random((40, 200)) < 1 / (1 + np.exp(-eta))).astype(np.int8)
    fitted = fit({"weak": da.from_array(responses)})
    assert not fitted.domains["flat"].any()
    assert np.corrcoef(fitted.models["overall"], trait)[0, 1] > 0.85
    assert separated_pairs(fitted) > 0.3
