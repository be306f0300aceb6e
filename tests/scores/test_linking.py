"""Fits on the scale of an anchor."""

import dataclasses

import dask.array as da
import numpy as np
import pandas as pd
import pytest

import mtlirt
from mtlirt.errors import InputError
from mtlirt.irt.linking import Link
from mtlirt.responses.matrix import DomainResponses, Responses
from mtlirt.scores.accuracy import accuracy_moments
from mtlirt.scores.linking import LEAST_ITEMS, anchored, carried, on_own_scale, overlap
from mtlirt.scores.overall import factor_share, overall_scores

ITEMS = {"algebra": 24, "biology": 18, "chess": 14}
LINKS = {"algebra": Link(1.4, -0.6), "biology": Link(0.7, 0.3), "chess": Link(-1.1, 1.0)}


def blocks(models=160, seed=3):
    """Three domains; some falling curves, guessed items, missing cells and a constant item."""
    rng = np.random.default_rng(seed)
    factor = rng.normal(size=models)
    out = {}
    for name, items in ITEMS.items():
        trait = 0.8 * factor + 0.6 * rng.normal(size=models)
        slope = rng.normal(1.2, 0.3, items) * np.where(np.arange(items) % 9 == 4, -1.0, 1.0)
        odds = trait[:, None] * slope + rng.normal(size=items)
        right = 1.0 / (1.0 + np.exp(-odds))
        right = np.where(np.arange(items) % 5 == 2, 0.25 + 0.75 * right, right)
        cells = (rng.random(odds.shape) < right).astype("int8")
        cells[rng.random(odds.shape) < 0.05] = -1
        cells[:, 7] = 1
        cells[3] = -1
        out[name] = cells
    out["chess"][10:20] = -1
    return out


def responses(cells, models=None, floors=0.25):
    ids, guessing = [], []
    for name, block in cells.items():
        count = block.shape[1]
        ids += [(name, f"i{j:02d}") for j in range(count)]
        guessing += np.where(np.arange(count) % 5 == 2, floors, 0.0).tolist()
    models = range(len(next(iter(cells.values())))) if models is None else models
    index = pd.MultiIndex.from_tuples(ids, names=["domain", "item_id"])
    return Responses(
        {name: DomainResponses(da.from_array(block)) for name, block in cells.items()},
        pd.DataFrame(index=pd.Index([f"m{k:03d}" for k in models], name="model_id")),
        pd.DataFrame({"guessing": guessing}, index=index),
    )


@pytest.fixture(scope="module")
def fitted():
    return mtlirt.fit(responses(blocks()), threads=1)


@pytest.fixture(scope="module")
def elsewhere(fitted):
    """The same fit on other scales: an anchor whose links are known."""
    return carried(fitted, LINKS)


def assert_tables(one, other, close, tables=("items", "domains", "models", "traits")):
    for name in tables:
        found, expected = getattr(one, name), getattr(other, name)
        both = expected.columns.intersection(found.columns)
        pd.testing.assert_frame_equal(found[both], expected[both], rtol=0, atol=close)
    pd.testing.assert_frame_equal(one.representation, other.representation, rtol=0, atol=close)


@pytest.mark.parametrize("method", ["haebara", "stocking-lord"])
def test_known_links_are_recovered_and_everything_follows(fitted, elsewhere, method):
    found = anchored(fitted, elsewhere, method)
    expected = pd.DataFrame(LINKS.values(), list(LINKS), ["link_scale", "link_shift"])
    np.testing.assert_allclose(found.domains[expected.columns], expected, atol=1e-8)
    np.testing.assert_allclose(found.domains[["link_scale_se", "link_shift_se"]], 0.0, atol=1e-6)
    assert_tables(found, elsewhere, 1e-7)
    assert not found.items["drifted"].any()
    assert found.items["drift_p"].isna().sum() == 3  # the constant ones
    assert found.domains["linked_items"].tolist() == [23, 17, 13]
    np.testing.assert_allclose(found.models["overall_link_se"].dropna(), 0.0, atol=1e-6)


