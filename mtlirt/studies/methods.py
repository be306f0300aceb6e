"""The methods of the study, each from responses to traits."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass, replace
from functools import cache, partial
from typing import Any

import dask.array as da
import numpy as np
import pandas as pd
from numpy.typing import NDArray

from mtlirt.engine.fit import fit
from mtlirt.errors import InputError
from mtlirt.responses.arrays import from_arrays
from mtlirt.responses.matrix import MISSING, Responses
from mtlirt.result import Fit
from mtlirt.simulate.designs import numbered_design
from mtlirt.simulate.generate import simulate
from mtlirt.simulate.laws import AngledTraits

Array = NDArray[np.float64]


@dataclass(frozen=True)
class Estimates:
    """What a method says of the traits.

    Attributes
    ----------
    traits, trait_sds
        Models x domains; standard deviations are NaN where the method gives none.
    general, general_sds
        The general trait, of each model.
    converged
        Whether the fit did.
    """

    traits: Array
    trait_sds: Array
    general: Array
    general_sds: Array
    converged: bool

    def __post_init__(self) -> None:
        for name, values in (("traits", self.traits), ("the general trait", self.general)):
            if not np.isfinite(values).all():
                raise InputError(f"{name}: {np.sum(~np.isfinite(values))} values are not finite")


def each_domain(responses: Responses, **options: Any) -> Estimates:
    """Fit all domains, with options of `mtlirt.fit`."""
    fitted = fit(responses, threads=1, **options)
    return Estimates(
        _by_domain(fitted, "mean", responses.domains),
        _by_domain(fitted, "sd", responses.domains),
        fitted.models["general"].to_numpy(),
        fitted.models["general_sd"].to_numpy(),
        bool(fitted.info["converged"]),
    )


def pooled(responses: Responses) -> Estimates:
    """Fit all items as one domain, whose trait serves for every domain."""
    width = len(responses.domains)
    one = each_domain(one_domain(responses), estimator="separate")
    return Estimates(
        np.repeat(one.traits, width, axis=1),
        np.repeat(one.trait_sds, width, axis=1),
        one.general,
        one.general_sds,
        one.converged,
    )


def one_domain(responses: Responses) -> Responses:
    """All items as those of one domain, with what is known of them."""
    arrays = [part.array for part in responses.domains.values()]
    together = from_arrays({"all": da.concatenate(arrays, axis=1)})
    return replace(together, items=responses.items.set_axis(together.items.index))


PENALTIES = (0.1, 0.15, 0.2, 0.25, 0.3, 0.35, 0.4, 0.45, 0.5, 0.6, 0.8, 1.0, 2.0)
"""Values of C that cross-validation tries: the span of the paper's simulation."""

METHODS: dict[str, Callable[[Responses], Estimates]] = {
    "accuracy": partial(each_domain, estimator="accuracy"),
    "local": partial(each_domain, estimator="local"),
    "global": partial(each_domain, estimator="global"),
    "joint": partial(each_domain, estimator="joint", penalties=PENALTIES),
    "marginal": partial(each_domain, estimator="marginal"),
    "separate": partial(each_domain, estimator="separate"),
    "pooled": pooled,
}
"""The methods by name."""

FIXED_PENALTY = partial(each_domain, estimator="joint", penalty=0.1)
"""Stands for the joint method where it is warmed up: it runs the same code, but not 70 times."""


def find_methods(asked: Sequence[str]) -> tuple[str, ...]:
    """The names of methods, in the order of the table; "all" is every method.

    Raises
    ------
    InputError
        If a name is none or occurs twice, or there is none.
    """
    if len(set(asked)) < len(asked):
        raise InputError(f"methods {', '.join(asked)}: name each once")
    for name in asked:
        if name not in {"all", *METHODS}:
            raise InputError(f"method {name!r}: there is none; known are all, {', '.join(METHODS)}")
    found = tuple(name for name in METHODS if {"all", name} & set(asked))
    if not found:
        raise InputError("no methods: name one at least")
    return found


@cache
def warm_up(method: str) -> None:
    """Have what a method compiles or loads in a process done before it is timed there.

    The first domain is complete and the second is not, so that both ways are taken.
    """
    warm = simulate(numbered_design("warm", AngledTraits(0.3), (12, 12, 12), models=30))
    domains = warm.responses.domains.items()
    blocks = {name: part.array.compute(scheduler="synchronous") for name, part in domains}
    blocks["d02"][0, 0] = MISSING
    run = FIXED_PENALTY if method == "joint" else METHODS[method]
    run(from_arrays({name: da.from_array(block) for name, block in blocks.items()}))


def _by_domain(fitted: Fit, column: str, domains: Iterable[str]) -> Array:
    """A column of the traits as models x domains."""
    index = pd.MultiIndex.from_product([fitted.models.index, list(domains)])
    values = fitted.traits[column].reindex(index).to_numpy()
    return values.reshape(len(fitted.models), -1)
