"""Several domains at once against dense integration over their joint normal prior."""

import dataclasses

import dask.array as da
import numpy as np
import pytest
from scipy.special import expit, log_expit
from scipy.stats import multivariate_normal

from mtlirt.cluster.local import Inline
from mtlirt.engine.factors import cavities
from mtlirt.engine.fit import fit
from mtlirt.engine.options import FitOptions
from mtlirt.engine.placement import place
from mtlirt.engine.scoring import score_models
from mtlirt.engine.state import standardise, start
from mtlirt.irt.curves import Items
from mtlirt.irt.representation import Representation, independent
from mtlirt.responses.arrays import from_arrays

EP_ERROR = 3e-3
"""Expectation propagation is an approximation. Over domains of 1 to 20 items, correlations of .5
to .95, perfect and zero scorers its log-likelihood of a model was off by at most 1.8e-3 (4e-4
relatively)."""

EP_MOMENTS = 5e-3
"""The same for means and sds of traits, whose prior has sd 1; 3.3e-3 was the most."""


def one_factor(domains, correlation):
    loadings = np.full((domains, 1), np.sqrt(correlation))
    return Representation(np.zeros(domains), loadings, np.full(domains, 1.0 - correlation))


def simulated(domains, items, models, correlation, seed):
    """Items and answers by domain; the first two models are all right in the first domain."""
    rng = np.random.default_rng(seed)
    representation = one_factor(domains, correlation)
    traits = rng.multivariate_normal(np.zeros(domains), representation.covariance, models)
    parts, answers = [], []
    for t in range(domains):
        part = Items.plain(np.exp(rng.normal(0, 0.3, items)), rng.normal(0.3, 1.2, items))
        p = expit(np.multiply.outer(traits[:, t], part.slope) + part.intercept)
        parts.append(part)
        answers.append((rng.random(p.shape) < p).astype(np.int8))
    answers[0][:2], answers[1][0], answers[1][1] = 1, 0, 1
    return representation, parts, answers


def responses_of(answers):
    return from_arrays({f"d{t}": da.from_array(part) for t, part in enumerate(answers)})


def propagated(representation, parts, answers):
    """Scores and log-likelihood of these models at these items, by expectation propagation."""
    none = [np.zeros((len(part.slope), 3)) for part in parts]
    placed = place(Inline(), responses_of(answers))
    found = score_models(Inline(), placed, parts, none, representation, "eap")
    assert found.settled
    return found


def log_likelihoods(part, answers, theta):
    """log p(answers | theta) of one domain, shape (models, points); missing cells left out."""
    eta = np.multiply.outer(theta, part.slope) + part.intercept
    right, wrong = (answers == 1).astype(float), (answers == 0).astype(float)
    return right @ log_expit(eta).T + wrong @ log_expit(-eta).T


class Dense:
    """Joint posterior of each model's traits on a full grid: log-likelihood, means and sds."""

    def __init__(self, representation, parts, answers, points):
        x = np.linspace(-7, 7, points)
        domains = len(parts)
        each = [log_likelihoods(part, given, x) for part, given in zip(parts, answers, strict=True)]
        peaks = [values.max(axis=1, keepdims=True) for values in each]
        factors = [np.exp(values - peak) for values, peak in zip(each, peaks, strict=True)]
        grid = np.stack(np.meshgrid(*[x] * domains, indexing="ij"), axis=-1)
        prior = multivariate_normal(np.zeros(domains), representation.covariance).pdf(grid)
        prior *= (x[1] - x[0]) ** domains
        axes = "abc"[:domains]
        rows = ",".join(f"i{axis}" for axis in axes)
        self.mean, self.sd = np.empty((2, len(answers[0]), domains))
        for t, axis in enumerate(axes):
            weight = np.einsum(f"{rows},{axes}->i{axis}", *factors, prior, optimize=True)
            total = weight.sum(axis=1)
            weight /= total[:, None]
            self.mean[:, t] = weight @ x
            self.sd[:, t] = np.sqrt(weight @ x**2 - self.mean[:, t] ** 2)
        self.log_likelihood = np.log(total) + np.sum(peaks, axis=0)[:, 0]


