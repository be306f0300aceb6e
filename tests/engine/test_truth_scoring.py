"""Scores with closed forms: extreme, short and empty responders, and borrowing."""

import dataclasses

import dask.array as da
import numpy as np
import pandas as pd
import pytest
from scipy.special import expit

from mtlirt.engine.fit import fit, score

THREADS = pytest.mark.parametrize("threads", [1, 2])


def arrays(**domains):
    return {name: da.from_array(np.asarray(rows, np.int8)) for name, rows in domains.items()}


def frozen(correlation=None, **difficulty):
    """A fit of items with slope 1 and these difficulties by domain, known without error."""
    rng = np.random.default_rng(0)
    data = {name: rng.integers(0, 2, (4, len(b))) for name, b in difficulty.items()}
    found = fit(arrays(**data), max_rounds=1, threads=1, estimator="separate")
    items = found.items.copy()
    items["slope"], items["intercept"] = 1.0, -np.concatenate(list(difficulty.values()))
    items[["slope_variance", "slope_intercept_covariance", "intercept_variance"]] = 0.0
    domains, loadings = found.domains.copy(), found.representation
    if correlation is not None:
        domains["uniqueness"], domains["pooling"] = 1.0 - correlation, "joint"
        loadings = pd.DataFrame({"factor_1": np.sqrt(correlation)}, index=domains.index)
    return dataclasses.replace(found, items=items, domains=domains, representation=loadings)


def answers(count, right, answered=None):
    """So many right, then wrong, then (beyond those answered) missing."""
    order = np.arange(count)
    row = (order < right).astype(np.int8)
    return np.where(order < (count if answered is None else answered), row, -1)


@THREADS
def test_perfect_and_zero_scorers_are_finite_and_not_clipped(threads):
    # O03
    found = score(
        frozen(flat=np.zeros(10)),
        arrays(flat=[answers(10, 10), answers(10, 0)]),
        estimate="map",
        threads=threads,
    )
    np.testing.assert_allclose(found.traits["mean"], [1.63351, -1.63351], atol=6e-6)
    np.testing.assert_allclose(found.traits["sd"], [0.65003, 0.65003], atol=6e-6)


@THREADS
def test_ten_thousand_right_answers_are_not_clipped(threads):
    # O03
    fitted = frozen(flat=np.zeros(10_000))
    rows = arrays(flat=[answers(10_000, 10_000), answers(10_000, 0)])
    found = score(fitted, rows, estimate="map", threads=threads)
    np.testing.assert_allclose(found.traits["mean"], [7.23121, -7.23121], atol=6e-6)
    np.testing.assert_allclose(found.traits["sd"], [0.34866, 0.34866], atol=6e-6)
    theta = np.linspace(3, 13, 20_001)
    logarithm = -1e4 * np.log1p(np.exp(-theta)) - theta**2 / 2
    weight = np.exp(logarithm - logarithm.max())
    weight /= weight.sum()
    mean = weight @ theta
    found = score(fitted, rows, threads=threads)
    np.testing.assert_allclose(found.traits["mean"], [mean, -mean], rtol=1e-7)
    sd = np.sqrt(weight @ (theta - mean) ** 2)
    np.testing.assert_allclose(found.traits["sd"], [sd, sd], rtol=1e-7)


@THREADS
@pytest.mark.parametrize("estimate", ["map", "eap"])
def test_one_right_answer_of_one_ranks_below_fifteen_of_twenty(threads, estimate):
    # O03; the model with one answer carries its n
    found = score(
        frozen(flat=np.zeros(20)),
        arrays(flat=[answers(20, 1, 1), answers(20, 15)]),
        estimate=estimate,
        threads=threads,
    )
    if estimate == "map":
        np.testing.assert_allclose(found.traits["mean"], [0.40106, 0.87681], atol=6e-6)
        np.testing.assert_allclose(found.traits["sd"], [0.89795, 0.44065], atol=6e-6)
    assert found.traits["mean"].iloc[0] < found.traits["mean"].iloc[1]
    assert list(found.traits["answered"]) == [1, 20]
    assert list(found.models["answered"]) == [1, 20]


