"""The data of a replication: seeds of its own, noise, clones, missing cells, and the truth."""

import itertools

import numpy as np
import pytest
from scipy.special import expit

from mtlirt.simulate.generate import simulate
from mtlirt.simulate.median import sine_median
from mtlirt.studies.draw import Drawn, clone_sources, draw, sequence_of, with_clones
from mtlirt.studies.rows import catalogue

ROWS = catalogue()
SMALL = catalogue(small=True)


def drawn(name, replication=0, rows=SMALL, seed=0):
    return draw(rows[name], sequence_of(seed, name, replication))


def together(data: Drawn):
    return np.concatenate(list(data.cells.values()), axis=1)


def test_every_replication_has_seeds_of_its_own():
    keys = list(itertools.product([0, 1], ["paper-0.10", "paper-0.15"], [0, 1]))
    states = {tuple(sequence_of(*key).generate_state(4)) for key in keys}
    assert len(states) == len(keys)
    assert (
        sequence_of(*keys[3]).generate_state(4) == sequence_of(*keys[3]).generate_state(4)
    ).all()


def test_draws_do_not_depend_on_what_was_drawn_before():
    keys = [("clones", 0), ("clones", 1), ("noise", 0)]
    one = {key: together(drawn(*key)) for key in keys}
    other = {key: together(drawn(*key)) for key in reversed(keys)}
    for key in keys:
        np.testing.assert_array_equal(one[key], other[key])
    assert (one["clones", 0] != one["clones", 1]).any()


@pytest.mark.parametrize("name", ["paper-0.00", "paper-0.30", "two-centres", "random"])
def test_the_truth_is_that_of_the_design(name):
    data = drawn(name, rows=ROWS)
    models = len(data.traits)
    np.testing.assert_allclose(data.traits.mean(axis=0), 0, atol=1e-12)
    np.testing.assert_allclose(np.linalg.norm(data.traits, axis=0), np.sqrt(models))
    seed = int(sequence_of(0, name, 0).spawn(1)[0].generate_state(1, np.uint64)[0])
    truth = simulate(ROWS[name].design, seed=seed).truth
    np.testing.assert_allclose(data.traits, truth.traits, atol=1e-12)
    np.testing.assert_allclose(data.general, truth.general["theta_G"], atol=1e-6)
    assert data.meant.all()


def test_responses_are_the_cells():
    data = drawn("missing-20")
    found = data.responses
    assert list(found.domains) == [name for name, _ in SMALL["missing-20"].design.domains]
    for name, part in found.domains.items():
        np.testing.assert_array_equal(part.array.compute(), data.cells[name])
        assert part.array.numblocks == (1, 1)
    assert not len(found.items.columns)


@pytest.mark.parametrize(("name", "columns"), [("guessing", []), ("guessing-known", ["guessing"])])
def test_a_floor_below_the_chances_of_every_model(name, columns):
    data = drawn(name, rows=ROWS)
    worst = np.argsort(data.general)[:5]
    poor = together(data)[worst].mean()
    assert 0.25 + 0.75 * 0.1 < poor < 0.25 + 0.75 * 0.4
    assert list(data.responses.items.columns) == columns
    if columns:
        assert set(data.responses.items["guessing"]) == {0.25}


def test_noise_is_independent_of_every_trait_and_as_hard_as_before():
    data = drawn("noise", rows=ROWS)
    seed = int(sequence_of(0, "noise", 0).spawn(1)[0].generate_state(1, np.uint64)[0])
    parts = simulate(ROWS["noise"].design, seed=seed).responses.domains
    before = {name: part.array.compute() for name, part in parts.items()}
    for name, block in data.cells.items():
        if name != "d06":
            np.testing.assert_array_equal(block, before[name])
    np.testing.assert_array_equal(data.cells["d06"].sum(axis=0), before["d06"].sum(axis=0))
    total = data.cells["d06"].sum(axis=1)
    assert np.corrcoef(total, before["d06"].sum(axis=1))[0, 1] < 0.3
    chance = before["d06"].mean(axis=0)
    assert total.var() == pytest.approx((chance * (1 - chance)).sum(), rel=0.5)
    assert list(np.flatnonzero(~data.meant)) == [5]
    expected = sine_median(np.delete(data.traits, 5, axis=1))
    np.testing.assert_allclose(data.general, expected)


@pytest.mark.parametrize("models", [40, 100])
def test_a_fifth_of_the_models_copies_five_others(models):
    sources = clone_sources(np.random.default_rng(1), models, 0.2)
    clones = np.flatnonzero(sources != np.arange(models))
    assert len(clones) == models // 5
    originals, copies = np.unique(sources[clones], return_counts=True)
    assert len(originals) == 5
    assert copies.max() - copies.min() <= 1
    assert not set(originals) & set(clones)


def test_clones_have_traits_and_most_responses_of_their_originals():
    data = drawn("clones", rows=ROWS)
    cells = together(data)
    same = np.all(np.isclose(data.traits[:, None], data.traits, atol=1e-12), axis=2)
    groups = {tuple(np.flatnonzero(row)) for row in same if row.sum() > 1}
    assert sorted(map(len, groups)) == [5] * 5
    for group in groups:
        pairs = [(cells[i] == cells[j]).mean() for i, j in itertools.combinations(group, 2)]
        assert 0.93 < min(pairs) < max(pairs) < 1
    lone = np.flatnonzero(same.sum(axis=1) == 1)
    assert (cells[lone[0]] == cells[lone[1]]).mean() < 0.8


def test_a_twentieth_of_the_cells_of_a_clone_is_drawn_anew_from_its_chances():
    simulation = simulate(ROWS["wide"].design, seed=1)
    parts = simulation.responses.domains
    never = {name: np.full(part.array.shape, -1, np.int8) for name, part in parts.items()}
    sources = np.arange(100)
    sources[50:] = 7
    copied = with_clones(np.random.default_rng(0), never, simulation, sources)
    traits, items = simulation.truth.traits.iloc[7], simulation.truth.items
    anew, right, expected = [], [], []
    for name, block in copied.items():
        assert (block[:50] == -1).all()
        anew += list((block[50:] >= 0).mean(axis=0))
        right.append((block[50:] == 1).sum() / (block[50:] >= 0).sum())
        own = items.loc[name]
        expected.append(expit(own["slope"] * traits[name] + own["intercept"]).mean())
    assert np.mean(anew) == pytest.approx(0.05, abs=0.002)
    np.testing.assert_allclose(np.mean(right), np.mean(expected), atol=0.02)
    assert all((block == -1).all() for block in never.values()), "what was given is left alone"


@pytest.mark.parametrize(("name", "share"), [("missing-20", 0.2), ("missing-95", 0.95)])
def test_the_share_of_missing_cells(name, share):
    missing = together(drawn(name)) < 0
    assert missing.mean() == pytest.approx(share, abs=0.01)
