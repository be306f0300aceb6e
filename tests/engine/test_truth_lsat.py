"""Published estimates and scores of the LSAT 6 and 7 data (1,000 models, 5 items)."""

import dataclasses
import itertools

import dask.array as da
import numpy as np
import pandas as pd
import pytest
from scipy.optimize import minimize
from scipy.special import expit

from mtlirt.engine.fit import fit, score
from mtlirt.responses.arrays import from_arrays
from mtlirt.responses.matrix import DomainResponses

PATTERNS = np.array(list(itertools.product([0, 1], repeat=5)), np.int8)
"""00000, 00001, ... 11111."""

# mirt, tests/testthat/test-01-mirtOne.R
LSAT7 = "12 19 1 7 3 19 3 17 10 5 3 7 7 23 8 28 7 39 11 34 14 51 15 90 6 25 7 35 18 136 32 308"
LSAT7_SLOPE = [0.98793, 1.08088, 1.70580, 0.76519, 0.73580]
LSAT7_INTERCEPT = [1.85606, 0.80798, 1.80422, 0.48600, 1.85451]

# ltm's output for its LSAT data (LSAT 6), and the posterior modes and sds of the patterns seen
LSAT6_SLOPE = np.array([0.8253715, 0.7229499, 0.8904748, 0.6885502, 0.6574516])
LSAT6_DIFFICULTY = np.array([-3.3597341, -1.3696497, -0.2798983, -1.8659189, -3.1235725])
LSAT6 = """
00000 3 -1.895 .795 | 00001 6 -1.479 .796 | 00010 2 -1.460 .796 | 00011 11 -1.041 .800
00100 1 -1.331 .797 | 00101 1 -.911 .802 | 00110 3 -.891 .803 | 00111 4 -.463 .812
01000 1 -1.438 .796 | 01001 8 -1.019 .801 | 01011 16 -.573 .809 | 01101 3 -.441 .813
01110 2 -.420 .813 | 01111 15 .023 .828 | 10000 10 -1.373 .797 | 10001 29 -.953 .802
10010 14 -.933 .802 | 10011 81 -.506 .811 | 10100 3 -.803 .804 | 10101 28 -.373 .815
10110 15 -.352 .815 | 10111 80 .093 .831 | 11000 16 -.911 .802 | 11001 56 -.483 .812
11010 21 -.463 .812 | 11011 173 -.022 .827 | 11100 11 -.329 .816 | 11101 61 .117 .832
11110 28 .139 .833 | 11111 298 .606 .855
"""
LSAT6_ROWS = [entry.split() for entry in LSAT6.replace("\n", "|").split("|") if entry.strip()]


def expanded(counts):
    return np.repeat(PATTERNS, counts, axis=0)


def lsat7():
    return expanded([int(count) for count in LSAT7.split()])


def lsat6():
    counts = np.zeros(32, int)
    for pattern, count, *_ in LSAT6_ROWS:
        counts[int(pattern, 2)] = int(count)
    return expanded(counts)


def one_domain(responses):
    return {"lsat": da.from_array(np.asarray(responses, np.int8))}


@pytest.fixture(scope="module", params=[1, 2])
def plain(request):
    """Maximum likelihood of one domain, on one thread and on two."""

    def maximum(responses):
        found = fit(one_domain(responses), priors=False, tolerance=1e-6, threads=request.param)
        assert found.info["converged"]
        return found

    return maximum


def independent_maximum(responses):
    """The maximum likelihood of patterns of right, wrong and missing answers."""
    rows, counts = np.unique(responses, axis=0, return_counts=True)
    return maximum_of_counts((rows == 1).astype(float), (rows == 0).astype(float), counts)


