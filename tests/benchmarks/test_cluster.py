"""What a Dask cluster costs over this process: design `mmlu`, 4,272 x 13,259, read from a store.

Run by ``make bench``; not part of the test suite. The ratios are of medians of fits that take turns
in one run, JIT and the start of the cluster excluded.
"""

import statistics
import time
from contextlib import ExitStack

import pytest

from mtlirt.cluster.launch import local_cluster
from mtlirt.engine.fit import fit
from mtlirt.responses.store import open_responses, write_responses
from mtlirt.simulate.generate import simulate

TURNS = 5


@pytest.fixture(scope="module")
def store(tmp_path_factory):
    url = str(tmp_path_factory.mktemp("bench") / "store")
    write_responses(simulate("mmlu", seed=1).responses, url, history={})
    return url


def test_cluster_overhead(benchmark, store):
    responses = open_responses(store)
    with ExitStack() as stack:
        clients = {
            "in process": None,
            "threaded cluster": stack.enter_context(local_cluster(1, 2, processes=False)),
            "two processes": stack.enter_context(local_cluster(2, 1)),
        }
        seconds = {name: [] for name in clients}

        def take_turns():
            for name, client in clients.items():
                began = time.perf_counter()
                fit(responses, rank=2, client=client)
                seconds[name].append(time.perf_counter() - began)

        benchmark.pedantic(take_turns, rounds=TURNS, warmup_rounds=1)
    medians = {name: statistics.median(turns[1:]) for name, turns in seconds.items()}
    for name, median in medians.items():
        ratio = median / medians["in process"]
        benchmark.extra_info[name] = round(median, 2)
        print(f"\n{name}: {median:.2f} s, {ratio:.2f} of in process")
