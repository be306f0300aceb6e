"""Which thread loads what, and in how many tasks."""

import numpy as np
import pytest

from mtlirt.cluster.placing import Home, spread

THREADS = [Home("a", 0), Home("b", 0)]


@pytest.mark.parametrize("threads", [1, 2, 5])
@pytest.mark.parametrize("most", [0, 10, 1000])
def test_every_call_is_loaded_once(threads, most):
    rng = np.random.default_rng(5)
    sizes = [rng.integers(1, 9, size=calls).tolist() for calls in (1, 4, 30, 2, 0, 7)]
    tasks = list(spread(sizes, [Home("a", k) for k in range(threads)], most))
    found = [place for _, places in tasks for place in places]
    assert sorted(found) == [(g, k) for g, calls in enumerate(sizes) for k in range(len(calls))]
    assert all(places for _, places in tasks)


def test_few_tasks_load_whole_groups():
    sizes = [[3, 3], [5], [2, 2], [4], [1], [1, 1]]
    tasks = list(spread(sizes, THREADS, most=10))
    for home in THREADS:
        held = [
            [sum(sizes[g]) for g in {g for g, _ in places}] for at, places in tasks if at == home
        ]
        assert sum(map(sum, held)) == 11
        assert all(sum(groups) <= 10 for groups in held)
    for g, calls in enumerate(sizes):
        (places,) = (places for _, places in tasks if (g, 0) in places)
        assert {(g, k) for k in range(len(calls))} <= set(places)
    assert len(list(spread(sizes, THREADS, most=11))) == 2


def test_a_group_beyond_what_a_task_loads_is_a_task():
    assert list(spread([[30, 29], [59]], THREADS, most=10)) == [
        (THREADS[0], [(0, 0), (0, 1)]),
        (THREADS[1], [(1, 0)]),
    ]


def test_a_group_larger_than_a_share_is_spread():
    tasks = list(spread([[4, 4, 4, 4], [1, 1]], THREADS, most=5))
    assert sorted(len(places) for _, places in tasks) == [1, 1, 1, 1, 2]
    assert {home for home, places in tasks if places[0][0] == 0} == set(THREADS)
