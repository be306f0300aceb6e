"""Scores of models stay where they were when stronger models join an anchored leaderboard."""

import numpy as np
import pytest

import mtlirt
from mtlirt.simulate.designs import numbered_design
from mtlirt.simulate.laws import FactorTraits, intercept_items
from tests.scores.stronger import leaderboards, movements, refits, with_leaks


def check(before, alone, anchored):
    """Print how far the models of the first fit moved, in standard errors, and compare."""
    without, fixed = movements(before, alone), movements(before, anchored)
    told = without.add_suffix(" by itself").join(fixed.add_suffix(" anchored")).round(2)
    links = anchored.domains[["link_scale", "link_scale_se", "link_shift", "link_shift_se"]]
    counts = anchored.domains[["linked_items", "drifted_items"]]
    print(f"\n{told.to_string()}\n{links.round(3).join(counts).to_string()}")
    assert fixed.loc["overall", "rms"] < 1.0
    assert fixed.loc["overall", "within"] > 0.8
    assert without.loc["overall", "rms"] > 2.0
    assert without.loc["overall", "within"] < 0.2
    assert (fixed["rms"] < without["rms"]).all()
    assert (anchored.domains["link_scale_se"] < 0.1).all()


def test_as_many_stronger_models_join():
    traits = FactorTraits(rank=1, uniqueness=0.2)
    design = numbered_design("four", traits, (50, 40, 40, 30), models=150, items=intercept_items)
    before, alone, anchored = refits(design, 150, 150)
    check(before, alone, anchored)
    assert anchored.info["log_likelihood"] == alone.info["log_likelihood"]
    assert np.all(anchored.models["overall_link_se"] < anchored.models["overall_sd"])


@pytest.mark.slow
@pytest.mark.parametrize("linking", ["haebara", "stocking-lord"])
def test_five_hundred_stronger_models_join(linking):
    check(*refits("demo", 200, 500, linking=linking))


@pytest.mark.slow
@pytest.mark.parametrize("share", [0.0, 0.1, 0.2])
def test_leaked_items_are_found_when_models_join(share):
    """Of some items every second wrong answer becomes right, of old models and new ones."""
    some, every = leaderboards("demo", 200, 500)
    leaked, moved = with_leaks(every, share)
    before = mtlirt.fit(some, threads=1)
    after = mtlirt.fit(moved, threads=1, anchor=before)
    drifted = after.items["drifted"].to_numpy()
    fixed = movements(before, after)
    found, blamed = (drifted & leaked).sum(), (drifted & ~leaked).sum()
    print(
        f"\n{share:.0%} of the items leaked: {found} of {leaked.sum()} found, "
        f"{blamed} of {(~leaked).sum()} others blamed; common models moved by "
        f"{fixed.loc['overall', 'rms']:.2f} standard errors, root mean square"
    )
    assert blamed <= 0.03 * (~leaked).sum()
    assert blamed <= 0.15 * drifted.sum() or share == 0.0
    assert found >= 0.9 * leaked.sum()
    assert fixed.loc["overall", "within"] > 0.5
