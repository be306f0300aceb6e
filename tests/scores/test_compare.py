"""What changed from one fit to another."""

import dataclasses

import numpy as np
import pandas as pd
import pytest

import mtlirt
from mtlirt.errors import InputError
from mtlirt.irt.linking import Link
from mtlirt.scores.compare import changed_settings
from mtlirt.scores.linking import carried
from tests.scores.test_linking import LINKS, blocks, responses


@pytest.fixture(scope="module")
def before():
    return mtlirt.fit(responses(blocks()), threads=1)


def without(fit, items, models):
    """A fit that never knew some items and models."""
    return dataclasses.replace(
        fit,
        items=fit.items.drop(items),
        models=fit.models.drop(models),
        traits=fit.traits.drop(models, level="model_id"),
    )


def test_a_fit_and_itself_on_other_scales(before):
    found = mtlirt.compare(before, carried(before, LINKS))
    back = [Link(1.0 / link.scale, -link.shift / link.scale) for link in LINKS.values()]
    np.testing.assert_allclose(found.domains[["link_scale", "link_shift"]], back, atol=1e-8)
    assert found.domains["change"].eq("linked").all()
    assert found.items["change"].eq("kept").all()
    assert found.models["change"].eq("kept").all()
    assert found.models["rank_change"].dropna().eq(0).all()
    assert not found.traits["moved"].any()
    np.testing.assert_allclose(found.models["difference"].dropna(), 0.0, atol=1e-7)
    np.testing.assert_allclose(found.models["before"], before.models["overall"], atol=1e-12)
    assert found.settings.empty


def test_items_and_models_come_go_drift_and_move(before):
    items = before.items.copy()
    items.loc[("biology", "i04"), "intercept"] -= 2.5
    traits, models = before.traits.copy(), before.models.copy()
    shift = 6.0 * traits.loc[("m011", "algebra"), "sd"]
    precision = traits.loc["m011", "site_precision"]
    traits.loc["m011", "mean"] = (traits.loc["m011", "mean"] + shift).to_numpy()
    traits.loc["m011", "site_shift"] = (
        traits.loc["m011", "site_shift"] + 3.0 * precision
    ).to_numpy()
    after = dataclasses.replace(before, items=items, traits=traits, models=models)
    gone = [("algebra", "i00"), ("chess", "i13")]
    found = mtlirt.compare(
        without(before, [("algebra", "i01")], ["m020"]), without(after, gone, ["m030"])
    )
    change = found.items["change"]
    assert change[change != "kept"].to_dict() == {
        ("algebra", "i01"): "added",
        ("algebra", "i00"): "withdrawn",
        ("chess", "i13"): "withdrawn",
        ("biology", "i04"): "drifted",
    }
    drifted = found.items.loc[("biology", "i04")]
    assert drifted["intercept_difference"] == pytest.approx(-2.5, abs=1e-6)
    assert drifted["intercept_lower"] < -2.5 < drifted["intercept_upper"] < 0.0
    assert drifted["p_adjusted"] < 1e-3
    assert np.isnan(found.items.loc[("algebra", "i01"), "p"])
    change = found.models["change"]
    assert change[change != "kept"].to_dict() == {
        "m011": "moved",
        "m020": "added",
        "m030": "withdrawn",
    }
    row = found.models.loc["m011"]
    assert row["lower"] > 0.0
    assert row["rank_change"] > 0
    assert found.models.loc["m020", ["difference", "rank_before"]].isna().all()
    assert found.traits.index[found.traits["moved"]].unique("model_id").tolist() == ["m011"]
    assert "m020" not in found.traits.index.unique("model_id")


def test_overall_scores_compare_over_the_domains_of_both(before):
    cells = blocks()
    cells["dance"] = cells.pop("chess")
    after = mtlirt.fit(responses(cells), threads=1)
    found = mtlirt.compare(before, after, level=0.9)
    assert found.domains["change"].to_dict() == {
        "algebra": "linked",
        "biology": "linked",
        "dance": "added",
        "chess": "withdrawn",
    }
    of_two = before.traits["mean"].unstack()[["algebra", "biology"]].mean(axis=1)
    np.testing.assert_allclose(found.models["before"], of_two.loc[found.models.index], atol=1e-6)
    margin = 1.6448536 * np.sqrt(before.traits["sd"] ** 2 + after.traits["sd"] ** 2).reindex(
        found.traits.index
    )
    width = found.traits["upper"] - found.traits["difference"]
    linked = found.traits.dropna().index
    assert (width[linked] >= margin[linked] - 0.05).all()
    assert found.models["rank_after"].notna().sum() == len(before.models) - 1


def test_nothing_in_common_is_said_so(before):
    renamed = {"x" + name: block for name, block in blocks().items()}
    found = mtlirt.compare(before, mtlirt.fit(responses(renamed), threads=1))
    assert found.domains["change"].tolist() == ["added"] * 3 + ["withdrawn"] * 3
    assert found.models["difference"].isna().all()
    assert found.traits.empty


def test_settings_that_differ(before):
    other = mtlirt.fit(responses(blocks()), threads=1, rank=1, tolerance=1e-2)
    found = mtlirt.compare(before, other).settings
    assert found.loc[("fit", "tolerance")].tolist() == [1e-3, 1e-2]
    assert found.loc[("fit", "rank_asked")].tolist() == ["auto", 1]
    assert ("fit", "estimator") not in found.index
    told = changed_settings("inputs", {"a": 1, "b": 2}, {"b": 3, "c": None, "d": [1]})
    assert told.index.tolist() == [("inputs", "b"), ("inputs", "d"), ("inputs", "a")]
    assert told["before"].tolist() == [2, None, 1]


def test_what_cannot_be_compared_is_refused(before):
    scored = mtlirt.score(before, responses(blocks()), threads=1)
    with pytest.raises(InputError, match="a comparison needs two fits, from fit or load"):
        mtlirt.compare(before, scored)
    point = dataclasses.replace(
        before,
        domains=before.domains.assign(uniqueness=np.nan),
        info={**before.info, "estimator": "local"},
    )
    with pytest.raises(InputError, match="a comparison: estimator 'local' has no posterior"):
        mtlirt.compare(before, point)
    with pytest.raises(InputError, match="level 2 is not between 0 and 1"):
        mtlirt.compare(before, before, level=2)
    with pytest.raises(InputError, match="linking 'x' is not one of"):
        mtlirt.compare(before, before, linking="x")


def test_tables_are_frames_with_ids_as_index(before):
    found = mtlirt.compare(before, before)
    assert all(isinstance(table, pd.DataFrame) for table in vars(found).values())
    assert found.items.index.names == ["domain", "item_id"]
    assert found.models.index.name == "model_id"
    assert found.traits.index.names == ["model_id", "domain"]
    assert found.domains.index.name == "domain"
