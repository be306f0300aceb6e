"""Simulated responses, fitted, for diagnostics to judge."""

import dask.array as da
import numpy as np
import pandas as pd
import pytest
from scipy.special import expit

import mtlirt
from mtlirt.responses.matrix import DomainResponses, Responses


@pytest.fixture(name="responses_of", scope="session")
def responses_of_fixture():
    return responses_of


@pytest.fixture(name="drawn", scope="session")
def drawn_fixture():
    return drawn


def responses_of(blocks, models=None, chunks=None):
    """Responses of models x items blocks by domain; models are m000, m001, ..."""
    count = len(next(iter(blocks.values())))
    ids = pd.Index([f"m{i:03d}" for i in range(count)], name="model_id")
    pairs = [
        (name, f"{name}-{j:03d}") for name, block in blocks.items() for j in range(block.shape[1])
    ]
    return Responses(
        {
            name: DomainResponses(da.from_array(block, chunks or block.shape))
            for name, block in blocks.items()
        },
        pd.DataFrame(models or {}, index=ids),
        pd.DataFrame(index=pd.MultiIndex.from_tuples(pairs, names=["domain", "item_id"])),
    )


def drawn(seed, models, items, domains=("a", "b"), missing=0.0):
    """Blocks of a one-factor world by domain, and its traits, slopes and intercepts by domain."""
    rng = np.random.default_rng(seed)
    factor = rng.normal(size=models)
    blocks, truth = {}, {}
    for name in domains:
        trait = 0.8 * factor + 0.6 * rng.normal(size=models)
        slope, intercept = np.exp(rng.normal(0, 0.3, items)), rng.normal(0.3, 1.0, items)
        p = expit(np.multiply.outer(trait, slope) + intercept)
        block = (rng.random(p.shape) < p).astype(np.int8)
        block[rng.random(p.shape) < missing] = -1
        blocks[name], truth[name] = block, (trait, slope, intercept)
    return blocks, truth


FLIPPED, BENT, ORIGINAL, REPEATED, ONE, NEXT, SHIFTED = range(7)
"""Items of domain a with a fault."""

CLONE, CLONED, COPY, COPIED, RANDOM = range(5)
"""Models with a fault."""


@pytest.fixture(scope="session")
def planted():
    """400 models, two domains of 40 items, with one fault of each kind."""
    blocks, truth = drawn(5, 400, 40, missing=0.1)
    rng = np.random.default_rng(6)
    a = blocks["a"]
    group = np.where(rng.random(400) < 0.5, "x", "y")
    trait, slope, intercept = truth["a"]
    for item, logit in (
        (BENT, 2.0 * np.abs(trait) + 0.8 * trait - 1.6),
        (SHIFTED, slope[SHIFTED] * trait + 0.3 + 1.5 * (group == "y")),
        (FLIPPED, -1.2 * trait),
        (ORIGINAL, trait),
        (ONE, trait),
        (NEXT, trait),
    ):
        a[:, item] = np.where(a[:, item] < 0, -1, rng.random(400) < expit(logit))
    a[:, REPEATED] = a[:, ORIGINAL]
    some = rng.random(400) < 0.5
    a[some, NEXT] = a[some, ONE]
    for name, block in blocks.items():
        block[COPY] = block[COPIED]
        trait, slope, intercept = truth[name]
        anew = rng.random(40) < expit(slope * trait[CLONED] + intercept)
        redrawn = (rng.random(40) < 0.2) & (block[CLONED] >= 0)
        block[CLONE] = np.where(redrawn, anew, block[CLONED])
        block[RANDOM] = np.where(block[RANDOM] < 0, -1, rng.random(40) < 0.5)
    responses = responses_of(blocks, {"group": group})
    return mtlirt.fit(responses, threads=1), responses, blocks


@pytest.fixture(scope="session")
def found(planted):
    """Its diagnostics."""
    fit, responses, _ = planted
    return mtlirt.diagnose(fit, responses, group="group")


@pytest.fixture(scope="session")
def clean():
    """Fits of clean data and their responses: 6 data sets of 300 models, 2 x 30 items."""
    sets = []
    for seed in range(6):
        blocks, _ = drawn(100 + seed, 300, 30, missing=0.1)
        group = np.where(np.random.default_rng(seed).random(300) < 0.4, "x", "y")
        responses = responses_of(blocks, {"group": group})
        sets.append((mtlirt.fit(responses, threads=1), responses))
    return sets
