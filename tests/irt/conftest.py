"""Brute force for the numerics: dense integrals and dense normal algebra."""

import numpy as np
import pytest
from scipy.optimize import brentq
from scipy.special import expit, logsumexp

from mtlirt.irt import traits
from mtlirt.irt.blocks import response_block
from mtlirt.irt.curves import Items, item_reach, shared_curve, trait_grid


def log_density(theta, right, attempts, items, mean, variance):
    """log N(theta; mean, variance) + right a theta - attempts log(1 + exp(a theta + d))."""
    eta = np.multiply.outer(theta, items.slope) + items.intercept
    likelihood = theta * (right @ items.slope) - np.logaddexp(0.0, eta) @ attempts
    prior = -0.5 * (theta - mean) ** 2 / variance - 0.5 * np.log(2 * np.pi * variance)
    return likelihood + prior


class Dense:
    """One trait's posterior on a dense grid from peak to exp(-45) of it, trapezoid rule."""

    def __init__(self, right, attempts, items, mean, variance, points):
        right, attempts = np.asarray(right, float), np.asarray(attempts, float)
        arguments = (right, attempts, items, mean, variance)

        def slope(theta):
            p = expit(items.slope * theta + items.intercept)
            return items.slope @ (right - attempts * p) - (theta - mean) / variance

        reach = 1.0 + variance * (np.abs(items.slope) @ attempts)
        self.mode = brentq(slope, mean - reach, mean + reach, xtol=1e-14, rtol=1e-14)
        peak = log_density(self.mode, *arguments)
        far = np.sqrt(100.0 * variance)

        def below(theta):
            return log_density(theta, *arguments) - peak + 45.0

        left = brentq(below, self.mode - far, self.mode)
        right_end = brentq(below, self.mode, self.mode + far)
        self.theta = np.linspace(left, right_end, points)
        values = log_density(self.theta, *arguments)
        total = logsumexp(values)
        self.weight = np.exp(values - total)
        self.log_normaliser = total + np.log(self.theta[1] - self.theta[0])
        self.mean = self.weight @ self.theta
        self.variance = self.weight @ (self.theta - self.mean) ** 2

    def expectation(self, function):
        """Posterior mean of a function of the trait."""
        return self.weight @ function(self.theta)


@pytest.fixture(scope="session")
def dense_posteriors():
    """Posteriors of several models (rows of counts) by dense integration."""

    def posteriors(right, attempts, items, cavity, points=20_001):
        rows = zip(right, attempts, cavity.mean, cavity.variance, strict=True)
        return [Dense(r, n, items, m, v, points) for r, n, m, v in rows]

    return posteriors


@pytest.fixture(scope="session")
def columns_of():
    """An attribute of several objects as an array."""
    return lambda objects, name: np.array([getattr(one, name) for one in objects])


@pytest.fixture(scope="session")
def grid_for():
    """The grid of some items and cavities, at most so many attempts a cell."""

    def grid(items, cavity, quadrature, attempts=1.0):
        return trait_grid([item_reach(items, attempts)], [cavity], quadrature)

    return grid


@pytest.fixture(scope="session")
def shared_posterior(grid_for):
    """Posterior of models that answered everything, with its grid."""

    def posterior(responses, items, cavity, quadrature):
        grid = grid_for(items, cavity, quadrature)
        block = response_block(responses)
        found = traits.shared_curve_posterior(
            [traits.trait_score(block, items)],
            [shared_curve(items, grid)],
            cavity,
            grid,
            quadrature,
        )
        return found, grid

    return posterior


@pytest.fixture(scope="session")
def windowed_posterior(grid_for):
    """Posterior by each model's own window, from a guess; with its grid."""

    def posterior(block, items, cavity, quadrature, guess=None, attempts=1.0):
        grid = grid_for(items, cavity, quadrature, attempts)
        guess = cavity if guess is None else guess
        score = traits.trait_score(block, items)
        search = traits.start_windows(guess, grid, quadrature)
        for _ in range(60):
            if not search.unsettled:
                return search.posterior, grid
            curves = traits.asked_curves(block, items, grid, search)
            search = traits.search_windows(search, [score], [curves], cavity, grid, quadrature)
        raise AssertionError(f"{search.unsettled} windows still move after 60 steps")

    return posterior


@pytest.fixture(scope="session")
def random_items():
    """Slopes exp(N(0, .3)), a tenth of them negative, intercepts N(.3, 1.2)."""

    def items(count, seed=0):
        rng = np.random.default_rng(seed)
        slope = np.exp(rng.normal(0, 0.3, count)) * np.where(rng.random(count) < 0.1, -1, 1)
        return Items.plain(slope, rng.normal(0.3, 1.2, count))

    return items