def test_probabilities_accuracies_and_likelihood_are_unchanged(fitted, elsewhere):
    for level in (0.5, 0.95):
        pd.testing.assert_frame_equal(
            elsewhere.predict(level=level), fitted.predict(level=level), rtol=0, atol=1e-10
        )
    one, other = (accuracy_moments(fit, 0.95) for fit in (fitted, elsewhere))
    np.testing.assert_allclose(one.mean, other.mean, atol=1e-4)  # curves are tabulated
    assert elsewhere.info["log_likelihood"] == fitted.info["log_likelihood"]
    assert factor_share(elsewhere) == pytest.approx(factor_share(fitted))
    for part, same in zip(
        overall_scores(elsewhere, "factor"), overall_scores(fitted, "factor"), strict=True
    ):
        np.testing.assert_allclose(part, same, atol=1e-10)


def test_scales_go_back(fitted, elsewhere):
    assert_tables(on_own_scale(elsewhere), fitted, 1e-12)
    assert on_own_scale(fitted) is fitted
    row = elsewhere.domains.loc["chess"]
    assert (row["link_scale"], row["link_shift"]) == LINKS["chess"]
    sd = np.sqrt(np.diag(elsewhere.prior.covariance))
    np.testing.assert_allclose(sd, [1.4, 0.7, 1.1])
    np.testing.assert_allclose(elsewhere.prior.centre, [-0.6, 0.3, 1.0])


@pytest.mark.parametrize("estimate", ["eap", "map"])
def test_the_published_snapshot_scores_models_on_the_anchor_s_scale(
    fitted, elsewhere, tmp_path, estimate
):
    found = anchored(fitted, elsewhere)
    mtlirt.publish(found, tmp_path)
    loaded = mtlirt.load(tmp_path)
    scored = mtlirt.score(loaded, responses(blocks()), estimate=estimate, threads=1)
    if estimate == "eap":
        for table, columns in {
            "traits": ["mean", "sd", "site_precision", "site_shift"],
            "models": ["overall", "overall_sd", "general", "general_sd"],
        }.items():
            published, again = getattr(found, table)[columns], getattr(scored, table)[columns]
            pd.testing.assert_frame_equal(again, published, rtol=0, atol=1e-7)
    by_itself = mtlirt.score(fitted, responses(blocks()), estimate=estimate, threads=1)
    scale = np.tile([link.scale for link in LINKS.values()], len(fitted.models))
    shift = np.tile([link.shift for link in LINKS.values()], len(fitted.models))
    expected = by_itself.traits["mean"] * scale + shift
    np.testing.assert_allclose(scored.traits["mean"], expected, atol=1e-7)


def test_a_new_domain_keeps_its_scale_and_a_withdrawn_one_is_none(fitted, elsewhere):
    cells = blocks()
    cells["dance"] = cells.pop("chess")
    found = mtlirt.fit(responses(cells), threads=1, anchor=elsewhere)
    assert found.info["anchor"]["unlinked_domains"] == ["dance"]
    assert found.info["anchor"]["general_weights"] == "own"
    row = found.domains.loc["dance"]
    assert row[["link_scale", "link_shift", "link_scale_se", "link_covariance"]].isna().all()
    assert row["linked_items"] == 0
    assert found.prior.centre[2] == 0.0
    assert found.traits.xs("dance", level="domain")["link_se"].isna().all()
    assert found.domains["link_scale"].notna().tolist() == [True, True, False]
    assert not found.items.loc["dance", "drifted"].any()
    assert found.models["overall_link_se"].notna().sum() == len(found.models) - 1


def test_items_of_one_id_in_two_domains_are_two(fitted, elsewhere):
    """Domains that exchange their names share item ids, and no item."""
    cells = blocks()
    cells["algebra"], cells["biology"] = cells["biology"], cells["algebra"]
    found = mtlirt.fit(responses(cells), threads=1, anchor=elsewhere)
    assert found.domains.loc["chess", "link_scale"] == pytest.approx(-1.1, abs=0.05)
    straight = mtlirt.fit(responses(blocks()), threads=1, anchor=elsewhere)
    assert straight.domains.loc["algebra", "link_scale"] == pytest.approx(1.4, abs=1e-6)
    assert not np.isclose(found.domains.loc["algebra", "link_scale"], 1.4, atol=0.01)


def test_a_drifted_item_is_flagged_and_left_out(fitted, elsewhere):
    items = elsewhere.items.copy()
    items.loc[("algebra", "i05"), "intercept"] += 2.0
    found = anchored(fitted, dataclasses.replace(elsewhere, items=items))
    assert found.items.index[found.items["drifted"]].tolist() == [("algebra", "i05")]
    assert found.items.loc[("algebra", "i05"), "drift_p"] < 1e-6
    assert found.domains.loc["algebra", ["linked_items", "drifted_items"]].tolist() == [22, 1]
    np.testing.assert_allclose(found.domains.loc["algebra", "link_scale"], 1.4, atol=1e-8)