@THREADS
@pytest.mark.parametrize(
    ("right", "answered", "mode", "se"),
    [
        (0, 1, -0.40106, 0.89795),
        (2, 3, 0.28655, 0.75923),
        (2, 4, 0.0, 0.70711),
        (3, 4, 0.50524, 0.71818),
        (0, 4, -1.04260, 0.75147),
        (10, 20, 0.0, 0.40825),
    ],
)
def test_modes_of_short_responders(right, answered, mode, se, threads):
    # REF-SCORE
    found = score(
        frozen(flat=np.zeros(20)),
        arrays(flat=[answers(20, right, answered)]),
        estimate="map",
        threads=threads,
    )
    np.testing.assert_allclose(found.traits[["mean", "sd"]].iloc[0], [mode, se], atol=6e-6)


@THREADS
@pytest.mark.parametrize("estimate", ["map", "eap"])
def test_wrong_answers_never_raise_a_trait(estimate, threads):
    # O04
    fitted = frozen(hard=np.array([2, 2.31013589, 2.61, 2.91, 3.1]))
    rows = np.where(np.tri(5, dtype=bool), 0, -1)
    found = score(fitted, arrays(hard=rows), estimate=estimate, threads=threads).traits["mean"]
    assert (np.diff(found) < 0).all()
    if estimate == "map":
        expected = [-0.10829, -0.17838, -0.22618, -0.25963, -0.28606]
        np.testing.assert_allclose(found, expected, atol=6e-6)


@THREADS
def test_an_untouched_domain_borrows_by_the_correlation(threads):
    # O07: correlation .8; 15 of 20 in A, nothing in B
    found = score(
        frozen(0.8, A=np.zeros(20), B=np.zeros(20)),
        arrays(A=[answers(20, 15)], B=[np.full(20, -1)]),
        estimate="map",
        threads=threads,
    )
    np.testing.assert_allclose(found.traits["mean"], [0.87681, 0.70144], atol=6e-6)
    np.testing.assert_allclose(found.traits["sd"], [0.44065, 0.69590], atol=6e-6)
    assert list(found.traits["borrowed"]) == [False, True]
    assert list(found.traits["answered"]) == [20, 0]


@THREADS
def test_expectations_borrow_exactly_where_one_domain_speaks(threads):
    # with one site the joint posterior's moments are exact: E[theta_B] = .8 E[theta_A]
    found = score(
        frozen(0.8, A=np.zeros(20), B=np.zeros(20)),
        arrays(A=[answers(20, 15)], B=[np.full(20, -1)]),
        threads=threads,
    )
    theta = np.linspace(-6, 6, 20_001)
    weight = np.exp(15 * theta - 20 * np.log1p(np.exp(theta)) - theta**2 / 2)
    weight /= weight.sum()
    mean = weight @ theta
    variance = weight @ (theta - mean) ** 2
    np.testing.assert_allclose(found.traits["mean"], [mean, 0.8 * mean], rtol=1e-9)
    np.testing.assert_allclose(
        found.traits["sd"] ** 2, [variance, 0.36 + 0.64 * variance], rtol=1e-9
    )


@THREADS
@pytest.mark.parametrize("estimate", ["map", "eap"])
def test_a_domain_not_in_the_data_at_all_borrows_alike(estimate, threads):
    fitted = frozen(0.8, A=np.zeros(20), B=np.zeros(20))
    rows = [answers(20, 15), answers(20, 3), answers(20, 2, 9)]
    empty = score(
        fitted, arrays(A=rows, B=np.full((3, 20), -1)), estimate=estimate, threads=threads
    )
    absent = score(fitted, arrays(A=rows), estimate=estimate, threads=threads)
    pd.testing.assert_frame_equal(absent.traits, empty.traits, check_exact=False, rtol=1e-10)


