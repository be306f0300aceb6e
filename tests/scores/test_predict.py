"""Predicted answers against draws of traits and items."""

import numpy as np
import pytest
from scipy.special import expit

import mtlirt
from mtlirt.errors import InputError
from mtlirt.simulate.generate import simulate

DRAWS = 400_000


@pytest.fixture(scope="module")
def fitted():
    return mtlirt.fit(simulate("demo", seed=4, models=40, missing=0.8).responses, threads=1)


def test_probabilities_are_means_over_traits_and_items(fitted):
    items = [fitted.items.index[k] for k in (3, 200, 500)]
    models = list(fitted.models.index[[5, 20]])
    found = fitted.predict(models, items, level=0.8)
    assert found.index.names == ["model_id", "domain", "item_id"]
    assert list(found.index) == [(m, *item) for m in models for item in items]
    rng = np.random.default_rng(0)
    for (model, domain, item), row in found.iterrows():
        part, trait = fitted.items.loc[(domain, item)], fitted.traits.loc[(model, domain)]
        cross = part["slope_intercept_covariance"]
        spread = [[part["slope_variance"], cross], [cross, part["intercept_variance"]]]
        pair = rng.multivariate_normal(part[["slope", "intercept"]].to_numpy(float), spread, DRAWS)
        theta = trait["mean"] + trait["sd"] * rng.normal(size=DRAWS)
        p = part["guessing"] + (1 - part["guessing"]) * expit(pair[:, 0] * theta + pair[:, 1])
        assert row["probability"] == pytest.approx(p.mean(), abs=0.01)
        ends = np.quantile(p, [0.1, 0.9])
        np.testing.assert_allclose(row[["lower", "upper"]].to_numpy(float), ends, atol=0.03)


def test_by_default_everything_is_predicted_within_its_interval(fitted):
    found = fitted.predict()
    assert len(found) == len(fitted.models) * len(fitted.items)
    assert ((found >= 0) & (found <= 1)).all(axis=None)
    assert (found["lower"] <= found["probability"] + 1e-12).all()
    assert (found["probability"] <= found["upper"] + 1e-12).all()


def test_held_out_answers_come_as_often_as_predicted():
    whole = simulate("demo", seed=9, models=150)
    part = simulate("demo", seed=9, models=150, missing=0.5)
    fit = mtlirt.fit(part.responses, threads=1)
    found = fit.predict()["probability"].to_numpy().reshape(150, -1)
    names = list(fit.domains.index)
    answers = np.hstack([np.asarray(whole.responses.domains[n].array) for n in names])
    there = np.hstack([np.asarray(part.responses.domains[n].array) for n in names]) >= 0
    order = [fit.items.index.get_loc((n, i)) for n in names for i in whole.responses.item_ids(n)]
    left = ~there
    predicted, right = found[:, order][left], answers[left]
    for low in np.arange(0.1, 0.9, 0.1):
        bin_ = (predicted >= low) & (predicted < low + 0.1)
        assert right[bin_].mean() == pytest.approx(predicted[bin_].mean(), abs=0.02)


def test_what_is_unknown_is_refused(fitted):
    with pytest.raises(InputError, match="model 'x' is not among the 40 known"):
        fitted.predict(["x"])
    with pytest.raises(InputError, match=r"item \('coding', 'x'\) is not among the 680 known"):
        fitted.predict(None, [("coding", "x")])
    with pytest.raises(InputError, match="level 2 is not"):
        fitted.predict(level=2)
    point = mtlirt.fit(simulate("demo", seed=4).responses, estimator="accuracy", threads=1)
    with pytest.raises(InputError, match="has no posterior of the traits"):
        point.predict()
