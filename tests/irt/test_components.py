"""Components of models and items against brute force."""

import numpy as np
import pytest

from mtlirt.irt.blocks import response_block
from mtlirt.irt.components import Links, block_links


def blocks_of(answered, kind):
    """Answered cells as a block: single answers, fractions or repeated trials."""
    if kind == "fractions":
        return response_block(np.where(answered, 0.5, np.nan).astype(np.float32))
    if kind == "trials":
        trials = np.where(answered, 3, 0).astype(np.int16)
        return response_block(np.where(answered, 0, -1).astype(np.int16), trials)
    return response_block(np.where(answered, 0, -1).astype(np.int8))


def components_of(answered, row_step=None, column_step=None, kind="single"):
    models, items = answered.shape
    links = Links(models, items)
    for row in range(0, models, row_step or models):
        for column in range(0, items, column_step or items):
            part = answered[
                row : row + (row_step or models), column : column + (column_step or items)
            ]
            places = np.arange(row, row + len(part))
            links.add(places, column, block_links(blocks_of(part, kind)))
    return links.numbered(answered.sum(axis=1), np.arange(models))


@pytest.mark.parametrize("kind", ["single", "fractions", "trials"])
@pytest.mark.parametrize("share", [0.05, 0.08, 0.3])
@pytest.mark.parametrize("steps", [(None, None), (2, 3), (1, 1)])
def test_components_by_brute_force(steps, share, kind):
    rng = np.random.default_rng(1)
    answered = rng.random((12, 15)) < share
    models, items = components_of(answered, *steps, kind)
    reach = (answered @ answered.T) | np.eye(12, dtype=bool)
    for _ in range(12):
        reach = reach @ reach
    empty = ~answered.any(axis=1)
    np.testing.assert_array_equal(models == 0, empty)
    for i in np.flatnonzero(~empty):
        for k in np.flatnonzero(~empty):
            assert (models[i] == models[k]) == reach[i, k]
    for j in range(15):
        takers = np.flatnonzero(answered[:, j])
        assert (items[j] == 0) == (len(takers) == 0)
        assert (models[takers] == items[j]).all()


def test_the_largest_component_is_the_first():
    answered = np.zeros((6, 6), bool)
    answered[:2, :2] = answered[2:5, 2:4] = True
    models, items = components_of(answered)
    assert models.tolist() == [2, 2, 1, 1, 1, 0]
    assert items.tolist() == [2, 2, 1, 1, 0, 0]


def test_equally_large_components_go_by_cells_then_by_order():
    answered = np.zeros((6, 7), bool)
    answered[:2, :2] = answered[2:4, 2:4] = answered[4:, 4:] = True
    links = Links(6, 7)
    links.add(np.arange(6), 0, block_links(blocks_of(answered, "single")))
    cells, order = answered.sum(axis=1), np.array([3, 2, 1, 0, 5, 4])
    assert links.numbered(cells, order).models.tolist() == [3, 3, 2, 2, 1, 1]


@pytest.mark.parametrize("ascending", [True, False])
def test_a_long_chain_is_one_component(ascending):
    answered = np.eye(3000, dtype=bool) | np.eye(3000, k=1, dtype=bool)
    models, items = components_of(answered[:: 1 if ascending else -1])
    assert set(models) == set(items) == {1}


def test_nothing_answered():
    models, items = components_of(np.zeros((3, 2), bool))
    assert not models.any()
    assert not items.any()
