"""Fit a store in a process of its own, and print its seconds, rounds and memory as JSON.

python fit_alone.py STORE OPTIONS
"""

import json
import sys
import threading
import time

import psutil

from mtlirt.engine.fit import fit
from mtlirt.responses.store import open_responses
from mtlirt.simulate.generate import simulate

MEBIBYTE = 2**20
PAUSE = 0.002


def main(url, options):
    few = {key: options[key] for key in options.keys() & {"estimator", "threads"}}
    for missing in (0.0, 0.2):
        fit(simulate("demo", missing=missing).responses, max_rounds=2, **few)  # compile
    responses = open_responses(url)
    process, done = psutil.Process(), threading.Event()
    baseline = peak = process.memory_info().rss

    def watch():
        nonlocal peak
        while not done.wait(PAUSE):
            peak = max(peak, process.memory_info().rss)

    watcher = threading.Thread(target=watch)
    watcher.start()
    began = time.perf_counter()
    fitted = fit(responses, **options)
    seconds = time.perf_counter() - began
    done.set()
    watcher.join()
    found = {
        "seconds": seconds,
        "rounds": fitted.info["rounds"],
        "converged": fitted.info["converged"],
        "baseline_mib": baseline / MEBIBYTE,
        "above_mib": (peak - baseline) / MEBIBYTE,
    }
    print(json.dumps(found))


if __name__ == "__main__":
    main(sys.argv[1], json.loads(sys.argv[2]))
