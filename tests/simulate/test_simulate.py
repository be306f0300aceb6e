"""Simulated responses: reproducible in any chunking, and true to their truth."""

import dask
import numpy as np
import pandas as pd
import pytest
from scipy.special import expit

from mtlirt.errors import InputError
from mtlirt.responses.store import open_responses, store_history
from mtlirt.simulate.cells import STRIP, DomainLaw
from mtlirt.simulate.designs import DESIGNS, Design
from mtlirt.simulate.generate import simulate
from mtlirt.simulate.laws import FactorTraits, ItemParameters, intercept_items

SMALL = Design("small", (("one", 30), ("two", 20), ("three", 10)), 150, intercept_items,
               FactorTraits(2, 0.3))  # fmt: skip


def cells(simulation):
    parts = simulation.responses.domains.values()
    return np.concatenate(dask.compute(*[part.array for part in parts]), axis=1)


def test_equal_seeds_give_equal_responses_and_others_others():
    one, same, other = (simulate(SMALL, seed=seed) for seed in (5, 5, 6))
    np.testing.assert_array_equal(cells(one), cells(same))
    pd.testing.assert_frame_equal(one.truth.traits, same.truth.traits)
    assert (cells(one) != cells(other)).any()
    drawn = ["slope", "intercept"]
    assert (one.truth.items[drawn] != other.truth.items[drawn]).all(axis=None)


def test_domains_and_strips_have_streams_of_their_own():
    equal = ItemParameters(np.ones(50), np.zeros(50))
    nobody = np.zeros(2 * STRIP, bool)
    one, two = (DomainLaw(0, domain, np.zeros(2 * STRIP), equal, 0.0, nobody) for domain in (0, 1))
    strips = [one.draw_strip(0), one.draw_strip(1), two.draw_strip(0)]
    for k, strip in enumerate(strips):
        agreement = np.mean(strip == strips[k - 1])
        assert agreement == pytest.approx(0.5, abs=0.05)


@pytest.mark.parametrize("chunks", [(1, 30), (7, 7), (STRIP, 11), (100, 30), (150, 1)])
def test_cells_do_not_depend_on_chunks(monkeypatch, chunks):
    whole = cells(simulate(SMALL, seed=3, missing=0.1, domain_missing=0.2))
    monkeypatch.setattr("mtlirt.simulate.cells.chunk_shape", lambda *_: chunks)
    split = simulate(SMALL, seed=3, missing=0.1, domain_missing=0.2)
    assert split.responses.domains["one"].array.chunksize == chunks
    np.testing.assert_array_equal(cells(split), whole)


def test_written_in_any_chunks_it_reads_back(tmp_path):
    simulation = simulate(SMALL, seed=3, missing=0.1)
    simulation.write(tmp_path / "store")
    read = open_responses(tmp_path / "store")
    for name, part in read.domains.items():
        expected = simulation.responses.domains[name].array.compute()
        np.testing.assert_array_equal(part.array.compute(), expected)


def test_more_models_begin_with_the_same_cells():
    few, many = (simulate(SMALL, models=models, seed=2, missing=0.2) for models in (70, 200))
    np.testing.assert_array_equal(cells(few), cells(many)[:70])


def test_missing_cells_only_hide():
    whole = cells(simulate(SMALL, seed=4))
    holes = cells(simulate(SMALL, seed=4, missing=0.3, domain_missing=0.3))
    assert set(np.unique(whole)) == {0, 1}
    np.testing.assert_array_equal(holes[holes >= 0], whole[holes >= 0])


@pytest.mark.parametrize("missing", [0.01, 0.2, 0.95])
def test_the_share_of_missing_cells(missing):
    hidden = cells(simulate(SMALL, models=1000, seed=1, missing=missing)) < 0
    error = np.sqrt(missing * (1 - missing) / hidden.size)
    assert hidden.mean() == pytest.approx(missing, abs=4 * error)


def test_missing_cells_do_not_depend_on_what_they_hold():
    whole = cells(simulate(SMALL, models=2000, seed=1))
    hidden = cells(simulate(SMALL, models=2000, seed=1, missing=0.5)) < 0
    assert whole[hidden].mean() == pytest.approx(whole[~hidden].mean(), abs=0.01)


@pytest.mark.parametrize("share", [0.3, 0.99])
def test_missing_domains_leave_each_model_one(share):
    counts = simulate(SMALL, models=2000, seed=1, domain_missing=share).responses.counts()
    taken = counts > 0
    assert ((counts == 0) | (counts == [30, 20, 10])).all(axis=None)
    assert taken.any(axis=1).all()
    expected = share - share**3 / 3  # less the one that is kept when all three would go
    assert 1 - taken.to_numpy().mean() == pytest.approx(expected, abs=0.02)


