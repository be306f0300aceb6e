"""What the executors of one process do beyond `test_executors`."""

import threading

import pytest

from mtlirt.cluster.local import Inline, Threads, local_executor
from mtlirt.irt.slopes import SlopePrior


@pytest.mark.parametrize("threads", [1, 2, 3])
def test_chains_longer_than_the_pool_do_not_deadlock(threads):
    with local_executor(threads) as executor:
        handles = [executor.submit(int, 0)]
        for _ in range(200):
            handles.append(executor.submit(int.__add__, handles[-1], 1))
        assert executor.gather(handles)[-1] == 200


def test_one_thread_runs_in_place_and_more_run_side_by_side():
    with local_executor(1) as executor:
        assert isinstance(executor, Inline)
        assert executor.submit(threading.get_ident) == threading.get_ident()
    with local_executor(2) as executor:
        assert isinstance(executor, Threads)
        meeting = threading.Barrier(2, timeout=10)
        executor.gather([executor.submit(meeting.wait), executor.submit(meeting.wait)])


def test_values_are_not_copied():
    with local_executor(2) as executor:
        prior = SlopePrior(1.0, 2.0)
        (found,) = executor.gather([executor.submit(lambda x: x, prior)])
        assert found is prior