def maximum_of_counts(right, wrong, counts=1.0):
    """Slopes, intercepts and log-likelihood by scipy and 151-point Gauss-Hermite quadrature."""
    counts = np.broadcast_to(counts, len(right))
    nodes, weights = np.polynomial.hermite_e.hermegauss(151)
    keep = weights > 1e-300
    nodes, log_weights = nodes[keep], np.log(weights[keep] / weights.sum())

    def loss(x):
        slope, intercept = x.reshape(2, -1)
        eta = np.multiply.outer(nodes, slope) + intercept
        joint = -right @ np.logaddexp(0, -eta).T - wrong @ np.logaddexp(0, eta).T + log_weights
        peak = joint.max(axis=1, keepdims=True)
        each = np.exp(joint - peak)
        total = each.sum(axis=1, keepdims=True)
        share = each / total
        p = expit(eta)
        seen = counts[:, None] * share  # expected number of models at each node, by pattern
        pull = (seen.T @ right) * (1 - p) - (seen.T @ wrong) * p
        gradient = np.concatenate([nodes @ pull, pull.sum(axis=0)])
        return -counts @ (peak + np.log(total))[:, 0], -gradient

    start = np.repeat([1.0, 0.5], right.shape[1])
    best = minimize(loss, start, jac=True, method="BFGS", options={"gtol": 1e-6})
    slope, intercept = best.x.reshape(2, -1)
    return slope, intercept, -best.fun


def assert_maximum(found, responses):
    slope, intercept, log_likelihood = independent_maximum(responses)
    np.testing.assert_allclose(found.items["slope"], slope, atol=0.003)
    np.testing.assert_allclose(found.items["intercept"], intercept, atol=0.003)
    assert abs(found.info["log_likelihood"] - log_likelihood) < 0.001


def test_lsat7_maximum_likelihood(plain):
    found = plain(lsat7())
    assert abs(found.info["log_likelihood"] + 2658.805) < 0.005
    assert_maximum(found, lsat7())
    np.testing.assert_allclose(found.items["slope"], LSAT7_SLOPE, atol=0.01)
    np.testing.assert_allclose(found.items["intercept"], LSAT7_INTERCEPT, atol=0.01)


def test_lsat7_convention_and_information_criteria(plain):
    # O01: b = -d/a without 1.702 (which would give b_1 = -1.104); AIC and BIC of 10 parameters
    found = plain(lsat7())
    difficulty = [-1.87875, -0.74752, -1.05770, -0.63514, -2.52041]
    np.testing.assert_allclose(found.items["difficulty"], difficulty, atol=0.01)
    parameters = 2 * (~found.items["constant"]).sum()
    deviance = -2 * found.info["log_likelihood"]
    assert abs(deviance + 2 * parameters - 5337.61) < 0.01
    assert abs(deviance + np.log(1000) * parameters - 5386.688) < 0.01
    assert "no 1.702" in found.info["convention"]


def test_lsat6_maximum_likelihood(plain):
    found = plain(lsat6())
    assert abs(found.info["log_likelihood"] + 2466.653) < 0.005
    assert_maximum(found, lsat6())
    np.testing.assert_allclose(found.items["slope"], LSAT6_SLOPE, atol=0.01)
    np.testing.assert_allclose(found.items["intercept"], -LSAT6_SLOPE * LSAT6_DIFFICULTY, atol=0.01)


def test_lsat7_with_two_cells_missing(plain):
    # mirt's row order is that of the patterns: cell [1,1] and [2,2] of it
    responses = lsat7()
    responses[0, 0] = responses[1, 1] = -1
    found = plain(responses)
    assert_maximum(found, responses)
    np.testing.assert_allclose(
        found.items["slope"], [0.969, 1.074, 1.717, 0.763, 0.731], atol=0.003
    )
    np.testing.assert_allclose(
        found.items["intercept"], [1.851, 0.808, 1.811, 0.486, 1.852], atol=0.003
    )


@pytest.mark.parametrize("priors", [False, True])
@pytest.mark.parametrize("missing", [False, True])
def test_one_thread_and_two_give_the_same_fit(priors, missing):
    responses = lsat7()
    if missing:
        responses[0, 0] = responses[1, 1] = -1
    one, two = (fit(one_domain(responses), priors=priors, threads=n) for n in (1, 2))
    for name in ("items", "domains", "models", "traits", "representation"):
        pd.testing.assert_frame_equal(getattr(one, name), getattr(two, name), check_exact=True)


def published(slope, intercept):
    """A fit with these items, taken as known."""
    found = fit(one_domain(lsat7()[::40]), threads=1, max_rounds=1)
    items = found.items.copy()
    items["slope"], items["intercept"] = slope, intercept
    items[["slope_variance", "slope_intercept_covariance", "intercept_variance"]] = 0.0
    return dataclasses.replace(found, items=items)


