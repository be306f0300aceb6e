"""A fit by hand, with every kind of value that a table may hold."""

import dataclasses
import json

import fsspec
import fsspec.implementations.dirfs
import numpy as np
import pandas as pd
import pytest

from mtlirt.result import Fit

MODELS = ["zeta", " padded ", "line\nbreak", "模型", "a\x00b"]
DOMAINS = ["b", "a|b", "1.0"]


@pytest.fixture(name="make_fit", scope="session")
def make_fit_fixture():
    return make_fit


@pytest.fixture
def fit():
    return make_fit()


@pytest.fixture(name="assert_same", scope="session")
def assert_same_fixture():
    return assert_same


def make_fit(rank=2, seed=0):
    rng = np.random.default_rng(seed)
    items = pd.MultiIndex.from_product([DOMAINS, ["i2", "i1", "NA"]], names=["domain", "item_id"])
    domains = pd.Index(DOMAINS, name="domain")
    models = pd.Index(MODELS, name="model_id")
    traits = pd.MultiIndex.from_product([models, domains])
    empty = np.arange(len(MODELS)) == 2
    rounds = 3
    return Fit(
        items=pd.DataFrame(
            {
                "slope": [1.5, -0.0, 5e-324, *rng.normal(size=6)],
                "intercept": rng.normal(size=9),
                "guessing": np.where(np.arange(9) == 3, 0.25, 0.0),
                "difficulty": np.where(np.arange(9) == 1, np.nan, rng.normal(size=9)),
                "slope_variance": rng.random(9),
                "slope_intercept_covariance": rng.normal(size=9),
                "intercept_variance": rng.random(9),
                "slope_se": rng.random(9),
                "intercept_se": rng.random(9),
                "answered": rng.integers(0, 9, 9),
                "successes": rng.random(9),
                "attempts": rng.random(9),
                "constant": np.arange(9) == 1,
                "at_limit": np.arange(9) == 2,
                "component": pd.array([1, 2, None, *[1] * 6], "Int64"),
            },
            index=items,
        ),
        domains=pd.DataFrame(
            {
                "items": [3, 3, 3],
                "models": [4, 4, 4],
                "uniqueness": rng.random(3),
                "pooling": ["joint", "own", "joint"],
                "sign_borrowed": [False, False, True],
                "slope_mean": np.nan,
                "slope_sd": np.nan,
                "weak": [True, False, False],
                "flat": [False, False, True],
                "general_weight": rng.random(3),
                "cosine": rng.random(3),
                "fused": [False, True, False],
            },
            index=domains,
        ),
        models=pd.DataFrame(
            {
                "answered": rng.integers(1, 9, 5),
                "domains": rng.integers(1, 3, 5),
                "overall": np.where(empty, np.nan, rng.normal(size=5)),
                "overall_sd": np.where(empty, np.nan, rng.random(5)),
                "general": np.where(empty, np.nan, rng.normal(size=5)),
                "general_sd": np.where(empty, np.nan, rng.random(5)),
                "weight": np.where(empty, 0.5, 1.0),
                "component": pd.array([1, 2, None, 1, 1], "Int64"),
            },
            index=models,
        ),
        traits=pd.DataFrame(
            {
                "mean": np.where(np.repeat(empty, 3), np.nan, rng.normal(size=15)),
                "sd": np.where(np.repeat(empty, 3), np.nan, rng.random(15)),
                "site_precision": rng.random(15),
                "site_shift": rng.normal(size=15),
                "answered": rng.integers(0, 9, 15),
                "borrowed": rng.random(15) < 0.5,
                "correct": rng.random(15),
                "attempts": np.where(np.arange(15) == 4, 0.0, 2.5),
            },
            index=traits,
        ),
        representation=pd.DataFrame(
            rng.normal(size=(3, rank)),
            index=domains,
            columns=[f"factor_{k + 1}" for k in range(rank)],
        ),
        history=pd.DataFrame(
            {
                "objective": rng.normal(size=rounds),
                "change": rng.random(rounds),
                "rank": [1, 2, 2],
                "fused": [0, 0, 1],
                "domain_seconds": rng.random(rounds),
                "shared_seconds": rng.random(rounds),
                "converged": [False, False, True],
            },
            index=pd.Index([1, 2, 3], name="number"),
        ),
        info={
            "estimator": "marginal",
            "priors": False,
            "rank": rank,
            "rank_asked": "auto",
            "tolerance": 1e-3,
            "rounds": rounds,
            "converged": True,
            "log_likelihood": -0.1 - 0.2,
            "convention": "P(correct) = sigma(slope * trait + intercept)",
        },
    )


def assert_same(one, other):
    """Equal to the bit."""
    for field in dataclasses.fields(Fit):
        left, right = getattr(one, field.name), getattr(other, field.name)
        if field.name == "info" or left is None:
            assert left == right
            continue
        pd.testing.assert_frame_equal(left, right, check_exact=True)
        for column in left.select_dtypes(exclude=["object", "string"]):
            assert left[column].to_numpy().tobytes() == right[column].to_numpy().tobytes()


@pytest.fixture(params=["local", "s3"])
def url(request, tmp_path):
    """A place for snapshots, of each kind."""
    if request.param == "s3":
        return f"{request.getfixturevalue('bucket')}/snapshots"
    return str(tmp_path / "snapshots")


@pytest.fixture
def files(url):
    """The files of that place."""
    filesystem, base = fsspec.core.url_to_fs(url)
    return fsspec.implementations.dirfs.DirFileSystem(base, filesystem)


@pytest.fixture(name="alter_json", scope="session")
def alter_json_fixture():
    return alter_json


def alter_json(files, path, /, **changes):
    """Change keys of a JSON file."""
    content = json.loads(files.cat_file(path)) | changes
    files.pipe_file(path, json.dumps(content).encode())
