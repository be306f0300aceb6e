"""Real results: copies by brute force, and a domain of a kind that no simulation has."""

from pathlib import Path

import numpy as np
import pandas as pd
import pytest

import mtlirt
from mtlirt.diagnostics.copies import exact_copies
from mtlirt.diagnostics.digests import Digests
from mtlirt.ingest import ingest
from mtlirt.irt.blocks import response_block

pytestmark = pytest.mark.data

DATA = Path(__file__).parents[3] / "shared" / "data"


def read(name):
    folder = DATA / name
    if not folder.exists():
        pytest.skip("../shared/data is absent")
    return ingest([folder / "responses.parquet"])[0]


def test_exact_copies_of_openllm_are_those_of_pandas():
    responses = read("openllm_v1")
    blocks = [np.asarray(part.array) for part in responses.domains.values()]
    rows = Digests(len(responses.models))
    for block in blocks:
        rows.update(0, response_block(block))
    found = exact_copies(rows.values, rows.answered, responses.models.index)
    whole = pd.DataFrame(np.hstack(blocks), responses.models.index).sort_index()
    copied = whole[whole.duplicated(keep=False)]
    copies = np.bincount(found)[found] > 1
    assert set(responses.models.index[copies]) == set(copied.index)
    assert len(np.unique(found[copies])) == len(copied.drop_duplicates())


def test_29_models_on_12032_questions():
    responses = read("mmlu_pro")
    found = mtlirt.diagnose(mtlirt.fit(responses, threads=1), responses)
    assert len(found.items) == 12_032
    assert found.items["constant"].sum() == 236 + 640
    assert found.items.loc[found.items["constant"], "fit_p"].isna().all()
    assert found.models["component"].eq(1).all()
    assert found.repeats.empty  # many columns are equal, as they must be with 29 models
