"""One run of the scaling study: drawn, stored, fitted a fixed number of rounds, and timed."""

from __future__ import annotations

import tempfile
import time
from typing import TYPE_CHECKING, Any

import numpy as np
import pyarrow as pa

from mtlirt.engine.fit import fit
from mtlirt.responses.matrix import Responses
from mtlirt.responses.store import open_responses, write_responses
from mtlirt.simulate.designs import Design
from mtlirt.simulate.generate import simulate
from mtlirt.simulate.laws import FactorTraits, difficulty_items
from mtlirt.studies.floor import floor_seconds
from mtlirt.studies.scaling_runs import Run, Size

if TYPE_CHECKING:
    from mtlirt.cluster.executor import Client

RANK = 2
"""Factors of the designs and of the fits."""

NEVER = 1e-12
"""A tolerance that no fit reaches, so that all do the same number of rounds."""

FIELDS: list[pa.Field[Any]] = [
    pa.field("run", pa.string(), nullable=False),
    pa.field("models", pa.int64(), nullable=False),
    pa.field("items", pa.int64(), nullable=False),
    pa.field("domains", pa.int64(), nullable=False),
    pa.field("missing", pa.float64(), nullable=False),
    pa.field("workers", pa.int64(), nullable=False),
    pa.field("threads", pa.int64(), nullable=False),
    pa.field("rounds", pa.int64(), nullable=False),
    pa.field("turn", pa.int64(), nullable=False),
    pa.field("seconds", pa.float64(), nullable=False),
    pa.field("domain_seconds", pa.float64(), nullable=False),
    pa.field("shared_seconds", pa.float64(), nullable=False),
    pa.field("floor_seconds", pa.float64(), nullable=False),
]
MEASUREMENTS = pa.schema(FIELDS)
"""A fit each. ``items`` is that of a domain; ``workers`` 0 is the study's own process;
``domain_seconds`` and ``shared_seconds`` are sums over the rounds, ``seconds`` all of the fit, from
a store to tables; ``floor_seconds`` is one plain read of the responses in memory on as many
threads."""


def measure(run: Run, rounds: int, turns: int, seed: int, client: Client | None) -> pa.Table:
    """Fit one run several times, after a first time that compiles and does not count.

    Parameters
    ----------
    rounds
        Of each fit.
    turns
        Fits that are timed.
    seed
        Of the responses.
    client
        Of the run's workers; None where it has none.

    Returns
    -------
    Table
        Of schema `MEASUREMENTS`, a row a turn.
    """
    size, place = run.size, run.place
    with tempfile.TemporaryDirectory() as folder:
        url = f"{folder}/store"
        drawn = simulate(design_of(size), seed=seed, missing=size.missing).responses
        write_responses(drawn, url, history={})
        responses = open_responses(url)
        blocks = [np.asarray(part.array) for part in responses.domains.values()]
        floor = floor_seconds(blocks, place.lanes)
        del blocks
        timed_fit(responses, 1, place.threads, client)
        found = [timed_fit(responses, rounds, place.threads, client) for _ in range(turns)]
    what = (run.name, size.models, size.items, size.domains, size.missing)
    where = (place.workers, place.threads)
    rows = [(*what, *where, rounds, turn, *spent, floor) for turn, spent in enumerate(found)]
    columns = zip(*rows, strict=True)
    return pa.table(
        [pa.array(column, field.type) for column, field in zip(columns, FIELDS, strict=True)],
        schema=MEASUREMENTS,
    )


def design_of(size: Size) -> Design:
    """What the responses of a size are drawn from: items and traits as in design `even`."""
    domains = tuple((f"d{k + 1:04d}", size.items) for k in range(size.domains))
    return Design("scaling", domains, size.models, difficulty_items, FactorTraits(RANK, 0.1225))


def timed_fit(
    responses: Responses, rounds: int, threads: int, client: Client | None
) -> tuple[float, float, float]:
    """Seconds of a fit of so many rounds; those of its domain steps and of its shared steps."""
    began = time.perf_counter()
    fitted = fit(
        responses,
        rank=RANK,
        adapt=False,
        tolerance=NEVER,
        max_rounds=rounds,
        client=client,
        threads=threads,
    )
    seconds = time.perf_counter() - began
    history = fitted.history
    return seconds, float(history["domain_seconds"].sum()), float(history["shared_seconds"].sum())