def test_a_changed_floor_is_another_item(fitted, elsewhere):
    items = elsewhere.items.copy()
    items.loc[("algebra", "i02"), "guessing"] = 0.5
    found = anchored(fitted, dataclasses.replace(elsewhere, items=items))
    assert found.items.index[found.items["drifted"]].tolist() == [("algebra", "i02")]
    assert np.isnan(found.items.loc[("algebra", "i02"), "drift_p"])
    assert found.items.loc[("algebra", "i02"), "guessing"] == 0.25
    assert found.domains.loc["algebra", ["linked_items", "drifted_items"]].tolist() == [22, 0]


def test_an_anchor_without_variances(fitted, elsewhere):
    """Such as one by estimator `joint`: its items count as known."""
    items = elsewhere.items.copy()
    items[["slope_variance", "slope_intercept_covariance", "intercept_variance"]] = np.nan
    domains = elsewhere.domains.assign(general_weight=np.nan, uniqueness=np.nan)
    point = dataclasses.replace(elsewhere, items=items, domains=domains)
    found = anchored(fitted, point)
    np.testing.assert_allclose(found.domains["link_scale"], [1.4, 0.7, -1.1], atol=1e-8)
    assert found.info["anchor"]["general_weights"] == "own"


def test_overlap_is_of_the_models_that_took_the_domain(fitted):
    some = dataclasses.replace(fitted, traits=fitted.traits.iloc[: 3 * 80])
    assert overlap(fitted, some, "chess") == 1.0
    assert overlap(some, fitted, "algebra") == pytest.approx(79 / 159)
    assert overlap(some, fitted, "chess") == pytest.approx(69 / 149)
    unknown = fitted.items.assign(
        slope_variance=np.nan, slope_intercept_covariance=np.nan, intercept_variance=np.nan
    )
    assert overlap(some, dataclasses.replace(fitted, items=unknown), "chess") == 0.0


def test_domains_of_which_too_little_is_known_stay(fitted, elsewhere):
    items = elsewhere.items.copy()
    there = items.index.get_level_values("domain") == "chess"
    items.loc[there & (np.arange(len(items)) >= 24 + 18 + LEAST_ITEMS - 1), "constant"] = True
    found = anchored(fitted, dataclasses.replace(elsewhere, items=items))
    assert found.info["anchor"]["unlinked_domains"] == ["chess"]


def test_an_anchor_that_is_none_is_refused_before_any_work(fitted, elsewhere):
    some = responses(blocks())

    def refused(told, anchor=elsewhere, given=some, **options):
        with pytest.raises(InputError, match=told) as error:
            mtlirt.fit(given, anchor=anchor, **options)
        assert "\n" not in str(error.value)

    renamed = {"x" + name: block for name, block in blocks().items()}
    refused("no domain in common with the responses", given=responses(renamed))
    few = blocks() | {"biology": blocks()["biology"][:, :4]}
    refused(
        "domain 'biology' has 4 items in common with the anchor, a link needs 5",
        given=responses(few),
    )
    refused("estimator 'local' has no errors of items to link scales by", estimator="local")
    refused("anchor 3 is no fit; give one from fit or load", anchor=3)
    refused("linking 'mean' is not one of haebara, stocking-lord", linking="mean")
    accuracy = dataclasses.replace(
        elsewhere,
        items=elsewhere.items.assign(slope=np.nan),
        info={**elsewhere.info, "estimator": "accuracy"},
    )
    refused("the anchor is a fit by estimator 'accuracy', which has no items", anchor=accuracy)


def test_a_warm_start_from_an_anchored_fit_ends_where_others_do(fitted, elsewhere):
    warm = mtlirt.fit(responses(blocks()), threads=1, earlier=elsewhere, anchor=elsewhere)
    assert_tables(warm, elsewhere, 0.02, ("models", "traits"))
    assert warm.info["rounds"] < fitted.info["rounds"]


def test_equal_fits_have_equal_bytes(fitted, elsewhere):
    one, other = anchored(fitted, elsewhere), anchored(fitted, elsewhere)
    for table in ("items", "domains", "models", "traits", "representation"):
        pd.testing.assert_frame_equal(getattr(one, table), getattr(other, table), check_exact=True)
