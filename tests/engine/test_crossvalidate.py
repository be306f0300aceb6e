"""Cross-validation of the penalty against fits of the training cells done one by one."""

import dask.array as da
import numpy as np
import pandas as pd
import pytest
from pandas.util import hash_array
from scipy.special import expit

import mtlirt
from mtlirt.engine.crossvalidate import FOLD_TOLERANCE
from mtlirt.errors import InputError
from mtlirt.irt.blocks import response_block
from mtlirt.irt.folds import fold_labels

PENALTIES = (0.02, 0.05, 0.1)
OPTIONS = {"estimator": "joint", "penalties": PENALTIES, "folds": 3}


@pytest.fixture(scope="module")
def blocks():
    rng = np.random.default_rng(11)
    shared = rng.normal(size=50)
    out = {}
    for t, items in enumerate((24, 30, 36)):
        trait = 0.9 * shared + 0.4 * rng.normal(size=50)
        eta = trait[:, None] * rng.uniform(0.5, 1.5, items) + rng.uniform(-1, 1, items)
        out[f"d{t}"] = (rng.random(eta.shape) < expit(eta)).astype(np.int8)
    return out


def lazy(blocks, chunks=-1):
    return {name: da.from_array(block, chunks=chunks) for name, block in blocks.items()}


@pytest.fixture(scope="module")
def fitted(blocks):
    return mtlirt.fit(lazy(blocks), **OPTIONS)


def labels_of(name, block):
    models = hash_array(np.array([str(i) for i in range(len(block))], dtype=object))
    items = hash_array(np.array([str(j) for j in range(block.shape[1])], dtype=object))
    items = items ^ hash_array(np.array([name], dtype=object))
    return fold_labels([response_block(block)], models, items, 3)


def heldout_loss(blocks, penalty, fold):
    """Of a fit whose held-out cells are missing, cell by cell."""
    labels = {name: labels_of(name, block) for name, block in blocks.items()}
    training = {
        name: np.where(labels[name] == fold, np.int8(-1), block) for name, block in blocks.items()
    }
    fit = mtlirt.fit(
        lazy(training), estimator="joint", penalty=penalty, tolerance=FOLD_TOLERANCE * 1e-3
    )
    traits = fit.traits["mean"].to_numpy().reshape(-1, len(blocks))
    means = []
    for t, (name, block) in enumerate(blocks.items()):
        items = fit.items.loc[name]
        eta = traits[:, [t]] * items["slope"].to_numpy() + items["intercept"].to_numpy()
        inside = (labels[name] == fold) & ~items["constant"].to_numpy()
        means.append((np.logaddexp(0, eta) - block * eta)[inside].mean())
    return np.mean(means)


def test_losses_are_those_of_fits_on_the_training_cells(blocks, fitted):
    for penalty in PENALTIES:
        losses = [heldout_loss(blocks, penalty, fold) for fold in range(3)]
        found = fitted.path.loc[penalty]
        np.testing.assert_allclose(found["loss"], np.mean(losses), rtol=3e-4)
        np.testing.assert_allclose(found["loss_se"], np.std(losses, ddof=1) / np.sqrt(3), rtol=0.05)


def test_the_fit_is_the_one_at_the_chosen_penalty(blocks, fitted):
    chosen = fitted.path.index[fitted.path["chosen"]]
    assert list(chosen) == [fitted.info["penalty"]]
    assert fitted.path["loss"].idxmin() == chosen[0]
    assert fitted.info["penalty_chosen_by"] == "cross-validation"
    direct = mtlirt.fit(lazy(blocks), estimator="joint", penalty=chosen[0])
    pd.testing.assert_frame_equal(fitted.items, direct.items)
    pd.testing.assert_frame_equal(fitted.traits, direct.traits)
    assert direct.path is None


def test_of_equal_losses_the_smaller_penalty_is_chosen(blocks):
    """Beyond the penalty that fuses all domains every fit is the same."""
    same = mtlirt.fit(lazy(blocks), estimator="joint", penalties=(9.0, 3.0, 6.0), folds=3)
    assert (same.path["loss"] == same.path["loss"].iloc[0]).all()
    assert same.info["penalty"] == 3.0
    assert (same.path["fused"] == 3).all()


def test_neither_chunks_nor_order_matter(blocks, fitted):
    split = mtlirt.fit(lazy(blocks, (17, 11)), **OPTIONS)
    np.testing.assert_allclose(split.path["loss"], fitted.path["loss"], rtol=1e-6)
    turned = mtlirt.fit(lazy(dict(reversed(blocks.items()))), **OPTIONS)
    np.testing.assert_allclose(turned.path["loss"], fitted.path["loss"], rtol=1e-6)


def test_folds_run_on_a_cluster(blocks, fitted, threaded_cluster):
    found = mtlirt.fit(lazy(blocks, (25, -1)), **OPTIONS, client=threaded_cluster)
    np.testing.assert_allclose(found.path["loss"], fitted.path["loss"], rtol=1e-6)
    assert found.info["penalty"] == fitted.info["penalty"]


def test_missing_and_guessed_cells(blocks):
    rng = np.random.default_rng(0)
    holes = {
        name: np.where(rng.random(block.shape) < 0.2, np.int8(-1), block)
        for name, block in blocks.items()
    }
    fit = mtlirt.fit(lazy(holes), **OPTIONS)
    assert np.isfinite(fit.path["loss"]).all()
    assert fit.info["converged"]


def test_the_path_and_its_picture_are_in_the_snapshot(fitted, tmp_path):
    for version in (1, 2):
        assert mtlirt.publish(fitted, tmp_path / "snapshots") == version
    loaded = mtlirt.load(tmp_path / "snapshots")
    pd.testing.assert_frame_equal(loaded.path, fitted.path)
    pictures = [path.read_bytes() for path in (tmp_path / "snapshots").rglob("path.svg")]
    assert len(pictures) == 2
    assert pictures[0] == pictures[1]
    assert b"<svg" in pictures[0]
    assert b"dc:date" not in pictures[0]


def test_folds_that_cannot_be_are_told(blocks):
    with pytest.raises(
        InputError, match="folds 37: no domain has as many items, the longest has 36"
    ):
        mtlirt.fit(lazy(blocks), **{**OPTIONS, "folds": 37})
