"""What every executor does alike: in place, on threads, on a Dask cluster."""

import operator
import time

import dask.array as da
import numpy as np
import pytest

from mtlirt.cluster.executor import open_executor
from mtlirt.irt.slopes import SlopePrior


@pytest.fixture(params=["inline", "threads", "many threads", "threaded cluster", "processes"])
def executor(request):
    client = None
    if request.param == "threaded cluster":
        client = request.getfixturevalue("threaded_cluster")
    elif request.param == "processes":
        client = request.getfixturevalue("process_cluster")
    threads = {"inline": 1, "threads": 2, "many threads": 8}.get(request.param, 2)
    with open_executor(client, threads) as found:
        yield found


def test_results_come_back_in_order_whatever_ends_first(executor):
    pauses = [0.03, 0.0, 0.02, 0.01]
    handles = [executor.submit(lambda x: (time.sleep(x), x)[1], pause) for pause in pauses]
    assert executor.gather(handles) == pauses
    assert executor.gather(handles[::-1]) == pauses[::-1]
    assert executor.gather([]) == []


def test_arguments_may_hold_handles_also_in_lists_and_tuples(executor):
    one, two = executor.submit(int, "1"), executor.submit(int, "2")
    plain = executor.submit(operator.add, one, 10)
    nested = executor.submit(lambda parts: parts, [one, (two, [one, "text"]), {"kept": 3}])
    assert executor.gather([plain, nested]) == [11, [1, (2, [1, "text"]), {"kept": 3}]]


def test_long_chains_do_not_deadlock(executor):
    handles = [executor.submit(int, 0)]
    for k in range(60):
        handles.append(executor.submit(operator.add, handles[-1], 1))
        if k % 3 == 0:
            handles.append(executor.submit(sum, [handles[-1], handles[0]]))
    assert executor.gather(handles)[-1] == 60


def test_what_a_function_raises_is_raised(executor):
    with pytest.raises(ZeroDivisionError):
        executor.gather([executor.submit(operator.truediv, 1, 0)])


def test_an_error_passes_through_the_functions_that_need_its_result(executor):
    try:
        bad = executor.submit(operator.truediv, 1, 0)
        with pytest.raises(ZeroDivisionError):
            executor.gather([executor.submit(operator.add, [bad], [1])])
    except ZeroDivisionError:  # in place it is raised at once
        pass
    assert executor.gather([executor.submit(operator.add, 1, 1)]) == [2]


def test_named_tuples_pass_unchanged(executor):
    (found,) = executor.gather([executor.submit(lambda x: x, SlopePrior(1.0, 2.0))])
    assert found == SlopePrior(1.0, 2.0)
    assert type(found) is SlopePrior


def test_arrays_are_computed_where_they_are_loaded(executor):
    array = da.arange(12, chunks=4) * 2
    calls = [(k, array.blocks[k], None) for k in range(3)]
    groups = [calls[:2], calls[2:], []]
    loaded = executor.load(lambda k, values, none: (k, values.tolist(), none), groups)
    assert [executor.gather(group) for group in loaded] == [
        [(0, [0, 2, 4, 6], None), (1, [8, 10, 12, 14], None)], [(2, [16, 18, 20, 22], None)], [],
    ]  # fmt: skip


def test_what_is_not_kept_is_made_anew_for_every_task(executor, tmp_path):
    log = tmp_path / "made"

    def make(name, values):
        with log.open("a") as file:
            file.write(f"{name}\n")
        return values * 2

    array = da.arange(6, chunks=3)
    (loaded,) = executor.load(make, [[(k, array.blocks[k]) for k in range(2)]], keep=False)
    assert not log.exists()
    sums = executor.submit_all(np.sum, [(block,) for block in loaded])
    both = executor.submit(np.concatenate, list(loaded))
    found = [part.tolist() for part in executor.gather([*sums, both])]
    assert found == [6, 24, [0, 2, 4, 6, 8, 10]]
    assert sorted(log.read_text().split()) == ["0", "0", "1", "1"]


def test_there_is_memory_and_no_more_than_the_limit(executor):
    assert executor.memory(None) > 2**26
    assert executor.memory(1000) in (1000, 2000)


def test_many_calls_at_once_give_their_results_in_order(executor):
    arrays = [[(da.full(size, size, chunks=-1),)] for size in range(1, 9)]
    loaded = [handle for (handle,) in executor.load(np.copy, arrays)]
    doubled = executor.submit_all(np.multiply, [(handle, 2) for handle in loaded])
    sums = executor.submit_all(
        lambda parts, more: float(sum(map(np.sum, parts)) + more),
        [([one, two], k) for k, (one, two) in enumerate(zip(loaded, doubled, strict=True))],
    )
    assert executor.gather(sums) == [3.0 * size**2 + size - 1 for size in range(1, 9)]
    assert executor.submit_all(np.copy, []) == []


def test_results_of_many_calls_are_arguments_of_single_ones(executor):
    handles = executor.submit_all(operator.add, [(k, 1) for k in range(4)])
    total = executor.submit(sum, list(handles))
    assert executor.gather([total, handles[2]]) == [10, 3]


def test_here_runs_in_this_process(executor):
    values = []
    executor.here.gather([executor.here.submit(values.append, 1)])
    assert values == [1]
