"""The numbers behind the report's charts."""

from dataclasses import replace

import numpy as np

from mtlirt.irt.curves import probability
from mtlirt.report.curves import EDGES, POINTS, domain_information, trait_counts
from mtlirt.report.items import item_data
from mtlirt.report.tables import correlation_data


def test_information_by_its_definition(make_fit, monkeypatch):
    fit = make_fit(items=9)
    items = fit.items.assign(guessing=0.2)
    monkeypatch.setattr("mtlirt.report.curves.TOGETHER", 4)
    a, d, c = (items.loc["law", name].to_numpy() for name in ("slope", "intercept", "guessing"))
    p = probability(POINTS[:, None], a, d, c)
    rise = a * (p - c) * (1.0 - p) / (1.0 - c)
    expected = (rise**2 / (p * (1.0 - p))).sum(axis=1)
    found = domain_information(replace(fit, items=items), "law")
    np.testing.assert_allclose(found, expected, rtol=1e-10)


def test_models_are_counted_where_they_answered(make_fit):
    fit = make_fit(models=50)
    assert trait_counts(fit, "algebra").sum() == 48
    assert trait_counts(fit, "law").sum() == 49
    assert len(trait_counts(fit, "law")) == len(EDGES) - 1
    far = fit.traits.assign(mean=fit.traits["mean"] * 100.0)
    counts = trait_counts(replace(fit, traits=far), "law")
    assert counts.sum() == 49
    assert counts[0] + counts[-1] > 40


def test_the_item_map_holds_every_item_or_a_fair_sample(make_fit):
    fit = make_fit(domains=("large", "small"), items=50)
    kept = [("large", f"q{k}") for k in range(50)] + [("small", f"q{k}") for k in range(3)]
    fit = replace(fit, items=fit.items.loc[kept])
    data = item_data(fit)
    assert (data["total"], data["drawable"], len(data["item"])) == (53, 51, 51)
    assert [data["item"][place] for place in data["at_limit"]] == ["q2", "q2"]
    sample = item_data(fit, shown=10)
    assert sample == item_data(fit, shown=10)
    assert len(sample["item"]) <= 10
    assert set(sample["domain"]) == {0, 1}
    ids = list(zip(sample["domain"], sample["item"], strict=True))
    assert len(set(ids)) == len(ids)


def test_correlations_are_those_of_the_prior(make_fit):
    assert correlation_data(make_fit())[0] == [1.0, 0.64, 0.64]
