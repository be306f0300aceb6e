"""What items and traits of a simulation are drawn from."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from mtlirt.errors import InputError
from mtlirt.simulate.median import sine_median

Array = NDArray[np.float64]


@dataclass(frozen=True)
class ItemParameters:
    """Slopes and intercepts of items: P(correct) = sigma(slope x trait + intercept)."""

    slope: Array
    intercept: Array


@dataclass(frozen=True)
class Population:
    """Traits of models and where they come from.

    Attributes
    ----------
    traits
        Models x domains.
    loadings
        Domains x sources: what `sources` explain of the traits.
    uniqueness
        The variance of each domain's trait that they don't explain.
    general
        Name -> a value for each model: the factors, or the general trait.
    """

    traits: Array
    loadings: Array
    uniqueness: Array
    general: dict[str, Array]


ItemLaw = Callable[[np.random.Generator, int], ItemParameters]
"""Draws so many items."""

TraitLaw = Callable[[np.random.Generator, int, int], Population]
"""Draws so many models on so many domains."""


def intercept_items(rng: np.random.Generator, items: int) -> ItemParameters:
    """Log-normal slopes, exp N(0, .3); intercepts N(.3, 1.2). Second numbers are sds."""
    slope = np.exp(rng.normal(0, 0.3, items))
    return ItemParameters(slope, rng.normal(0.3, 1.2, items))


def difficulty_items(rng: np.random.Generator, items: int) -> ItemParameters:
    """Log-normal slopes, exp N(0, .3); difficulties -intercept/slope N(0, 1)."""
    slope = np.exp(rng.normal(0, 0.3, items))
    return ItemParameters(slope, -slope * rng.normal(0, 1, items))


def uniform_items(rng: np.random.Generator, items: int) -> ItemParameters:
    """The paper's: slopes U(.5, 1.5), intercepts U(-1, 1)."""
    slope = rng.uniform(0.5, 1.5, items)
    return ItemParameters(slope, rng.uniform(-1, 1, items))


@dataclass(frozen=True)
class FactorTraits:
    """Traits of unit variance, Lambda f + sqrt(Psi) u, with standard normal f and u.

    Attributes
    ----------
    rank
        Number of factors. Loadings are drawn as (|N(1, .25)|, N(0, .5), N(0, .5), ...), a
        general factor and weaker ones, and scaled so that Psi is
    uniqueness
        in every domain.
    """

    rank: int
    uniqueness: float

    def __call__(self, rng: np.random.Generator, models: int, domains: int) -> Population:
        """Draw a population; more models of equal seed begin with the same ones."""
        for_loadings, for_factors, for_uniques = rng.spawn(3)
        raw = for_loadings.normal(0, 0.5, (domains, self.rank))
        raw[:, 0] = np.abs(for_loadings.normal(1, 0.25, domains))
        length = np.linalg.norm(raw, axis=1, keepdims=True)
        loadings = raw / length * np.sqrt(1 - self.uniqueness)
        factors = for_factors.standard_normal((models, self.rank))
        uniques = for_uniques.standard_normal((models, domains))
        return Population(
            traits=factors @ loadings.T + np.sqrt(self.uniqueness) * uniques,
            loadings=loadings,
            uniqueness=np.full(domains, self.uniqueness),
            general={f"factor_{k + 1}": factors[:, k] for k in range(self.rank)},
        )


@dataclass(frozen=True)
class AngledTraits:
    """The paper's: traits at angles to one direction g, all centred with norm sqrt(models).

    theta_t = sqrt(1 - alpha_t^2) g + sqrt(N) alpha_t v_t, where g is a shuffled equispaced grid,
    the v_t are orthonormal and orthogonal to 1 and g, alpha_1 = h and the others are h U(-1, 1).
    The general trait is the sine median of the traits; loadings and uniquenesses are on g.

    Attributes
    ----------
    h
        The largest sine of an angle between a trait and g, in [0, 1].
    """

    h: float

    def __post_init__(self) -> None:
        if not 0 <= self.h <= 1:
            raise InputError(f"h {self.h}: expected a number in [0, 1]")

    def __call__(self, rng: np.random.Generator, models: int, domains: int) -> Population:
        """Draw a population."""
        if models < domains + 2:
            raise InputError(
                f"{models} models: {domains} domains at angles need at least {domains + 2}"
            )
        grid = rng.permutation(np.linspace(-1, 1, models))
        direction = grid * np.sqrt(models) / np.linalg.norm(grid)
        basis = np.column_stack(
            [np.ones(models), direction, rng.standard_normal((models, domains))]
        )
        deviations = np.linalg.qr(basis).Q[:, 2:]
        alpha = self.h * np.array([1, *rng.uniform(-1, 1, domains - 1)])
        loading = np.sqrt(1 - alpha**2)
        traits = direction[:, None] * loading + np.sqrt(models) * deviations * alpha
        return Population(
            traits=traits,
            loadings=loading[:, None],
            uniqueness=alpha**2,
            general={"theta_G": sine_median(traits)},
        )
