"""Speed and memory of a fit in memory, JIT excluded: design `mmlu`, 4,272 x 13,259.

Run by ``make bench``; not part of the test suite. Ratios to the floor (one plain read of the
responses' bytes) are printed with the times.
"""

import threading
import time

import dask.array as da
import numpy as np
import psutil
import pytest

from mtlirt.engine.fit import fit
from mtlirt.responses.matrix import DomainResponses, Responses
from mtlirt.simulate.generate import simulate

MEBIBYTE = 2**20

PAPER_PENALTIES = (
    *(0.001, 0.005, 0.01, 0.02, 0.05, 0.075, 0.09),
    *(0.1, 0.11, 0.125, 0.2, 0.5, 1.0, 1.5),
)
"""What arXiv 2610.05613 tries on MMLU."""


def in_memory(**options):
    """Responses of the design as NumPy-backed arrays, one block a domain."""
    responses = simulate("mmlu", seed=1, **options).responses
    domains = {
        name: DomainResponses(da.from_array(np.asarray(part.array), chunks=-1))
        for name, part in responses.domains.items()
    }
    return Responses(domains, responses.models, responses.items)


@pytest.fixture(scope="module", params=[0.0, 0.2, 0.95], ids="missing={}".format)
def responses(request):
    found = in_memory(missing=request.param)
    fit(in_memory(missing=request.param, models=200), rank=2)  # compile
    return found


def peak_above_baseline(function):
    """The largest resident size while a function runs, above the one before, in MiB."""
    process, done = psutil.Process(), threading.Event()
    baseline = process.memory_info().rss
    peak = baseline

    def watch():
        nonlocal peak
        while not done.is_set():
            peak = max(peak, process.memory_info().rss)
            time.sleep(0.002)

    watcher = threading.Thread(target=watch)
    watcher.start()
    function()
    done.set()
    watcher.join()
    return (peak - baseline) / MEBIBYTE


def floor_seconds(responses):
    """Time of one plain read of the responses."""
    blocks = [np.asarray(part.array) for part in responses.domains.values()]
    began = time.perf_counter()
    for block in blocks:
        block.sum(dtype=np.int8)
    return time.perf_counter() - began


@pytest.mark.parametrize("estimator", ["marginal", "separate"])
def test_fit(benchmark, responses, estimator):
    options = {"estimator": estimator, "rank": 2 if estimator == "marginal" else "auto"}
    fitted = benchmark.pedantic(fit, (responses,), options, rounds=3)
    benchmark.extra_info["rounds"] = fitted.info["rounds"]
    benchmark.extra_info["floor_seconds"] = round(floor_seconds(responses), 4)
    benchmark.extra_info["peak_mib"] = round(
        peak_above_baseline(lambda: fit(responses, **options)), 1
    )
    print(f"\n{estimator}: {benchmark.extra_info}")


def test_cross_validation(benchmark):
    """The paper's penalties in 5 folds, and the fit at the chosen one: minutes, so once."""
    options = {"estimator": "joint", "penalties": PAPER_PENALTIES}
    fit(in_memory(models=200), estimator="joint", penalties=(0.1, 0.2), folds=2)  # compile
    fitted = benchmark.pedantic(fit, (in_memory(),), options, rounds=1)
    print(f"\ncross-validation: C = {fitted.info['penalty']}, {fitted.info['rounds']} rounds there")
