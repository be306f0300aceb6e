"""A tiny response store and a snapshot of its fit."""

import dask.array as da
import numpy as np
import pandas as pd
import pytest

from mtlirt.cli.app import run
from mtlirt.responses.matrix import DomainResponses, Responses
from mtlirt.responses.store import write_responses

MODELS = 12
DOMAINS = {"algebra": 14, "law": 10, "a long name of a domain": 8}


@pytest.fixture(scope="session")
def store(tmp_path_factory):
    """Twelve models: m00 and m01 answer alike, m02 takes no law, m03 nothing at all."""
    rng = np.random.default_rng(7)
    ability = np.linspace(1.5, -1.5, MODELS)
    domains = {}
    for name, items in DOMAINS.items():
        odds = ability[:, None] - rng.normal(size=items)
        cells = (rng.random(odds.shape) < 1 / (1 + np.exp(-odds))).astype("int8")
        cells[1] = cells[0]
        cells[3] = -1
        cells[2, :] = -1 if name == "law" else cells[2]
        domains[name] = DomainResponses(da.from_array(cells))
    ids = [(name, f"{name}-{k}") for name, items in DOMAINS.items() for k in range(items)]
    responses = Responses(
        domains,
        pd.DataFrame(index=pd.Index([f"m{k:02d}" for k in range(MODELS)], name="model_id")),
        pd.DataFrame(index=pd.MultiIndex.from_tuples(ids, names=["domain", "item_id"])),
    )
    url = str(tmp_path_factory.mktemp("fit") / "store")
    write_responses(responses, url, history={})
    return url


@pytest.fixture(scope="session")
def snapshots(store, tmp_path_factory):
    """Version 1 of rank 1, version 2 of domains by themselves; both after three rounds."""
    url = str(tmp_path_factory.mktemp("fit") / "snapshots")
    rounds = ["--max-rounds", "3", "--threads", "1", "--snapshots", url]
    assert run(["fit", store, "--rank", "1", *rounds]) == 0
    assert run(["fit", store, "--estimator", "separate", *rounds]) == 0
    return url
