"""Products of residuals, pairs and groups against brute force."""

import numpy as np
import pandas as pd
import pytest
from scipy.special import expit
from scipy.stats import norm

from mtlirt.diagnostics import copies, dependence
from mtlirt.diagnostics.cells import DomainCells
from mtlirt.diagnostics.copies import exact_copies, grouped, near_copies
from mtlirt.diagnostics.dependence import dependent_items
from mtlirt.diagnostics.digests import Digests, transposed
from mtlirt.diagnostics.pairs import Pairs, blocks_of, far_pairs, products
from mtlirt.diagnostics.residuals import cell_moments, probability_slope
from mtlirt.irt.blocks import response_block
from mtlirt.irt.curves import Items


@pytest.fixture
def world(responses_of):
    """Cells of 80 models on 50 items with two copies in them, and the models' traits."""
    rng = np.random.default_rng(1)
    items = Items.plain(rng.uniform(0.5, 2, 50), rng.normal(size=50))
    traits = rng.normal(size=80)
    cells = rng.random((80, 50)) < expit(traits[:, None] * items.slope + items.intercept)
    block = cells.astype(np.int8)
    block[7], block[:, 9] = block[3], block[:, 4]
    block[rng.random((80, 50)) < 0.1] = -1
    domain = responses_of({"a": block}).domains["a"]
    constant = np.zeros(50, bool)
    constant[2] = True
    every = np.arange(80), np.arange(50)
    return DomainCells("a", items, constant, *every, domain, held=True), block, traits


def residuals(cells, block, traits):
    p = expit(traits[:, None] * cells.items.slope + cells.items.intercept)
    return np.where(block >= 0, block - p, 0.0), np.where(block >= 0, p * (1 - p), 0.0)


def brute_force(r, v, seen, extra=None):
    """Correlation, z and common columns of every pair of rows."""
    out = {}
    for i in range(len(r)):
        for k in range(i + 1, len(r)):
            both = seen[i] & seen[k]
            product = (r[i] * r[k])[both].sum() + (0 if extra is None else extra[i, k])
            lengths = np.sqrt((r[i, both] ** 2).sum() * (r[k, both] ** 2).sum())
            z = product / np.sqrt((v[i] * v[k])[both].sum())
            out[i, k] = product / lengths, z, both.sum()
    return out


@pytest.mark.parametrize("size", [16, 100])
def test_dependent_items_are_all_pairs_beyond_the_threshold(world, size, monkeypatch):
    cells, block, traits = world
    monkeypatch.setattr(dependence, "BLOCK_ITEMS", size)
    sd = np.full(80, 0.4)
    found = dependent_items(cells, traits, sd, 0.49)
    r, v = residuals(cells, block, traits)
    slope = np.where(block >= 0, probability_slope(cells.items, traits), 0.0) * sd[:, None]
    seen = block >= 0
    expected = brute_force(r.T, v.T, seen.T, slope.T @ slope)
    pairs = list(zip(found.pairs.one.tolist(), found.pairs.other.tolist(), strict=True))
    assert pairs[0] == (4, 9)
    assert found.total == len(pairs)
    for pair, q3, z, common in zip(
        pairs, found.pairs.correlation, found.pairs.z, found.pairs.common, strict=True
    ):
        assert (q3, z, common) == pytest.approx(expected[pair], rel=1e-4)
    reach = -norm.ppf(0.245 / (49 * 48 / 2))
    beyond = {pair for pair, (_, z, _) in expected.items() if abs(z) > reach and 2 not in pair}
    assert set(pairs) <= beyond


@pytest.mark.parametrize("size", [16, 100])
def test_near_copies_are_found_in_blocks_of_any_size(world, size, monkeypatch):
    cells, block, traits = world
    monkeypatch.setattr(copies, "BLOCK_MODELS", size)
    order = np.random.default_rng(2).permutation(80)
    found = near_copies([cells], traits[:, None], order, 0.05, 0.5)
    assert [{int(a), int(b)} for a, b in zip(found.one, found.other, strict=True)] == [{3, 7}]
    r, v = residuals(cells, block, traits)
    expected = brute_force(r, v, block >= 0)[3, 7]
    assert (found.correlation[0], found.z[0], found.common[0]) == pytest.approx(expected, rel=1e-4)