def scored(fitted, responses, estimate, threads=1):
    found = score(fitted, one_domain(responses), estimate=estimate, threads=threads)
    assert found.info["settled"]
    return found.traits["mean"].to_numpy(), found.traits["sd"].to_numpy()


@pytest.mark.parametrize("threads", [1, 2])
def test_missing_answers_are_not_wrong_answers(threads):
    # O02
    rows = [[1, 1, 1, 1, -1], [1, -1, -1, -1, -1], [1, 1, 1, 1, 0], [1, 1, 1, 1, 1]]
    fitted = published(LSAT7_SLOPE, LSAT7_INTERCEPT)
    mean, sd = scored(fitted, rows, "eap", threads)
    np.testing.assert_allclose(mean, [0.68370, 0.14919, 0.28203, 0.72722], atol=2e-5)
    np.testing.assert_allclose(sd, [0.80750, 0.94885, 0.75530, 0.80095], atol=2e-5)
    mode, _ = scored(fitted, rows, "map", threads)
    np.testing.assert_allclose(mode, [0.59492, 0.12038, 0.19594, 0.63823], atol=2e-5)


@pytest.mark.parametrize("threads", [1, 2])
def test_lsat7_scores_of_the_first_patterns(threads):
    # mirt: expected a posteriori and modes of 00000 .. 00101; for 00000 its two ways of
    # integrating differ by .0032 (-1.8666, and -1.86979 by sum score)
    fitted = published(LSAT7_SLOPE, LSAT7_INTERCEPT)
    mean, _ = scored(fitted, PATTERNS[:6], "eap", threads)
    mode, _ = scored(fitted, PATTERNS[:6], "map", threads)
    eap = [-1.86979, -1.526692, -1.5134024, -1.1852276, -1.094683, -0.7666992]
    modal = [-1.8165552, -1.4946906, -1.4822982, -1.1789899, -1.0958928, -0.7951026]
    np.testing.assert_allclose(mean, eap, atol=0.002)
    np.testing.assert_allclose(mode, modal, atol=0.002)


def test_lsat7_scores_of_none_and_all_right():
    # mirt, by sum score 0 and 5, each of one pattern
    fitted = published(LSAT7_SLOPE, LSAT7_INTERCEPT)
    mean, sd = scored(fitted, PATTERNS[[0, 31]], "eap")
    np.testing.assert_allclose(mean, [-1.86979, 0.7271877], atol=2e-4)
    np.testing.assert_allclose(sd, [0.6927032, 0.8009335], atol=2e-4)


def test_equal_slopes_make_the_number_right_sufficient():
    # 11000 and 00011 under one slope 1.0113 (EAP -.92369), and under the 2PL
    rows = [[1, 1, 0, 0, 0], [0, 0, 0, 1, 1]]
    equal = published(1.0113, [1.868, 0.791, 1.461, 0.521, 1.993])
    mean, _ = scored(equal, rows, "eap")
    assert abs(mean[0] - mean[1]) < 1e-12
    np.testing.assert_allclose(mean, -0.92369, atol=0.002)
    mean, _ = scored(published(LSAT7_SLOPE, LSAT7_INTERCEPT), rows, "eap")
    np.testing.assert_allclose(mean, [-0.93373, -1.18530], atol=2e-4)


@pytest.mark.parametrize("threads", [1, 2])
def test_lsat6_posterior_modes_of_all_patterns(threads):
    rows = [[int(c) for c in pattern] for pattern, *_ in LSAT6_ROWS]
    fitted = published(LSAT6_SLOPE, -LSAT6_SLOPE * LSAT6_DIFFICULTY)
    mode, sd = scored(fitted, rows, "map", threads)
    assert len(rows) == 30
    np.testing.assert_allclose(mode, [float(row[2]) for row in LSAT6_ROWS], atol=0.002)
    np.testing.assert_allclose(sd, [float(row[3]) for row in LSAT6_ROWS], atol=0.002)


