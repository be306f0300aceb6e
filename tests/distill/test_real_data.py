"""Real results: tests of models that a fit does not know, replayed on the Open LLM Leaderboard."""

from pathlib import Path

import numpy as np
import pytest

import mtlirt
from mtlirt.distill.adaptive.replay import replay
from mtlirt.ingest import ingest
from mtlirt.responses.subset import some_models

pytestmark = [pytest.mark.data, pytest.mark.slow]

DATA = Path(__file__).parents[3] / "shared" / "data" / "openllm_v1"


@pytest.fixture(scope="module")
def halves():
    """Half of the models that answered all items, and all other models."""
    if not DATA.exists():
        pytest.skip("../shared/data is absent")
    responses = ingest([DATA / "responses.parquet"])[0]
    whole = np.flatnonzero(responses.counts().sum(axis=1) == len(responses.items))
    tested = np.sort(np.random.default_rng(0).permutation(whole)[: len(whole) // 2])
    others = np.setdiff1d(np.arange(len(responses.models)), tested)
    return some_models(responses, others), some_models(responses, tested)


@pytest.mark.parametrize("adapt", [True, False], ids=["as fitted", "all domains borrow"])
def test_few_items_tell_what_all_do(halves, adapt):
    fit = mtlirt.fit(halves[0], adapt=adapt)
    for target in ("domains", "overall"):
        models = replay(fit, halves[1], target=target).models
        asked = models["items"] < models["answered"].max() - len(fit.items) // 10
        error = (models["overall"] - models["full_overall"])[asked]
        print(
            f"{target}, pooling {dict(fit.domains['pooling'].value_counts())}: "
            f"{models['items'].median():.0f} items (median), {asked.mean():.1%} of models ended; "
            f"overall {np.sqrt((error**2).mean()):.3f}, "
            f"{models['overall'].corr(models['full_overall']):.3f}; traits "
            f"{np.sqrt((models['rmse'] ** 2).mean()):.3f}"
        )
        assert asked.mean() > 0.9
        assert models["items"].median() < 40
        assert models["overall"].corr(models["full_overall"]) > 0.9