def test_moments_of_products_are_those_of_independent_answers():
    rng = np.random.default_rng(3)
    items = Items.plain(np.array([1.0, 1.5, 0.7]), np.array([-1.5, 0.5, 1.0]))
    traits = np.array([-0.5, 0.8])
    p = expit(traits[:, None] * items.slope + items.intercept)
    draws = (rng.random((40_000, *p.shape)) < p) - p
    sums = (draws[:, 0] * draws[:, 1]).sum(axis=1)
    moments = cell_moments(response_block(np.ones((2, 3), np.int8)), items, traits)
    rows = [type(moments)(*(part[k : k + 1] for part in moments)) for k in (0, 1)]
    found = products(*rows)
    assert found.variance[0, 0] == pytest.approx(sums.var(), rel=0.03)
    assert found.third[0, 0] == pytest.approx((sums**3).mean(), abs=0.003)


def test_blocks_cover_each_pair_once():
    seen = np.zeros((10, 10), int)
    for one, other in blocks_of(10, 3):
        seen[one, other] += 1
    assert (seen[np.triu_indices(10)] == 1).all()


def test_false_pairs_of_independent_rows_come_at_the_stated_rate():
    # 60 replications of 40 rows with few columns and rare answers, where normal tails fail
    rng = np.random.default_rng(4)
    items, traits = Items.plain(np.zeros(60), np.full(60, -2.2)), np.zeros(40)
    most, count = 0.1 / (40 * 39 / 2), 0
    for _ in range(60):
        block = (rng.random((40, 60)) < expit(-2.2)).astype(np.int8)
        moments = cell_moments(response_block(block), items, traits)
        at = slice(0, 40), slice(0, 40)
        count += len(far_pairs(products(moments, moments), at, most).one) > 0
    assert count <= 20


def lines(*rows):
    digests = Digests(len(rows))
    digests.update(0, response_block(np.array(rows, np.int8)))
    return digests


def test_equal_lines_have_equal_digests_however_they_are_cut():
    rng = np.random.default_rng(5)
    block = rng.integers(-1, 2, (6, 10)).astype(np.int8)
    block[4], block[:, 8] = block[1], block[:, 2]
    whole, parts, columns = Digests(6), Digests(6), Digests(10)
    whole.update(0, response_block(block))
    for rows in (slice(0, 2), slice(2, 6)):
        parts.update(rows.start, response_block(block[rows, :3]))
        columns.update(0, transposed(response_block(block[rows])))
    for rows in (slice(0, 2), slice(2, 6)):
        parts.update(rows.start, response_block(block[rows, 3:]))
    assert parts.values == whole.values
    assert len(set(whole.values)) == 5
    assert columns.values[2] == columns.values[8]
    assert len(set(columns.values)) == 9
    assert lines([-1, -1], [0, -1]).answered.tolist() == [False, True]


def test_exact_copies_go_with_the_first_id():
    digests = lines([1, 0], [1, 1], [1, 0], [-1, -1], [-1, -1])
    ids = pd.Index(["z", "b", "a", "d", "e"])
    found = exact_copies(digests.values, digests.answered, ids)
    assert found.tolist() == [2, 1, 2, 3, 4]


def test_groups_are_chains_of_pairs_and_do_not_depend_on_order():
    ids = pd.Index(["d", "c", "b", "a", "f", "e"])
    exact = np.array([0, 1, 2, 3, 4, 4])
    near = Pairs(np.array([0, 1]), np.array([1, 3]), *(np.ones(2),) * 4)
    found = grouped(exact, near, ids)
    assert found.group.tolist() == [1, 1, 0, 1, 2, 2]