@pytest.mark.parametrize(("priors", "close"), [(False, 1e-6), (True, 0.02)])
@pytest.mark.parametrize("threads", [1, 2])
def test_constant_items_are_kept_flagged_and_change_no_other(priors, close, threads):
    # O05: "all1" after item 2, "all0" last
    responses = lsat7()
    ones, zeros = np.ones((1000, 1), np.int8), np.zeros((1000, 1), np.int8)
    more = np.hstack([responses[:, :2], ones, responses[:, 2:], zeros])
    options = {"priors": priors, "tolerance": 1e-6, "threads": threads}
    plain_fit, found = fit(one_domain(responses), **options), fit(one_domain(more), **options)
    others = [0, 1, 3, 4, 5]
    assert len(found.items) == 7
    assert list(np.flatnonzero(found.items["constant"])) == [2, 6]
    for name in ("slope", "intercept"):
        np.testing.assert_allclose(
            found.items[name].to_numpy()[others], plain_fit.items[name].to_numpy(), atol=close
        )
    assert found.items["difficulty"].iloc[[2, 6]].isna().all()
    assert np.isfinite(found.items[["slope", "intercept"]]).all(axis=None)
    assert list(found.items["successes"].iloc[[2, 6]]) == [1000, 0]
    np.testing.assert_allclose(
        found.traits["mean"].to_numpy(), plain_fit.traits["mean"].to_numpy(), atol=close
    )


def test_an_item_coded_the_other_way_has_its_sign_and_changes_no_other():
    responses = lsat7()
    turned = responses.copy()
    turned[:, 4] = 1 - turned[:, 4]
    found = fit(one_domain(turned), priors=False, tolerance=1e-6, threads=1)
    straight = fit(one_domain(responses), priors=False, tolerance=1e-6, threads=1)
    signs = np.array([1, 1, 1, 1, -1])
    np.testing.assert_allclose(found.items["slope"], straight.items["slope"] * signs, atol=1e-4)
    np.testing.assert_allclose(
        found.items["intercept"], straight.items["intercept"] * signs, atol=1e-4
    )
    np.testing.assert_allclose(found.traits["mean"], straight.traits["mean"], atol=1e-4)


@pytest.mark.parametrize("priors", [False, True])
def test_a_domain_coded_the_other_way_points_up_along_its_mean_slope(priors):
    options = {"priors": priors, "tolerance": 1e-6, "threads": 1}
    straight = fit(one_domain(lsat7()), **options)
    turned = fit(one_domain(1 - lsat7()), **options)
    assert turned.items["slope"].mean() > 0
    np.testing.assert_allclose(turned.items["slope"], straight.items["slope"], atol=1e-4)
    np.testing.assert_allclose(turned.items["intercept"], -straight.items["intercept"], atol=1e-4)
    np.testing.assert_allclose(turned.traits["mean"], -straight.traits["mean"], atol=1e-4)
    np.testing.assert_allclose(turned.traits["sd"], straight.traits["sd"], atol=1e-4)


def test_repeated_trials_and_fractions_reach_their_maximum_likelihood():
    # each item of LSAT7 asked up to three times
    rng = np.random.default_rng(1)
    theta = rng.normal(size=(400, 1))
    p = expit(theta * np.array(LSAT7_SLOPE) + LSAT7_INTERCEPT)
    trials = rng.integers(0, 4, p.shape).astype(np.int16)
    right = rng.binomial(trials, p).astype(np.int16)
    slope, intercept, log_likelihood = maximum_of_counts(right, trials - right)
    given = from_arrays(one_domain(lsat7()[:400]))
    successes = np.where(trials > 0, right, -1).astype(np.int16)
    counts = DomainResponses(da.from_array(successes), da.from_array(trials))
    found = fit(
        dataclasses.replace(given, domains={"lsat": counts}),
        priors=False,
        tolerance=1e-6,
        threads=1,
    )
    np.testing.assert_allclose(found.items["slope"], slope, atol=0.003)
    np.testing.assert_allclose(found.items["intercept"], intercept, atol=0.003)
    assert abs(found.info["log_likelihood"] - log_likelihood) < 0.001
    # a fraction is that share of one attempt
    share = (right / np.maximum(trials, 1)).astype(np.float32)
    fractions = np.where(trials > 0, share, np.nan).astype(np.float32)
    there = (trials > 0).astype(float)
    slope, intercept, log_likelihood = maximum_of_counts(share * there, (1 - share) * there)
    found = fit({"lsat": da.from_array(fractions)}, priors=False, tolerance=1e-6, threads=1)
    np.testing.assert_allclose(found.items["slope"], slope, atol=0.003)
    np.testing.assert_allclose(found.items["intercept"], intercept, atol=0.003)
    assert abs(found.info["log_likelihood"] - log_likelihood) < 0.001