@pytest.mark.parametrize("name", ["demo", "paper"])
def test_item_means_are_those_of_the_truth(name):
    simulation = simulate(name, seed=1)
    truth = simulation.truth
    domain = truth.items.index.get_level_values("domain")
    logit = truth.traits[domain].to_numpy() * truth.items["slope"].to_numpy()
    chance = expit(logit + truth.items["intercept"].to_numpy())
    error = np.sqrt((chance * (1 - chance)).sum(axis=0)) / len(chance)
    z = (cells(simulation).mean(axis=0) - chance.mean(axis=0)) / error
    assert np.abs(z).max() < 4.5
    assert z.std() == pytest.approx(1, abs=0.1)
    assert z.mean() == pytest.approx(0, abs=0.15)


def test_the_mmlu_design_has_the_marginal_mean_of_its_laws():
    simulation = simulate("mmlu", models=500, seed=1)
    domain = simulation.responses.domains["professional_law"]
    mean = domain.array.mean(axis=0).compute()
    items = simulation.truth.items.loc["professional_law"]
    nodes, weights = np.polynomial.hermite_e.hermegauss(41)
    chance = expit(nodes[:, None] * items["slope"].to_numpy() + items["intercept"].to_numpy())
    expected = weights @ chance / weights.sum()
    assert np.corrcoef(mean, expected)[0, 1] > 0.99
    assert mean.mean() == pytest.approx(expected.mean(), abs=0.04)


@pytest.mark.parametrize("name", DESIGNS)
def test_tables_name_the_same_models_and_items(name):
    simulation = simulate(name, models=30)
    responses, truth = simulation.responses, simulation.truth
    assert responses.shape == (30, sum(count for _, count in DESIGNS[name].domains))
    assert responses.models.index.equals(truth.traits.index)
    assert responses.models.index.equals(truth.general.index)
    assert responses.items.index.equals(truth.items.index)
    assert list(responses.domains) == list(truth.traits.columns) == list(truth.domains.index)


def test_ids():
    responses = simulate("demo").responses
    assert responses.models.index[0] == "model-0001"
    assert responses.item_ids("coding")[16] == "coding-017"
    assert simulate("mmlu", models=2).responses.item_ids("anatomy")[0] == "anatomy-0001"


def test_writing_keeps_the_truth_beside_the_store(tmp_path):
    simulation = simulate("demo", seed=7, missing=0.1)
    assert simulation.write(tmp_path / "store") == 1
    (entry,) = store_history(tmp_path / "store")
    assert entry.history == {
        "source": "simulation",
        "design": "demo",
        "models": 200,
        "seed": 7,
        "missing": 0.1,
        "domain_missing": 0.0,
    }
    traits = pd.read_parquet(tmp_path / "store-truth/traits.parquet").set_index("model_id")
    pd.testing.assert_frame_equal(traits, simulation.truth.traits)
    items = pd.read_parquet(tmp_path / "store-truth/items.parquet")
    assert list(items) == ["domain", "item_id", "slope", "intercept", "guessing"]
    domains = pd.read_parquet(tmp_path / "store-truth/domains.parquet")
    assert list(domains) == ["domain", "loading_1", "loading_2", "uniqueness"]
    general = pd.read_parquet(tmp_path / "store-truth/general.parquet")
    assert list(general) == ["model_id", "factor_1", "factor_2"]


def test_writing_again_needs_overwrite(tmp_path):
    first, second = simulate(SMALL, seed=1), simulate(SMALL, seed=2)
    first.write(f"{tmp_path}/store/")
    with pytest.raises(InputError, match="store-truth: exists already"):
        second.write(tmp_path / "store")
    assert second.write(tmp_path / "store", overwrite=True) == 2
    traits = pd.read_parquet(tmp_path / "store-truth/traits.parquet").set_index("model_id")
    pd.testing.assert_frame_equal(traits, second.truth.traits)


@pytest.mark.parametrize(
    ("options", "told"),
    [
        ({"models": 1}, "1 models: expected at least 2"),
        ({"seed": -1}, "seed -1"),
        ({"missing": 1.0}, "missing 1.0"),
        ({"missing": float("nan")}, "missing nan"),
        ({"domain_missing": -0.1}, "domain_missing -0.1"),
    ],
)
def test_bad_use_is_told(options, told):
    with pytest.raises(InputError, match=told):
        simulate("demo", **options)
