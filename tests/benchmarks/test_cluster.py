"""What a Dask cluster costs over this process, and two workers gain over one: L from a store.

Fits take turns in one run, JIT and the start of the clusters excluded.
"""

import statistics
import time
from contextlib import ExitStack

from mtlirt.cluster.launch import local_cluster
from mtlirt.engine.fit import fit
from mtlirt.responses.store import open_responses

TURNS = 4
IN_PROCESS = "this process, 2 threads"
ONE_WORKER = "1 worker process of 1 thread"


def test_cluster(benchmark, drawn, stored, table):
    data = drawn("L")
    responses = open_responses(stored())
    seconds = {}
    with ExitStack() as stack:
        clients = {
            IN_PROCESS: None,
            "threaded cluster, 2 workers of 1 thread": (2, 1, False),
            ONE_WORKER: (1, 1, True),
            "2 worker processes of 1 thread": (2, 1, True),
        }
        for name, made in clients.items():
            if made is not None:
                workers, threads, processes = made
                cluster = local_cluster(workers, threads, processes=processes)
                clients[name] = stack.enter_context(cluster)

        def take_turns():
            for name, client in clients.items():
                began = time.perf_counter()
                fit(responses, rank=data.rank, client=client, threads=2)
                seconds.setdefault(name, []).append(time.perf_counter() - began)

        benchmark.pedantic(take_turns, rounds=TURNS, warmup_rounds=1)
    timed = {name: turns[1:] for name, turns in seconds.items()}
    for name, turns in timed.items():
        best = min(turns)
        table(
            "Where a fit of L runs",
            where=name,
            best_seconds=f"{best:.2f}",
            median_seconds=f"{statistics.median(turns):.2f}",
            of_this_process=f"{best / min(timed[IN_PROCESS]):.2f}",
            of_one_worker=f"{best / min(timed[ONE_WORKER]):.2f}",
            floor_seconds=f"{data.floor:.4f}",
            plain_reads=data.reads(best),
        )
