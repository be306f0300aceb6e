"""Where the model holds, p-values are uniform enough and alarms rare."""

import numpy as np
import pandas as pd
import pytest
from scipy.stats import kstest

import mtlirt


@pytest.fixture(scope="module")
def judged(clean):
    return [mtlirt.diagnose(fit, responses, group="group") for fit, responses in clean]


@pytest.mark.parametrize(
    ("table", "column"),
    [("items", "fit_p"), ("items", "dif_p"), ("takers", "lz_p")],
)
def test_p_values_are_uniform(judged, table, column):
    p = pd.concat([getattr(found, table)[column].dropna() for found in judged])
    assert len(p) > 200
    error = np.sqrt(0.05 * 0.95 / len(p))
    assert abs((p <= 0.05).mean() - 0.05) < 0.01 + 3 * error
    assert kstest(p, "uniform").statistic < 0.05 + 1.6 / np.sqrt(len(p))


def test_false_alarms_are_rare(judged):
    kinds = pd.concat([found.findings["kind"] for found in judged])
    counts = kinds.value_counts().reindex(
        ["misfit", "dif", "dependent", "clone", "repeat", "miskeyed", "unrelated", "odd"],
        fill_value=0,
    )
    assert counts[["clone", "repeat", "miskeyed", "unrelated"]].sum() == 0
    assert counts[["misfit", "dif", "odd"]].sum() <= 5  # 3 families in each of 6 data sets
    assert counts["dependent"] <= 4  # 12 domains at a rate of .05


def test_person_fit_is_standard_normal(judged):
    lz = pd.concat([found.takers["lz"].dropna() for found in judged])
    assert abs(lz.mean()) < 0.1
    assert lz.std() == pytest.approx(1.0, abs=0.05)


def test_a_clean_design_is_one_component(judged):
    for found in judged:
        assert (found.models["component"] == 1).all()
        assert found.design[["models", "items"]].to_numpy().tolist() == [[300, 60]]
        assert found.design["cells"].sum() == found.models["answered"].sum()


def test_groups_that_differ_in_ability_are_no_difference_of_items(clean, drawn, responses_of):
    blocks, truth = drawn(77, 600, 12, domains=("a",))
    strong = truth["a"][0] > np.random.default_rng(1).normal(size=600)
    responses = responses_of(blocks, {"group": np.where(strong, "strong", "weak")})
    found = mtlirt.diagnose(mtlirt.fit(responses, threads=1), responses, group="group")
    assert (found.items["dif_q"] > 0.05).all()