@pytest.mark.parametrize(
    ("domains", "items", "correlation"),
    [(2, 1, 0.8), (2, 10, 0.5), (2, 20, 0.8), (3, 10, 0.8), (3, 15, 0.95)],
)
def test_scores_and_log_likelihoods_of_tied_domains(domains, items, correlation):
    case = simulated(domains, items, 10, correlation, seed=domains * items)
    truth = Dense(*case, points=161 if domains == 2 else 81)
    found = propagated(*case)
    np.testing.assert_allclose(found.mean, truth.mean, atol=EP_MOMENTS)
    np.testing.assert_allclose(found.sd, truth.sd, atol=EP_MOMENTS)
    representation, parts, answers = case
    each = [
        propagated(representation, parts, [given[[i]] for given in answers]).log_likelihood
        for i in range(10)
    ]
    np.testing.assert_allclose(each, truth.log_likelihood, atol=EP_ERROR)
    np.testing.assert_allclose(sum(each), found.log_likelihood, rtol=1e-10)


def test_missing_cells_and_domains_leave_the_joint_prior_to_speak():
    representation, parts, answers = simulated(3, 12, 8, 0.8, seed=5)
    rng = np.random.default_rng(6)
    answers = [np.where(rng.random(given.shape) < 0.4, -1, given) for given in answers]
    answers[1][2], answers[0][3], answers[2][3] = -1, -1, -1
    answers = [given.astype(np.int8) for given in answers]
    truth = Dense(representation, parts, answers, points=81)
    found = propagated(representation, parts, answers)
    np.testing.assert_allclose(found.mean, truth.mean, atol=EP_MOMENTS)
    np.testing.assert_allclose(found.sd, truth.sd, atol=EP_MOMENTS)
    assert abs(found.log_likelihood - truth.log_likelihood.sum()) < 8 * EP_ERROR


def test_one_domain_and_separate_domains_are_exact():
    _, parts, answers = simulated(2, 12, 10, 0.8, seed=7)
    for count in (1, 2):
        found = propagated(independent(count), parts[:count], answers[:count])
        x = np.linspace(-9, 9, 4001)
        normal = np.log((x[1] - x[0]) / np.sqrt(2 * np.pi)) - x**2 / 2
        total = 0.0
        for t in range(count):
            joint = np.exp(log_likelihoods(parts[t], answers[t], x) + normal)
            total += np.log(joint.sum(axis=1)).sum()
            mean = joint @ x / joint.sum(axis=1)
            np.testing.assert_allclose(found.mean[:, t], mean, atol=1e-7)
        np.testing.assert_allclose(found.log_likelihood, total, rtol=1e-9)


def moved(parts, t, j, slope, intercept):
    """The items with one parameter of one of them moved."""
    changed = [Items.plain(part.slope.copy(), part.intercept.copy()) for part in parts]
    changed[t].slope[j] += slope
    changed[t].intercept[j] += intercept
    return changed


MOVES = [(t, j, *step) for t in (0, 1) for j in (0, 7) for step in ((1e-4, 0.0), (0.0, 1e-4))]


def gradient(value, parts):
    """Central differences of a function of the items."""
    return np.array(
        [
            (value(moved(parts, t, j, a, d)) - value(moved(parts, t, j, -a, -d))) / 2e-4
            for t, j, a, d in MOVES
        ]
    )


def test_the_log_likelihoods_gradient_is_that_of_its_tilted_distributions():
    # at the fixed point the messages' own derivatives cancel: d/d(a, d) is the expectation of
    # (y - P)(theta, 1) under cavity x likelihood
    representation, parts, answers = simulated(2, 12, 15, 0.8, seed=8)
    found = propagated(representation, parts, answers)
    cavity, _ = cavities(Inline(), found.precision, found.shift, representation)
    x = np.linspace(-8, 8, 2001)
    expected = []
    for t, j, by_slope, _ in MOVES:
        mean, variance = cavity.mean[:, [t]], cavity.variance[:, [t]]
        tilted = log_likelihoods(parts[t], answers[t], x) - 0.5 * (x - mean) ** 2 / variance
        weight = np.exp(tilted - tilted.max(axis=1, keepdims=True))
        weight /= weight.sum(axis=1, keepdims=True)
        p = expit(parts[t].slope[j] * x + parts[t].intercept[j])
        pull = answers[t][:, [j]] - p
        expected.append((weight * pull * (x if by_slope else 1.0)).sum())

    def value(items):
        return propagated(representation, items, answers).log_likelihood

    np.testing.assert_allclose(gradient(value, parts), expected, atol=1e-6)


