"""One replication of a row: drawn, given to every method, and measured."""

from __future__ import annotations

import time
from collections.abc import Iterator, Sequence
from typing import Any

import numpy as np
import pyarrow as pa

from mtlirt.studies.draw import Drawn, draw, sequence_of
from mtlirt.studies.methods import METHODS, Estimates, warm_up
from mtlirt.studies.metrics import agreement, intervals
from mtlirt.studies.rows import Row

FIELDS: list[pa.Field[Any]] = [
    pa.field("row", pa.string(), nullable=False),
    pa.field("h", pa.float64()),
    pa.field("replication", pa.int64(), nullable=False),
    pa.field("method", pa.string(), nullable=False),
    pa.field("target", pa.string(), nullable=False),
    pa.field("metric", pa.string(), nullable=False),
    pa.field("value", pa.float64(), nullable=False),
    pa.field("message", pa.string()),
]
RESULTS = pa.schema(FIELDS)
"""A metric each. The message says why a method failed; h is null where a row has none."""

GENERAL, DOMAINS, FIT = "general", "domains", "fit"
"""Targets besides the names of domains: the general trait, the mean over domains, the whole fit."""

Measured = tuple[str, str, float, str | None]
"""Target, metric, value and message."""


def replicate(row: Row, replication: int, methods: Sequence[str], seed: int) -> pa.Table:
    """Run one replication of a row.

    Returns
    -------
    Table
        Of schema `RESULTS`; but for the seconds it is the same whenever it is run, and to 1e-8
        wherever, as fits are.
    """
    drawn = draw(row, sequence_of(seed, row.name, replication))
    h = None if np.isnan(row.h) else row.h
    records = [
        (row.name, h, replication, method, *measured)
        for method in methods
        for measured in tried(method, drawn)
    ]
    columns = zip(*records, strict=True)
    return pa.table(
        [pa.array(column, field.type) for column, field in zip(columns, RESULTS, strict=True)],
        schema=RESULTS,
    )


def tried(method: str, drawn: Drawn) -> Iterator[Measured]:
    """What a method reached, or why it failed."""
    try:
        warm_up(method)
        responses = drawn.responses
        began = time.perf_counter()
        estimates = METHODS[method](responses)
        seconds = time.perf_counter() - began
    except Exception as error:  # noqa: BLE001  (whatever it is, the study goes on and tells of it)
        yield FIT, "failed", 1.0, " ".join(f"{type(error).__name__}: {error}".split())
        return
    yield FIT, "failed", 0.0, None
    yield FIT, "converged", float(estimates.converged), None
    yield FIT, "seconds", seconds, None
    yield from compared(estimates, drawn)


def compared(estimates: Estimates, drawn: Drawn) -> Iterator[Measured]:
    """Metrics of the general trait, of each domain's, and their means over domains."""
    general = agreement(estimates.general, drawn.general)
    general |= intervals(estimates.general, estimates.general_sds, drawn.general)
    domains = {}
    for k, name in enumerate(drawn.cells):
        estimate, sd, truth = estimates.traits[:, k], estimates.trait_sds[:, k], drawn.traits[:, k]
        domains[name] = agreement(estimate, truth) | intervals(estimate, sd, truth)
    meant = [domains[name] for name, is_meant in zip(domains, drawn.meant, strict=True) if is_meant]
    shared = [metric for metric in meant[0] if all(metric in each for each in meant)]
    means = {metric: float(np.mean([each[metric] for each in meant])) for metric in shared}
    for target, metrics in {GENERAL: general, DOMAINS: means, **domains}.items():
        for metric, value in metrics.items():
            yield target, metric, value, None