@THREADS
@pytest.mark.parametrize("estimate", ["map", "eap"])
def test_a_model_without_answers_has_no_score_and_changes_no_other(estimate, threads):
    # O08, scoring
    rng = np.random.default_rng(2)
    rows = rng.integers(-1, 2, (5, 20))
    rows[2] = -1
    fitted = frozen(0.8, A=np.linspace(-1, 1, 20), B=np.zeros(20))
    found = score(fitted, arrays(A=rows), estimate=estimate, threads=threads)
    without = score(fitted, arrays(A=rows[[0, 1, 3, 4]]), estimate=estimate, threads=threads)
    assert list(found.models.index) == ["0", "1", "2", "3", "4"]
    assert found.models["answered"].iloc[2] == 0
    assert found.models[["overall", "overall_sd"]].iloc[2].isna().all()
    assert found.traits.loc["2", ["mean", "sd"]].isna().all(axis=None)
    assert not found.traits.loc["2", "borrowed"].any()
    kept = np.repeat(np.arange(5) != 2, 2)
    np.testing.assert_allclose(
        found.traits[["mean", "sd"]][kept], without.traits[["mean", "sd"]], rtol=0, atol=1e-10
    )


@THREADS
def test_modes_of_tied_domains_are_those_of_the_joint_posterior(threads):
    difficulty = {"A": np.linspace(-1, 1, 12), "B": np.linspace(-2, 1, 9)}
    rng = np.random.default_rng(4)
    rows = {name: rng.integers(-1, 2, (6, len(b))) for name, b in difficulty.items()}
    rows["A"][0], rows["B"][0], rows["B"][1] = 1, 1, 0
    rows["B"][2] = -1
    found = score(frozen(0.7, **difficulty), arrays(**rows), estimate="map", threads=threads)
    prior = np.linalg.inv([[1.0, 0.7], [0.7, 1.0]])
    for i in range(6):

        def derivatives(theta, i=i):
            gradient, hessian = -prior @ theta, prior.copy()
            for t, (name, b) in enumerate(difficulty.items()):
                y = rows[name][i]
                p = expit(theta[t] - b)[y >= 0]
                gradient[t] += (y[y >= 0] - p).sum()
                hessian[t, t] += (p * (1 - p)).sum()
            return gradient, hessian

        theta = np.zeros(2)
        for _ in range(60):
            gradient, hessian = derivatives(theta)
            theta = theta + np.linalg.solve(hessian, gradient)
        assert np.abs(gradient).max() < 1e-10
        sd = np.sqrt(np.diag(np.linalg.inv(derivatives(theta)[1])))
        np.testing.assert_allclose(found.traits.loc[str(i), "mean"], theta, atol=1e-8)
        np.testing.assert_allclose(found.traits.loc[str(i), "sd"], sd, atol=1e-8)


def test_the_overall_score_is_the_composite_of_the_joint_posterior():
    # dense two-dimensional integration of three models
    fitted = frozen(0.6, A=np.linspace(-1, 1, 12), B=np.linspace(-2, 1, 9))
    rng = np.random.default_rng(3)
    a, b = rng.integers(0, 2, (3, 12)), rng.integers(0, 2, (3, 9))
    found = score(fitted, arrays(A=a, B=b), threads=1)
    x = np.linspace(-7, 7, 401)
    prior = -(x[:, None] ** 2 - 1.2 * np.outer(x, x) + x**2) / (2 * (1 - 0.36))

    def likelihood(y, difficulty):
        eta = np.subtract.outer(x, difficulty)
        p = expit(eta)
        return np.log(np.where(y, p, 1 - p)).sum(axis=1)

    for i in range(3):
        by_a = likelihood(a[i], np.linspace(-1, 1, 12))
        by_b = likelihood(b[i], np.linspace(-2, 1, 9))
        weight = prior + by_a[:, None] + by_b
        weight = np.exp(weight - weight.max())
        weight /= weight.sum()
        centre = np.add.outer(x, x) / 2
        mean = (weight * centre).sum()
        sd = np.sqrt((weight * (centre - mean) ** 2).sum())
        # expectation propagation is not exact here: a thousandth of an sd
        assert abs(found.models["overall"].iloc[i] - mean) < 2e-3
        assert abs(found.models["overall_sd"].iloc[i] - sd) < 2e-3