def test_the_log_likelihoods_gradient_is_that_of_dense_integration():
    representation, parts, answers = simulated(2, 12, 15, 0.8, seed=8)

    def exact(items):
        return Dense(representation, items, answers, 121).log_likelihood.sum()

    def value(items):
        return propagated(representation, items, answers).log_likelihood

    # sums over 15 models of terms of size 1; expectation propagation's own error
    np.testing.assert_allclose(gradient(value, parts), gradient(exact, parts), atol=15 * EP_ERROR)


def fitted_parts(found):
    return [
        Items.plain(*found.items.loc[name, ["slope", "intercept"]].to_numpy().T.copy())
        for name in found.domains.index
    ]


@pytest.mark.parametrize("threads", [1, 2])
@pytest.mark.parametrize("domains", [2, 3])
def test_a_fit_without_priors_is_a_stationary_point_of_the_likelihood(domains, threads):
    _, _, answers = simulated(domains, 10, 250, 0.7, seed=9)
    found = fit(
        responses_of(answers), priors=False, tolerance=1e-6, threads=threads, max_rounds=500
    )
    assert found.info["converged"]
    representation = Representation(
        np.zeros(domains), found.representation.to_numpy(), found.domains["uniqueness"].to_numpy()
    )
    parts = fitted_parts(found)
    best = propagated(representation, parts, answers).log_likelihood
    np.testing.assert_allclose(found.info["log_likelihood"], best, rtol=1e-12)

    def value(items):
        return propagated(representation, items, answers).log_likelihood

    # information of a slope or intercept here is about 30: a gradient of .01 is 3e-4 of it
    np.testing.assert_allclose(gradient(value, parts), 0.0, atol=0.01)
    for t in range(domains):
        change = np.zeros((domains, 1))
        change[t] = 1e-3
        sides = []
        for side in (1, -1):
            loadings = representation.loadings + side * change
            tied = Representation(np.zeros(domains), loadings, 1 - loadings[:, 0] ** 2)
            sides.append(propagated(tied, parts, answers).log_likelihood)
        assert abs(sides[0] - sides[1]) / 2e-3 < 0.1
        assert max(sides) <= best + 1e-5


def test_standardising_leaves_the_likelihood_alone_and_changes_every_parameter():
    _, parts, answers = simulated(3, 9, 12, 0.7, seed=10)
    placed = place(Inline(), responses_of(answers))
    rng = np.random.default_rng(11)
    loadings = np.array([[0.9, 0.2], [0.7, -0.5], [-0.4, 0.6]])
    representation = Representation(np.array([0.4, -0.3, 0.8]), loadings, np.array([0.3, 0.9, 0.5]))
    options = FitOptions(threads=1)
    site_precision = rng.gamma(2.0, 2.0, (12, 3))
    state = dataclasses.replace(
        start(placed, options),
        items=tuple(parts),
        precision=site_precision,
        shift=site_precision * rng.normal(size=(12, 3)),
        representation=representation,
    )
    after = standardise(state, np.array([1.0, -1.0, 1.0]))
    none = [np.zeros((9, 3))] * 3

    def log_likelihood(these):
        found = score_models(Inline(), placed, these.items, none, these.representation, "eap")
        return found.log_likelihood

    np.testing.assert_allclose(log_likelihood(after), log_likelihood(state), rtol=1e-9)
    assert (after.representation.centre == 0).all()
    np.testing.assert_allclose(np.diag(after.representation.covariance), 1.0, rtol=1e-12)
    for old, new in zip(state.items, after.items, strict=True):
        assert (np.abs(new.slope - old.slope) > 1e-3).all()
        assert (np.abs(new.intercept - old.intercept) > 1e-3).all()
    # sites and cavities follow their traits
    sd = np.sqrt(np.diag(representation.covariance)) * [1, -1, 1]
    before, _ = cavities(Inline(), state.precision, state.shift, representation)
    behind, _ = cavities(Inline(), after.precision, after.shift, after.representation)
    np.testing.assert_allclose(behind.mean * sd + representation.centre, before.mean, rtol=1e-9)
    np.testing.assert_allclose(behind.variance * sd**2, before.variance, rtol=1e-9)


