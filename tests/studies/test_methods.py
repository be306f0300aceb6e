"""Every method gives traits of every domain and a general one, near the truth."""

import dask.array as da
import numpy as np
import pytest

from mtlirt.errors import InputError
from mtlirt.responses.arrays import from_arrays
from mtlirt.studies import methods
from mtlirt.studies.draw import draw, sequence_of
from mtlirt.studies.methods import (
    FIXED_PENALTY,
    METHODS,
    Estimates,
    find_methods,
    one_domain,
    warm_up,
)
from mtlirt.studies.metrics import agreement
from mtlirt.studies.rows import catalogue

ROW = catalogue(small=True)["paper-0.20"]


@pytest.fixture(scope="module")
def data():
    return draw(ROW, sequence_of(0, ROW.name, 0))


FITS = {**METHODS, "joint": FIXED_PENALTY}
"""The methods, but that cross-validation is left out: it takes a minute."""


@pytest.mark.parametrize("name", FITS)
def test_traits_are_near_the_truth(name, data):
    found = FITS[name](data.responses)
    assert found.traits.shape == found.trait_sds.shape == data.traits.shape
    assert found.general.shape == found.general_sds.shape == data.general.shape
    assert found.converged is True
    for estimate, truth in zip(found.traits.T, data.traits.T, strict=True):
        assert agreement(estimate, truth)["spearman"] > 0.8
    assert agreement(found.general, data.general)["sine"] < 0.3


@pytest.mark.slow
def test_cross_validation_finds_that_domains_share_much(data):
    joint, local = (METHODS[name](data.responses) for name in ("joint", "local"))
    better = [
        agreement(one, truth)["sine"] < agreement(other, truth)["sine"]
        for one, other, truth in zip(joint.traits.T, local.traits.T, data.traits.T, strict=True)
    ]
    assert all(better)


def test_domains_and_models_stay_in_their_order(data):
    names = list(data.cells)[::-1]
    order = np.random.default_rng(0).permutation(len(data.general))
    moved = from_arrays({name: da.from_array(data.cells[name][order]) for name in names})
    found, other = METHODS["separate"](data.responses), METHODS["separate"](moved)
    np.testing.assert_allclose(other.traits, found.traits[order, ::-1], atol=1e-4)
    np.testing.assert_allclose(other.trait_sds, found.trait_sds[order, ::-1], atol=1e-4)


def test_pooled_is_one_domain_of_all_items(data):
    found = METHODS["pooled"](data.responses)
    cells = np.concatenate(list(data.cells.values()), axis=1)
    one = METHODS["separate"](from_arrays({"all": da.from_array(cells)}))
    for k in range(len(data.cells)):
        np.testing.assert_allclose(found.traits[:, k], one.traits[:, 0], atol=1e-8)
        np.testing.assert_allclose(found.trait_sds[:, k], one.trait_sds[:, 0], atol=1e-8)
    np.testing.assert_allclose(found.general, one.general, atol=1e-8)


def test_pooled_items_keep_what_is_known_of_them():
    row = catalogue(small=True)["guessing-known"]
    pooled = one_domain(draw(row, sequence_of(0, row.name, 0)).responses)
    assert pooled.shape == (40, 180)
    assert list(pooled.domains) == ["all"]
    assert set(pooled.items["guessing"]) == {0.25}


def test_the_joint_estimator_chooses_its_penalty(monkeypatch):
    asked = []
    monkeypatch.setattr(methods, "fit", lambda responses, **options: asked.append(options))
    for method in (METHODS["joint"], FIXED_PENALTY):
        with pytest.raises(AttributeError):
            method(from_arrays({"one": da.zeros((2, 2), dtype=np.int8)}))
    options = {"threads": 1, "estimator": "joint"}
    assert asked == [options | {"penalties": methods.PENALTIES}, options | {"penalty": 0.1}]


@pytest.mark.parametrize("place", ["traits", "general"])
def test_traits_that_are_no_numbers_are_a_failure(place):
    parts = {"traits": np.zeros((3, 2)), "general": np.zeros(3)}
    parts[place].flat[1] = np.nan
    with pytest.raises(InputError, match=rf"{place}.*: 1 values are not finite"):
        Estimates(parts["traits"], np.zeros((3, 2)), parts["general"], np.zeros(3), True)


@pytest.mark.parametrize("method", ["accuracy", "joint"])
def test_warming_up_runs_a_method_once_a_process(method, monkeypatch):
    seen = []
    monkeypatch.setitem(METHODS, "accuracy", seen.append)
    monkeypatch.setattr(methods, "FIXED_PENALTY", seen.append)
    warm_up.cache_clear()
    warm_up(method)
    warm_up(method)
    warm_up.cache_clear()
    (responses,) = seen
    missing = [(part.array < 0).sum().compute() for part in responses.domains.values()]
    assert missing == [0, 1, 0]


def test_methods_are_found_by_name_in_the_order_of_the_table():
    assert find_methods(["all"]) == tuple(METHODS)
    assert find_methods(["pooled", "local"]) == ("local", "pooled")
    with pytest.raises(InputError, match="method 'mean': there is none; known are all, accuracy"):
        find_methods(["mean"])
    with pytest.raises(InputError, match="no methods"):
        find_methods([])
    with pytest.raises(InputError, match="methods local, local: name each once"):
        find_methods(["local", "local"])
