"""Scores of models stay where they were when stronger models join an anchored leaderboard."""

import numpy as np
import pytest

from mtlirt.simulate.designs import numbered_design
from mtlirt.simulate.laws import FactorTraits, intercept_items
from tests.scores.stronger import movements, refits


def check(before, alone, anchored, capsys):
    """Print how far the models of the first fit moved, in standard errors, and compare."""
    without, fixed = movements(before, alone), movements(before, anchored)
    told = without.add_suffix(" by itself").join(fixed.add_suffix(" anchored")).round(2)
    links = anchored.domains[["link_scale", "link_scale_se", "link_shift", "link_shift_se"]]
    with capsys.disabled():
        print(f"\n{told.to_string()}\n{links.round(3).to_string()}")
    assert fixed.loc["overall", "rms"] < 1.0
    assert fixed.loc["overall", "within"] > 0.8
    assert without.loc["overall", "rms"] > 2.0
    assert without.loc["overall", "within"] < 0.2
    assert (fixed["rms"] < without["rms"]).all()
    assert (anchored.domains["link_scale_se"] < 0.1).all()


def test_sixty_stronger_models_join(capsys):
    traits = FactorTraits(rank=1, uniqueness=0.2)
    design = numbered_design("four", traits, (50, 40, 40, 30), models=150, items=intercept_items)
    before, alone, anchored = refits(design, 150, 150)
    check(before, alone, anchored, capsys)
    assert anchored.info["log_likelihood"] == alone.info["log_likelihood"]
    assert np.all(anchored.models["overall_link_se"] < anchored.models["overall_sd"])


@pytest.mark.slow
@pytest.mark.parametrize("linking", ["haebara", "stocking-lord"])
def test_five_hundred_stronger_models_join(capsys, linking):
    check(*refits("demo", 200, 500, linking=linking), capsys)
