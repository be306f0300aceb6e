"""Ridge on blocks against refits without each model, and against scikit-learn."""

import numpy as np
import pytest
from sklearn.linear_model import Ridge, RidgeCV

from mtlirt.distill.reconstruction.ridge import PENALTIES, block_ridge

MIXES = np.array([(1.0, 0.0), (1.0, 0.3), (1.0, 2.0), (0.0, 1.0)])


def problem(models, seed=0):
    """Two correlated blocks; the targets need the first, both, the second, and none."""
    rng = np.random.default_rng(seed)
    first = rng.normal(2.0, 3.0, (models, 4))
    second = rng.random((models, 30)) + 0.1 * first[:, :1]
    a, b = first @ rng.normal(size=(4, 1)), second @ rng.normal(size=(30, 1))
    signal = np.concatenate([a, a / a.std() + b / b.std(), b, 0.0 * a], axis=1)
    return first, second, signal + 0.3 * signal.std() * rng.normal(size=signal.shape) + 5.0


def left_out(features, target, penalty):
    """Predictions of each model by a ridge fitted without it."""
    found = []
    for i in range(len(target)):
        others = np.arange(len(target)) != i
        centre, mean = features[others].mean(axis=0), target[others].mean()
        x, y = features[others] - centre, target[others] - mean
        weights = np.linalg.solve(x.T @ x + penalty * np.eye(x.shape[1]), x.T @ y)
        found.append(mean + (features[i] - centre) @ weights)
    return np.array(found)


@pytest.mark.parametrize("models", [60, 25])  # more models than features, and fewer
def test_models_are_left_out_exactly(models):
    *blocks, targets = problem(models)
    fit = block_ridge(blocks, targets, MIXES)
    for k, penalty in enumerate(fit.penalties):
        scaled = [scale * block for scale, block in zip(fit.scales[:, k], blocks, strict=True)]
        features = np.concatenate(scaled, axis=1)
        expected = left_out(features, targets[:, k], penalty)
        np.testing.assert_allclose(fit.left_out[:, k], expected, rtol=1e-7)
        ridge = Ridge(alpha=penalty, solver="svd").fit(features, targets[:, k])
        predicted = fit.constant[k] + np.concatenate(blocks, axis=1) @ fit.coefficients[:, k]
        np.testing.assert_allclose(predicted, ridge.predict(features), rtol=1e-8)
        own = ridge.coef_ * np.repeat(fit.scales[:, k], [4, 30])
        np.testing.assert_allclose(fit.coefficients[:, k], own, rtol=1e-6, atol=1e-10)


def test_the_best_mix_and_penalty_are_found():
    *blocks, targets = problem(25)
    fit = block_ridge(blocks, targets, MIXES)
    units = [np.sqrt((b - b.mean(axis=0)).var(axis=0).sum()) for b in blocks]
    for k in range(targets.shape[1]):
        errors = {}
        for m, mix in enumerate(MIXES):
            parts = [w / unit * b for w, unit, b in zip(mix, units, blocks, strict=True)]
            features = np.concatenate(parts, axis=1)
            for penalty in 25 * PENALTIES[8::6]:
                residuals = targets[:, k] - left_out(features, targets[:, k], penalty)
                errors[m, penalty] = (residuals**2).mean()
        best = ((targets[:, k] - fit.left_out[:, k]) ** 2).mean()
        assert best <= min(errors.values()) * (1 + 1e-9)
        assert best > 0.9 * min(errors.values())
    assert fit.scales[1, 0] * units[1] < 1.0  # the first target needs the first block
    assert fit.scales[1, 2] * units[1] >= 1.0  # the third target needs the second


@pytest.mark.parametrize("models", [60, 25])
def test_one_block_is_the_ridge_of_scikit_learn(models):
    _, block, targets = problem(models)
    unit = np.sqrt((block - block.mean(axis=0)).var(axis=0).sum())
    fit = block_ridge([block], targets, np.ones((1, 1)))
    alphas = models * PENALTIES
    peer = RidgeCV(alphas, alpha_per_target=True, gcv_mode="svd").fit(block / unit, targets)
    np.testing.assert_allclose(fit.penalties, peer.alpha_)
    predicted = fit.constant + block @ fit.coefficients
    np.testing.assert_allclose(predicted, peer.predict(block / unit), rtol=1e-7)


def test_ends_leave_the_other_block_out():
    first, second, targets = problem(50)
    both = block_ridge([first, second], targets, np.array([(0.0, 1.0)]))
    alone = block_ridge([second], targets, np.ones((1, 1)))
    assert not both.coefficients[:4].any()
    np.testing.assert_allclose(both.coefficients[4:], alone.coefficients)
    np.testing.assert_allclose(both.left_out, alone.left_out)


def test_features_that_tell_nothing():
    _, _, targets = problem(30)
    fit = block_ridge([np.ones((30, 3))], targets, np.ones((1, 1)))
    np.testing.assert_allclose(fit.constant, targets.mean(axis=0))
    others = (targets.sum(axis=0) - targets) / 29
    np.testing.assert_allclose(fit.left_out, others)
