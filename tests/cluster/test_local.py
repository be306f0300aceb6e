"""The executors of one process."""

import operator
import threading
import time

import pytest

from mtlirt.cluster.local import Inline, Threads, local_executor
from mtlirt.irt.slopes import SlopePrior


@pytest.mark.parametrize("threads", [1, 2, 8])
def test_results_come_back_in_order_whatever_ends_first(threads):
    with local_executor(threads) as executor:
        pauses = [0.03, 0.0, 0.02, 0.01]
        handles = [executor.submit(lambda x: (time.sleep(x), x)[1], pause) for pause in pauses]
        assert executor.gather(handles) == pauses
        assert executor.gather([]) == []


@pytest.mark.parametrize("threads", [1, 2])
def test_arguments_may_hold_handles_also_in_lists_and_tuples(threads):
    with local_executor(threads) as executor:
        one, two = executor.submit(int, "1"), executor.submit(int, "2")
        plain = executor.submit(operator.add, one, 10)
        nested = executor.submit(lambda parts: parts, [one, (two, [one, "text"]), {"kept": 3}])
        assert executor.gather([plain, nested]) == [11, [1, (2, [1, "text"]), {"kept": 3}]]


@pytest.mark.parametrize("threads", [1, 2, 3])
def test_long_chains_on_few_threads_do_not_deadlock(threads):
    with local_executor(threads) as executor:
        handles = [executor.submit(int, 0)]
        for k in range(200):
            handles.append(executor.submit(operator.add, handles[-1], 1))
            if k % 3 == 0:
                handles.append(executor.submit(sum, [handles[-1], handles[0]]))
        assert executor.gather(handles)[-1] == 200


@pytest.mark.parametrize("threads", [1, 2])
def test_what_a_function_raises_is_raised(threads):
    with local_executor(threads) as executor, pytest.raises(ZeroDivisionError):
        executor.gather([executor.submit(operator.truediv, 1, 0)])


def test_an_error_passes_through_the_functions_that_need_its_result():
    with local_executor(2) as executor:
        bad = executor.submit(operator.truediv, 1, 0)
        after = executor.submit(operator.add, [bad], [1])
        fine = executor.submit(operator.add, 1, 1)
        assert executor.gather([fine]) == [2]
        with pytest.raises(ZeroDivisionError):
            executor.gather([after])


def test_one_thread_runs_in_place_and_more_run_side_by_side():
    with local_executor(1) as executor:
        assert isinstance(executor, Inline)
        assert executor.submit(threading.get_ident) == threading.get_ident()
    with local_executor(2) as executor:
        assert isinstance(executor, Threads)
        meeting = threading.Barrier(2, timeout=10)
        executor.gather([executor.submit(meeting.wait), executor.submit(meeting.wait)])


def test_named_tuples_pass_unchanged():
    with local_executor(2) as executor:
        prior = SlopePrior(1.0, 2.0)
        (found,) = executor.gather([executor.submit(lambda x: x, prior)])
        assert found is prior