def test_the_information_and_the_slope_priors_follow_their_traits():
    _, parts, answers = simulated(3, 9, 12, 0.7, seed=10)
    placed = place(Inline(), responses_of(answers))
    representation = Representation(
        np.array([0.4, -0.3, 0.8]), np.full((3, 1), 0.9), np.array([0.3, 0.9, 0.5])
    )
    information = np.tile([40.0, 9.0, 30.0], (9, 1))
    state = dataclasses.replace(
        start(placed, FitOptions(threads=1)),
        items=tuple(parts),
        information=(information,) * 3,
        representation=representation,
    )
    signs = np.array([1.0, -1.0, 1.0])
    after = standardise(state, signs)
    for t in range(3):
        mean = representation.centre[t]
        scale = signs[t] * np.sqrt(representation.covariance[t, t])
        # (a, d) -> (a scale, d + a mean): covariances transform by the Jacobian
        jacobian = np.array([[scale, 0.0], [mean, 1.0]])
        old = np.linalg.inv([[40.0, 9.0], [9.0, 30.0]])
        aa, ad, dd = after.information[t][0]
        found = np.linalg.inv([[aa, ad], [ad, dd]])
        np.testing.assert_allclose(found, jacobian @ old @ jacobian.T, rtol=1e-10)
        old_prior, prior = state.slope_priors[t], after.slope_priors[t]
        np.testing.assert_allclose(prior.mean, old_prior.mean * scale, rtol=1e-12)
        np.testing.assert_allclose(1 / prior.precision, scale**2 / old_prior.precision, rtol=1e-12)


@pytest.mark.parametrize("priors", [False, True])
@pytest.mark.parametrize("threads", [1, 2, 8])
def test_tiny_domains_run_and_are_flagged(priors, threads):
    # O06: 60, 2 and 1 items, 40 models
    rng = np.random.default_rng(12)
    trait = rng.normal(size=(40, 1))
    data = {
        name: da.from_array((trait + rng.logistic(size=(40, count)) > 0).astype(np.int8))
        for name, count in (("long", 60), ("two", 2), ("one", 1))
    }
    found = fit(data, priors=priors, threads=threads)
    assert len(found.items) == 63
    assert np.isfinite(found.items[["slope", "intercept"]]).all(axis=None)
    assert list(found.domains["weak"]) == [False, True, True]
    assert list(found.domains["items"]) == [60, 2, 1]
    sd = found.traits["sd"].unstack()
    assert (sd <= 1 + 1e-9).all(axis=None)
    assert (sd["two"] > sd["long"]).all()
    assert (sd["one"] > sd["long"]).all()
    assert np.isfinite(found.traits["mean"]).all()


@pytest.mark.parametrize(("priors", "models"), [(True, 5), (True, 60), (False, 200)])
@pytest.mark.parametrize("threads", [1, 2])
def test_a_model_without_answers_changes_no_other_in_a_fit(priors, models, threads):
    # O08; the third model has missing cells only (5 models have no maximum without priors)
    rng = np.random.default_rng(13)
    trait = rng.normal(size=(models, 1))
    trait[:5, 0] = np.linspace(-1.5, 1.5, 5)
    answers = [
        (trait + rng.logistic(size=(models, 30)) > np.linspace(-1, 1, 30)).astype(np.int8)
        for _ in range(2)
    ]
    keep = np.arange(models) != 2
    with_gap = [np.where(keep[:, None], given, -1).astype(np.int8) for given in answers]
    options = {"priors": priors, "threads": threads}
    found = fit(responses_of(with_gap), **options)
    without = fit(responses_of([given[keep] for given in answers]), **options)
    assert list(found.models.index) == [str(i) for i in range(models)]
    assert found.models["answered"].iloc[2] == 0
    assert found.models[["overall", "overall_sd"]].iloc[2].isna().all()
    assert found.traits.loc["2", ["mean", "sd"]].isna().all(axis=None)
    close = {"rtol": 0, "atol": 1e-8}
    rows = np.repeat(keep, 2)
    for name in ("mean", "sd"):
        np.testing.assert_allclose(found.traits[name][rows], without.traits[name], **close)
    for name in ("slope", "intercept"):
        np.testing.assert_allclose(found.items[name], without.items[name], **close)
