"""A round and a fit in memory, JIT excluded: time, passes, memory, and nearness to the truth."""

import importlib
import pkgutil
import time

import pytest

from mtlirt import irt
from mtlirt.cluster.executor import open_executor
from mtlirt.engine.events import silent
from mtlirt.engine.fit import fit
from mtlirt.engine.options import FitOptions
from mtlirt.engine.placement import place
from mtlirt.engine.progress import Progress, unkept
from mtlirt.engine.rounds import next_round, run_rounds
from mtlirt.engine.state import start

THREADS = 2
SIZES = [("S", 0.0), ("M", 0.0), ("L", 0.0), ("L", 0.2), ("L", 0.95)]

PAPER_PENALTIES = (
    *(0.001, 0.005, 0.01, 0.02, 0.05, 0.075, 0.09),
    *(0.1, 0.11, 0.125, 0.2, 0.5, 1.0, 1.5),
)
"""What arXiv 2610.05613 tries on MMLU."""


@pytest.mark.parametrize(("size", "missing"), SIZES)
def test_round(benchmark, drawn, table, size, missing):
    """One round more, after two."""
    data = drawn(size, missing)
    options = FitOptions(rank=data.rank, threads=THREADS, max_rounds=2)
    with open_executor(None, THREADS) as executor:
        domains = place(executor, data.responses)
        begin = Progress.of(start(domains, options))
        progress = run_rounds(executor, domains, options, begin, silent, unkept)
        after = benchmark.pedantic(
            next_round, (executor, domains, options, progress), rounds=5, warmup_rounds=1
        )
    best = benchmark.stats.stats.min
    event = after.history[-1]
    both = event.domain_seconds + event.shared_seconds
    table(
        "A round",
        size=size,
        missing=f"{missing:.0%}",
        milliseconds=f"{1e3 * best:.1f}",
        of_which_domains=f"{event.domain_seconds / both:.0%}",
        floor_ms=f"{1e3 * data.floor:.2f}",
        plain_reads=data.reads(best),
    )


@pytest.fixture
def passes(monkeypatch):
    """Counts what compiled kernels pass over: cells, and seconds of threads."""
    counted = []

    def counting(kernel):
        def call(responses, *arguments):
            began = time.perf_counter()
            found = kernel(responses, *arguments)
            counted.append((responses.size, time.perf_counter() - began))
            return found

        return call

    for module in pkgutil.iter_modules(irt.__path__):
        room = importlib.import_module(f"{irt.__name__}.{module.name}")
        for name, kernel in vars(room).items():
            if passes_over_responses(kernel):
                monkeypatch.setattr(room, name, counting(kernel))
    return counted


def passes_over_responses(kernel):
    """Whether something is a compiled function whose first argument is a block's responses."""
    python = getattr(kernel, "py_func", None)
    compiled = python is not None and kernel.targetoptions.get("nogil", False)
    return compiled and python.__code__.co_varnames[0] == "responses"


@pytest.mark.parametrize(
    ("size", "missing", "estimator"),
    [*((*each, "marginal") for each in SIZES), ("L", 0.0, "separate")],
)
def test_fit(benchmark, drawn, table, recovery, passes, size, missing, estimator):
    data = drawn(size, missing)
    options = {"estimator": estimator, "threads": THREADS}
    if estimator == "marginal":
        options["rank"] = data.rank
    turns = 3 if missing == 0 else 1

    def forget():
        passes.clear()

    fitted = benchmark.pedantic(fit, (data.responses,), options, setup=forget, rounds=turns)
    best = benchmark.stats.stats.min
    models, items = data.responses.shape
    cells, seconds = map(sum, zip(*passes, strict=True))
    what = {"size": size, "missing": f"{missing:.0%}", "estimator": estimator}
    table(
        "A fit",
        **what,
        seconds=f"{best:.3f}",
        rounds=fitted.info["rounds"],
        passes=f"{cells / (models * items):.0f}",
        their_share_of_the_time=f"{seconds / THREADS / best:.0%}",
        floor_seconds=f"{data.floor:.4f}",
        plain_reads=data.reads(best),
    )
    table("Nearness to the truth", **what, **recovery.of_fit(data.truth, fitted).cells)


@pytest.mark.parametrize("missing", [0.0, 0.2, 0.95])
def test_memory(benchmark, drawn, stored, table, alone, missing):
    """In a process of its own, from a store."""
    data = drawn("L", missing)
    options = {"rank": data.rank, "threads": THREADS}
    found = benchmark.pedantic(alone, (stored(missing), options), rounds=1)
    models, items = data.responses.shape
    size = models * items / 2**20
    table(
        "Memory of a fit of L from a store",
        missing=f"{missing:.0%}",
        peak_above_baseline=f"{found['above_mib']:.0f} MiB",
        responses=f"{size:.0f} MiB",
        times_the_responses=f"{found['above_mib'] / size:.1f}",
        baseline=f"{found['baseline_mib']:.0f} MiB",
        seconds=f"{found['seconds']:.2f}",
        plain_reads=data.reads(found["seconds"]),
    )


@pytest.mark.slow
def test_cross_validation(benchmark, drawn, table):
    """The paper's penalties in 5 folds, and the fit at the chosen one: minutes, so once."""
    data = drawn("mmlu")
    options = {"estimator": "joint", "penalties": PAPER_PENALTIES, "threads": THREADS}
    fit(drawn("M").responses, estimator="joint", penalties=(0.1, 0.2), folds=2)  # compile
    fitted = benchmark.pedantic(fit, (data.responses,), options, rounds=1)
    seconds = benchmark.stats.stats.min
    table(
        "Estimator `joint`: 5 folds x 14 penalties, and the fit at the chosen one",
        size="4,272 models x 13,259 items, 56 domains of MMLU",
        seconds=f"{seconds:.1f}",
        chosen=fitted.info["penalty"],
        rounds=fitted.info["rounds"],
        plain_reads=data.reads(seconds),
    )
