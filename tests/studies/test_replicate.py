"""What a replication records."""

import numpy as np
import pytest

from mtlirt.studies.draw import draw, sequence_of
from mtlirt.studies.methods import METHODS
from mtlirt.studies.metrics import agreement, intervals
from mtlirt.studies.replicate import RESULTS, replicate
from mtlirt.studies.rows import catalogue

ROWS = catalogue(small=True)
AGREEMENT = ["sine", "distance", "spearman", "kendall"]


def run(name, methods, replication=0, seed=0):
    table = replicate(ROWS[name], replication, methods, seed)
    assert table.schema.equals(RESULTS)
    return table.to_pandas()


def values(frame, method, target):
    part = frame[(frame["method"] == method) & (frame["target"] == target)]
    return dict(zip(part["metric"], part["value"], strict=True))


def test_records_of_a_replication(quick):
    found = run("paper-0.30", ["accuracy", "marginal"], replication=2)
    assert set(found["row"]) == {"paper-0.30"}
    assert set(found["h"]) == {0.3}
    assert set(found["replication"]) == {2}
    targets = ["fit", "general", "domains", "d01", "d02", "d03", "d04", "d05", "d06"]
    assert list(found["target"].unique()) == targets
    assert list(values(found, "accuracy", "general")) == AGREEMENT
    assert list(values(found, "marginal", "d03")) == [*AGREEMENT, "coverage", "length"]
    fit = values(found, "marginal", "fit")
    assert (fit["failed"], fit["converged"]) == (0, 0)
    assert 0 < fit["seconds"] < 1
    assert values(found, "accuracy", "fit")["converged"] == 1


def test_metrics_compare_estimates_with_the_truth(quick):
    found = run("paper-0.30", ["marginal"], seed=5)
    data = draw(ROWS["paper-0.30"], sequence_of(5, "paper-0.30", 0))
    estimates = METHODS["marginal"](data.responses)
    expected = agreement(estimates.general, data.general)
    expected |= intervals(estimates.general, estimates.general_sds, data.general)
    assert values(found, "marginal", "general") == expected
    fourth = estimates.traits[:, 3], data.traits[:, 3]
    assert values(found, "marginal", "d04")["kendall"] == agreement(*fourth)["kendall"]


def test_a_domain_of_noise_is_recorded_but_not_in_the_mean(quick):
    found = run("noise", ["marginal"])
    names = ["d01", "d02", "d03", "d04", "d05"]
    for metric, mean in values(found, "marginal", "domains").items():
        each = [values(found, "marginal", name)[metric] for name in names]
        assert mean == pytest.approx(np.mean(each))
    assert values(found, "marginal", "d06")["sine"] > 0.9


def test_a_mean_over_domains_needs_them_all(quick, monkeypatch):
    whole = METHODS["marginal"]

    def without_one(responses):
        found = whole(responses)
        found.trait_sds[:, -2] = np.nan
        return found

    monkeypatch.setitem(METHODS, "marginal", without_one)
    found = run("paper-0.30", ["marginal"])
    assert list(values(found, "marginal", "domains")) == AGREEMENT
    assert list(values(found, "marginal", "d05")) == AGREEMENT
    assert "coverage" in values(found, "marginal", "d04")


def test_rows_without_angles_have_no_h(quick):
    assert run("random", ["accuracy"])["h"].isna().all()


def test_failures_are_recorded_with_their_message(quick, monkeypatch):
    def fails(responses):
        raise ArithmeticError("all models\nare alike")

    monkeypatch.setitem(METHODS, "local", fails)
    found = run("paper-0.30", ["local", "accuracy"])
    failed = found[found["method"] == "local"]
    assert failed[["target", "metric", "value"]].to_numpy().tolist() == [["fit", "failed", 1.0]]
    assert list(failed["message"]) == ["ArithmeticError: all models are alike"]
    assert found[found["method"] == "accuracy"]["message"].isna().all()
    assert "sine" in values(found, "accuracy", "general")


def test_methods_do_not_disturb_each_other(quick):
    both, one = run("clones", ["accuracy", "marginal"]), run("clones", ["marginal"])
    for target in ("general", "d02"):
        assert values(both, "marginal", target) == values(one, "marginal", target)
