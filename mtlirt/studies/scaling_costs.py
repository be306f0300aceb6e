"""A model of what a fit costs, fitted to measured fits, and what it says of larger ones.

The time of a fit has three parts: domain steps and shared steps, summed over its rounds, and the
rest (reading and counting responses, scoring, tables). Each is a sum of terms, numbers of
operations times the time of one, which is at least 0.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass
from typing import Literal, get_args

import numpy as np
import pandas as pd
from numpy.typing import NDArray
from scipy.optimize import nnls

from mtlirt.studies.scaling_options import Target

Part = Literal["domain steps", "shared steps", "rest"]
PARTS: tuple[Part, ...] = get_args(Part)
Array = NDArray[np.float64]

REPEATS = 2
"""Trait and item updates of a domain in a round."""

PASSES = 2
"""Passes over complete responses of each of them."""

POSTERIOR_NODES = 20
"""Points at which a posterior is evaluated."""

MASKED_NODES = 20
"""Multiplications of each cell in an update where cells are missing."""

GRID_POINTS = 8.0
"""The grid of a domain of J items has about so many times sqrt(J) points."""


@dataclass(frozen=True)
class Work:
    """A fit in numbers; arrays have one entry a fit.

    Attributes
    ----------
    models, items, domains, missing
        As in `Size`: ``items`` is that of a domain.
    workers
        0 is the client's own process.
    threads
        Of each worker, or of this process.
    rounds
        Of the fit.
    """

    models: Array
    items: Array
    domains: Array
    missing: Array
    workers: Array
    threads: Array
    rounds: Array

    @classmethod
    def of(cls, measured: pd.DataFrame) -> Work:
        """The work of measured fits, see `scaling_measure.MEASUREMENTS`."""
        return cls(**{name: measured[name].to_numpy(np.float64) for name in cls.__annotations__})

    @classmethod
    def to_do(cls, target: Target) -> Work:
        """The work of one that was not measured."""
        size = target.size
        values = (size.models, size.items, size.domains, size.missing)
        return cls(*(np.array([float(x)]) for x in (*values, target.workers, 1, target.rounds)))

    @property
    def lanes(self) -> Array:
        """Threads that work on responses."""
        return np.asarray(np.maximum(self.workers, 1.0) * self.threads)

    @property
    def cells(self) -> Array:
        """Models x all items."""
        return self.models * self.items * self.domains

    @property
    def masked(self) -> Array:
        """The same where some of them are missing, else 0."""
        return np.where(self.missing > 0, self.cells, 0.0)

    @property
    def traits(self) -> Array:
        """Models x domains."""
        return self.models * self.domains

    @property
    def updates(self) -> Array:
        """Trait and item updates of a domain in all rounds."""
        return REPEATS * self.rounds


def cell_passes(work: Work) -> Array:
    """Cells passed over where all are there."""
    complete = np.where(work.missing == 0, work.cells, 0.0)
    return PASSES * work.updates * complete / work.lanes


def masked_products(work: Work) -> Array:
    """Cells x nodes where some are missing."""
    return MASKED_NODES * work.updates * work.masked / work.lanes


def posterior_nodes(work: Work) -> Array:
    """Models x domains x nodes."""
    return POSTERIOR_NODES * work.updates * work.traits / work.lanes


def grid_products(work: Work) -> Array:
    """Items x grid points."""
    points = GRID_POINTS * np.sqrt(work.items)
    return work.updates * work.items * work.domains * points / work.lanes


def messages(work: Work) -> Array:
    """Models x domains that travel to worker processes and back."""
    return work.rounds * work.traits * (work.workers > 0)


def worker_tasks(work: Work) -> Array:
    """Tasks: one for each lane of a cluster in a round."""
    return work.rounds * np.minimum(work.lanes, work.domains) * (work.workers > 0)


def rounds(work: Work) -> Array:
    """Rounds."""
    return work.rounds


def traits_shared(work: Work) -> Array:
    """Models x domains in all rounds, on the client alone."""
    return work.rounds * work.traits


def cells_read(work: Work) -> Array:
    """Cells read from a store and counted."""
    return work.cells / work.lanes


def masked_scored(work: Work) -> Array:
    """Cells x nodes to score models where some are missing."""
    return MASKED_NODES * work.masked / work.lanes


def traits_told(work: Work) -> Array:
    """Models x domains in the tables of the result, on the client alone."""
    return work.traits


def items_told(work: Work) -> Array:
    """Items in the tables of the result, on the client alone."""
    return work.items * work.domains


def fits(work: Work) -> Array:
    """Fits."""
    return np.ones_like(work.models)


def fits_on_workers(work: Work) -> Array:
    """Fits on worker processes."""
    return np.where(work.workers > 0, 1.0, 0.0)


@dataclass(frozen=True)
class Term:
    """A term of the model: its name, and how many operations a fit has of it on each lane."""

    name: str
    count: Callable[[Work], Array]


TERMS: Mapping[Part, tuple[Term, ...]] = {
    "domain steps": (
        Term("passes x cells / lanes", cell_passes),
        Term("missing: cells x nodes / lanes", masked_products),
        Term("models x domains x nodes / lanes", posterior_nodes),
        Term("items x grid points / lanes", grid_products),
        Term("workers: models x domains sent", messages),
        Term("workers: tasks", worker_tasks),
        Term("rounds", rounds),
    ),
    "shared steps": (
        Term("models x domains", traits_shared),
        Term("rounds", rounds),
    ),
    "rest": (
        Term("cells read / lanes", cells_read),
        Term("missing: cells x nodes / lanes", masked_scored),
        Term("models x domains", traits_told),
        Term("items", items_told),
        Term("fits", fits),
        Term("workers: fits", fits_on_workers),
    ),
}
"""The terms of each part."""

COLUMNS: Mapping[Part, str] = {
    "domain steps": "domain_seconds",
    "shared steps": "shared_seconds",
    "rest": "rest_seconds",
}
"""The measured seconds of each part."""

Seconds = dict[Part, Array]

ALL = "all"
"""The name of whole fits beside those of their parts."""


@dataclass(frozen=True)
class CostModel:
    """Seconds of one operation of each term, by part, in the order of `TERMS`."""

    seconds: Seconds

    def by_term(self, work: Work, part: Part) -> Array:
        """Seconds that each term of a part takes, shape (fits, terms)."""
        return counts(work, part) * self.seconds[part]

    def predict(self, work: Work) -> Seconds:
        """Seconds of each part, shape (fits,)."""
        return {part: self.by_term(work, part).sum(axis=1) for part in PARTS}

    def total(self, work: Work) -> Array:
        """Seconds of whole fits."""
        return np.asarray(np.sum(list(self.predict(work).values()), axis=0))


def counts(work: Work, part: Part) -> Array:
    """How many operations of each term of a part, shape (fits, terms)."""
    return np.column_stack([term.count(work) for term in TERMS[part]])


def best_turns(measurements: pd.DataFrame) -> pd.DataFrame:
    """The fastest turn of each run, with what is left of its time as ``rest_seconds``."""
    measurements = measurements.reset_index(drop=True)
    fastest = measurements.loc[measurements.groupby("run", sort=False)["seconds"].idxmin()]
    rest = fastest["seconds"] - fastest["domain_seconds"] - fastest["shared_seconds"]
    return fastest.assign(rest_seconds=rest).reset_index(drop=True)


def fit_costs(measured: pd.DataFrame) -> CostModel:
    """Find the seconds of each operation by non-negative least squares of relative errors.

    Parameters
    ----------
    measured
        From `best_turns`.
    """
    work = Work.of(measured)
    found: Seconds = {}
    for part in PARTS:
        relative = counts(work, part) / measured[COLUMNS[part]].to_numpy()[:, None]
        size = np.linalg.norm(relative, axis=0)
        size[size == 0] = 1.0  # a term that no run has: its time stays 0
        found[part] = nnls(relative / size, np.ones(len(relative)))[0] / size
    return CostModel(found)


@dataclass(frozen=True)
class Goodness:
    """How well the model tells measured seconds.

    Attributes
    ----------
    explained
        The share of the variance of log seconds that it explains.
    typical, largest
        Median and largest relative error of the runs it was fitted to.
    left_out
        Median relative error for a run that was left out of the fit.
    """

    explained: float
    typical: float
    largest: float
    left_out: float


def goodness(measured: pd.DataFrame, model: CostModel) -> dict[str, Goodness]:
    """The goodness of fit of each part, and of whole fits as `ALL`."""
    work = Work.of(measured)
    found = told_seconds(model, work)
    left_out: dict[str, list[float]] = {name: [] for name in found}
    for k in range(len(measured)):
        without = fit_costs(measured.drop(index=measured.index[k]))
        for name, seconds in told_seconds(without, work).items():
            left_out[name].append(seconds[k])
    return {
        name: compared(actual_seconds(measured, name), seconds, np.array(left_out[name]))
        for name, seconds in found.items()
    }


def told_seconds(model: CostModel, work: Work) -> dict[str, Array]:
    """What the model says of each part, and of `ALL`."""
    parts: Mapping[Part, Array] = model.predict(work)
    return dict(parts) | {ALL: model.total(work)}


def actual_seconds(measured: pd.DataFrame, name: str) -> Array:
    """The measured seconds of a part, or of `ALL`."""
    columns: Mapping[str, str] = {ALL: "seconds"} | {str(k): v for k, v in COLUMNS.items()}
    return np.asarray(measured[columns[name]], np.float64)


def compared(actual: Array, told: Array, left_out: Array) -> Goodness:
    """The goodness of seconds that a model tells, and that it tells of runs left out."""
    tiny = np.finfo(np.float64).tiny
    off = np.log(np.maximum(told, tiny) / actual)
    spread = np.log(actual) - np.log(actual).mean()
    error = np.abs(told / actual - 1)
    return Goodness(
        float(1 - (off @ off) / (spread @ spread)) if spread.any() else float("nan"),
        float(np.median(error)),
        float(error.max()),
        float(np.median(np.abs(left_out / actual - 1))),
    )


def cost_table(model: CostModel) -> pd.DataFrame:
    """``part``, ``term``, ``nanoseconds`` of one operation."""
    rows = [
        (part, term.name, 1e9 * seconds)
        for part in PARTS
        for term, seconds in zip(TERMS[part], model.seconds[part], strict=True)
    ]
    return pd.DataFrame(rows, columns=["part", "term", "nanoseconds"])


def projection(model: CostModel, target: Target) -> pd.DataFrame:
    """A projection, not a measurement.

    Returns
    -------
    DataFrame
        ``part``, ``term``, ``operations`` (on each lane, or on the client), ``seconds``.
    """
    work = Work.to_do(target)
    rows = []
    for part in PARTS:
        amounts, seconds = counts(work, part)[0], model.by_term(work, part)[0]
        names = [term.name for term in TERMS[part]]
        rows += [(part, *row) for row in zip(names, amounts, seconds, strict=True)]
    return pd.DataFrame(rows, columns=["part", "term", "operations", "seconds"])
