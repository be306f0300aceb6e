"""What items and traits of a simulation are drawn from."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, replace

import numpy as np
from numpy.typing import NDArray

from mtlirt.errors import InputError
from mtlirt.simulate.median import sine_median

Array = NDArray[np.float64]


@dataclass(frozen=True)
class ItemParameters:
    """Items: P(correct) = guessing + (1 - guessing) sigma(slope x trait + intercept).

    Attributes
    ----------
    slope, intercept
        Shape (items,).
    guessing
        P(correct) of a model that knows nothing, in [0, 1): of each item, or of all.
    """

    slope: Array
    intercept: Array
    guessing: Array | float = 0.0


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

    def of(self, models: NDArray[np.intp]) -> Population:
        """These models in this order."""
        general = {name: values[models] for name, values in self.general.items()}
        return replace(self, traits=self.traits[models], general=general)


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
        direction = _shuffled_grid(rng, models)
        deviations = _orthonormal(rng, domains, direction[:, None])
        alpha = self.h * np.array([1, *rng.uniform(-1, 1, domains - 1)])
        loading = np.sqrt(1 - alpha**2)
        traits = direction[:, None] * loading + np.sqrt(models) * deviations * alpha
        return Population(
            traits=traits,
            loadings=loading[:, None],
            uniqueness=alpha**2,
            general={"theta_G": sine_median(traits)},
        )


@dataclass(frozen=True)
class GroupedTraits:
    """Traits as in `AngledTraits`, but around several centres, some of them around none.

    The centres are orthogonal: shuffled equispaced grids, each freed of those before it. The
    other laws of Xie et al. are kept: alpha_1 = h, the others h U(-1, 1), the v_t orthogonal to 1
    and to all centres. The general trait is the sine median of the traits.

    Attributes
    ----------
    h
        The largest sine of an angle between a trait and its centre, in [0, 1].
    centres
        The number of domains around each centre, one centre's after the other's.
    sharing
        So many domains in a row share a v_t. Since the alpha_t have either sign, two that share
        it turn away from their centre to the same side or to opposite ones.
    strays
        The number of domains, the last ones, whose traits have a random direction each: centred
        normal values.
    """

    h: float
    centres: tuple[int, ...]
    sharing: int = 1
    strays: int = 0

    def __post_init__(self) -> None:
        if not 0 <= self.h <= 1:
            raise InputError(f"h {self.h}: expected a number in [0, 1]")
        if self.sharing < 1:
            raise InputError(f"sharing {self.sharing}: expected 1 domain or more")

    def __call__(self, rng: np.random.Generator, models: int, domains: int) -> Population:
        """Draw a population."""
        around = sum(self.centres)
        if around + self.strays != domains:
            raise InputError(
                f"{domains} domains: {around} around centres and {self.strays} strays are "
                f"{around + self.strays}"
            )
        turns = -(-around // self.sharing)
        if models < turns + len(self.centres) + 1:
            raise InputError(
                f"{models} models: {domains} domains at angles need at least "
                f"{turns + len(self.centres) + 1}"
            )
        centre = np.repeat(np.arange(len(self.centres)), self.centres)
        directions = np.empty((models, 0))
        for _ in self.centres:
            grid = _shuffled_grid(rng, models)
            freed = grid - directions @ (directions.T @ grid) / models
            directions = np.column_stack([directions, _standardised(freed)])
        deviations = _orthonormal(rng, turns, directions)[:, np.arange(around) // self.sharing]
        alpha = self.h * rng.uniform(-1, 1, around)
        alpha[:1] = self.h
        strays = _standardised(rng.standard_normal((models, self.strays)))
        cosine = np.sqrt(1 - alpha**2)
        turned = directions[:, centre] * cosine + np.sqrt(models) * deviations * alpha
        traits = np.column_stack([turned, strays])
        loadings = np.zeros((domains, len(self.centres)))
        loadings[np.arange(around), centre] = cosine
        return Population(
            traits=traits,
            loadings=loadings,
            uniqueness=np.concatenate([alpha**2, np.ones(self.strays)]),
            general={"theta_G": sine_median(traits)},
        )


@dataclass(frozen=True)
class NegativeItems:
    """The paper's items, but some negatively keyed: better models fail them more often.

    Attributes
    ----------
    share
        The probability that an item's slope has its sign turned, in [0, 1].
    """

    share: float

    def __post_init__(self) -> None:
        if not 0 <= self.share <= 1:
            raise InputError(f"share {self.share}: expected a probability in [0, 1]")

    def __call__(self, rng: np.random.Generator, items: int) -> ItemParameters:
        """Draw items; the same as `uniform_items` but for signs."""
        drawn = uniform_items(rng, items)
        sign = np.where(rng.random(items) < self.share, -1.0, 1.0)
        return replace(drawn, slope=sign * drawn.slope)


@dataclass(frozen=True)
class SteepItems:
    """Slopes log-normal around a median, some of them negative; intercepts N(.3, 2.5) x median.

    Attributes
    ----------
    median
        Of the slopes' sizes, which are median x exp N(0, .5).
    share
        The probability that a slope has its sign turned, in [0, 1].
    """

    median: float
    share: float

    def __call__(self, rng: np.random.Generator, items: int) -> ItemParameters:
        """Draw items."""
        size = self.median * np.exp(rng.normal(0, 0.5, items))
        intercept = self.median * rng.normal(0.3, 2.5, items)
        return ItemParameters(np.where(rng.random(items) < self.share, -size, size), intercept)


@dataclass(frozen=True)
class GuessedItems:
    """The paper's items, but no model is below a chance of answering right by guessing.

    Attributes
    ----------
    floor
        P(correct) of a model that knows nothing, in [0, 1).
    """

    floor: float

    def __post_init__(self) -> None:
        if not 0 <= self.floor < 1:
            raise InputError(f"floor {self.floor}: expected a probability in [0, 1)")

    def __call__(self, rng: np.random.Generator, items: int) -> ItemParameters:
        """Draw items; the same as `uniform_items` but for the floor."""
        return replace(uniform_items(rng, items), guessing=np.full(items, self.floor))


def _shuffled_grid(rng: np.random.Generator, models: int) -> Array:
    """Equispaced values in random order, with mean 0 and norm sqrt(models)."""
    grid = rng.permutation(np.linspace(-1, 1, models))
    values: Array = grid * np.sqrt(models) / np.linalg.norm(grid)
    return values


def _standardised(columns: Array) -> Array:
    """Columns with mean 0 and norm sqrt(models)."""
    centred = columns - columns.mean(axis=0)
    values: Array = centred * np.sqrt(len(columns)) / np.linalg.norm(centred, axis=0)
    return values


def _orthonormal(rng: np.random.Generator, count: int, others: Array) -> Array:
    """So many random orthonormal columns, orthogonal to 1 and to other columns."""
    models, fixed = len(others), 1 + others.shape[1]
    free = rng.standard_normal((models, count))
    basis: Array = np.linalg.qr(np.column_stack([np.ones(models), others, free])).Q
    return basis[:, fixed:]
