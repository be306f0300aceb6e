"""Size XL, 20,000 x 50,000: 10^9 responses, written chunk by chunk and fitted in a process alone.

Run by ``make bench-xl``; takes many minutes, some 100 MB of disk, and, where all responses are held
in memory, 2 GiB of it.
"""

import time

import psutil
import pytest
from dask.base import compute

from mtlirt.cluster.launch import local_cluster
from mtlirt.engine.fit import fit
from mtlirt.responses.store import open_responses, write_responses
from mtlirt.simulate.designs import numbered_design
from mtlirt.simulate.generate import simulate
from mtlirt.simulate.laws import FactorTraits, difficulty_items
from mtlirt.studies.floor import floor_seconds

MODELS, DOMAINS, ITEMS, RANK = 20_000, 50, 1000, 2
THREADS = 2
TURNS = 3
GIBIBYTE = 2**30

LIMIT = 2**28
"""Bytes of memory that leave no room for the responses: they are read again in every round."""

pytestmark = pytest.mark.slow


@pytest.fixture(scope="module")
def xl(tmp_path_factory):
    """The URL of a store of XL, drawn as it is written."""
    design = numbered_design(
        "XL", FactorTraits(RANK, 0.1225), (ITEMS,) * DOMAINS, models=MODELS, items=difficulty_items
    )
    url = str(tmp_path_factory.mktemp("xl") / "store")
    began = time.perf_counter()
    write_responses(simulate(design, seed=1).responses, url, history={})
    print(f"\nXL: drawn and written in {time.perf_counter() - began:.0f} s")
    return url


@pytest.fixture(scope="module")
def floor(xl):
    """Seconds of a plain read of as many bytes: a domain's, on two threads, times the domains."""
    part = next(iter(open_responses(xl).domains.values()))
    blocks = compute(*part.array.to_delayed().ravel())
    return DOMAINS * floor_seconds(blocks, THREADS)


@pytest.mark.parametrize("estimator", ["separate", "marginal"])
@pytest.mark.parametrize("where", ["in memory", "out of core"])
def test_fit_of_a_billion_responses(benchmark, request, table, alone, estimator, where):
    options = {"estimator": estimator, "threads": THREADS}
    if estimator == "marginal":
        options["rank"] = RANK
    if where == "in memory" and psutil.virtual_memory().available < 8 * GIBIBYTE:
        pytest.skip("less than 8 GiB of memory are free")
    if where == "out of core":
        options["memory_limit"] = LIMIT
    xl, floor = request.getfixturevalue("xl"), request.getfixturevalue("floor")
    found = benchmark.pedantic(alone, (xl, options), rounds=1)
    size = MODELS * DOMAINS * ITEMS / 2**20
    table(
        "A fit of XL: 20,000 x 50,000 in 50 domains, from a store",
        where=where,
        estimator=estimator,
        seconds=f"{found['seconds']:.1f}",
        rounds=found["rounds"],
        converged=found["converged"],
        peak_above_baseline=f"{found['above_mib']:,.0f} MiB",
        times_the_responses=f"{found['above_mib'] / size:.2f}",
        floor_seconds=f"{floor:.3f}",
        plain_reads=f"{found['seconds'] / floor:,.0f}",
    )


def test_workers_at_a_billion_responses(benchmark, table, xl, floor):
    """Fits take turns, the start of the clusters and the first fit of each excluded."""
    if psutil.virtual_memory().available < 8 * GIBIBYTE:
        pytest.skip("less than 8 GiB of memory are free")
    responses = open_responses(xl)
    seconds = {1: [], 2: []}
    with local_cluster(1, 1) as one, local_cluster(2, 1) as two:

        def take_turns():
            for workers, client in ((1, one), (2, two)):
                began = time.perf_counter()
                fit(responses, rank=RANK, client=client, threads=THREADS)
                seconds[workers].append(time.perf_counter() - began)

        benchmark.pedantic(take_turns, rounds=TURNS, warmup_rounds=1)
    best = {workers: min(turns[1:]) for workers, turns in seconds.items()}
    for workers, fastest in best.items():
        table(
            "A fit of XL on worker processes of 1 thread, in memory",
            workers=workers,
            best_seconds=f"{fastest:.1f}",
            times_as_fast_as_one=f"{best[1] / fastest:.2f}",
            floor_seconds=f"{floor:.3f}",
            plain_reads=f"{fastest / floor:,.0f}",
        )
