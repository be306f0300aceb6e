"""Overall scores in every definition, against draws from the dense joint posterior."""

from types import SimpleNamespace

import dask.array as da
import numpy as np
import pytest
from scipy.special import expit

import mtlirt
from mtlirt.errors import InputError
from mtlirt.scores.accuracy import domain_accuracies
from mtlirt.scores.overall import domain_weights, factor_share, overall_scores
from mtlirt.simulate.generate import simulate

DRAWS = 200_000


@pytest.fixture(scope="module")
def fitted():
    """Few models with much doubt, some of which lack domains, and items that may be guessed."""
    responses = simulate("demo", seed=4, models=60, missing=0.9).responses
    return mtlirt.fit(responses, rank=2, threads=1)


def dense_draws(fit, model):
    """Traits of a model drawn from N(0, Sigma) x sites, and the factors given them."""
    rng = np.random.default_rng(0)
    loadings = fit.representation.to_numpy()
    unique = fit.domains["uniqueness"].to_numpy()
    rows = fit.traits.xs(model, level="model_id").loc[fit.domains.index]
    sigma = loadings @ loadings.T + np.diag(unique)
    precision = np.linalg.inv(sigma) + np.diag(rows["site_precision"])
    covariance = np.linalg.inv(precision)
    theta = rng.multivariate_normal(covariance @ rows["site_shift"], covariance, DRAWS)
    weight = np.linalg.inv(np.eye(loadings.shape[1]) + loadings.T / unique @ loadings)
    mean = theta / unique @ loadings @ weight
    factors = mean + rng.normal(size=mean.shape) @ np.linalg.cholesky(weight).T
    return SimpleNamespace(traits=theta, factors=factors)


def accuracies(fit, traits):
    """Mean P(correct) over each domain's items at drawn traits."""
    out = []
    for t, name in enumerate(fit.domains.index):
        items = fit.items.loc[name]
        total = 0.0
        for a, d, c in items[["slope", "intercept", "guessing"]].to_numpy():
            total = total + c + (1 - c) * expit(a * traits[:, t] + d)
        out.append(total / len(items))
    return np.stack(out, axis=1)


@pytest.mark.parametrize("k", [0, 31])
def test_they_are_what_the_joint_posterior_says(fitted, k):
    model = fitted.models.index[k]
    drawn = dense_draws(fitted, model)
    by_items = fitted.domains["items"] / fitted.domains["items"].sum()
    passed = accuracies(fitted, drawn.traits)
    expected = {
        ("overall", "equal"): drawn.traits.mean(axis=1),
        ("overall", "items"): drawn.traits @ by_items.to_numpy(),
        ("general", "equal"): drawn.traits @ fitted.domains["general_weight"].to_numpy(),
        ("factor", "equal"): drawn.factors[:, 0],
        ("accuracy", "equal"): passed.mean(axis=1),
        ("accuracy", "items"): passed @ by_items.to_numpy(),
        ("domain:coding", "equal"): drawn.traits[:, list(fitted.domains.index).index("coding")],
    }
    for (by, weights), values in expected.items():
        mean, sd = overall_scores(fitted, by, weights)
        close = 4 * values.std() / np.sqrt(DRAWS)
        assert mean[model] == pytest.approx(values.mean(), abs=close), by
        assert sd[model] == pytest.approx(values.std(), rel=0.02), by


def test_domain_accuracies_are_those_of_the_posterior_with_intervals_by_the_trait(fitted):
    found = domain_accuracies(fitted, level=0.9)
    assert list(found.columns) == ["accuracy", "accuracy_sd", "lower", "upper"]
    assert found.index.equals(fitted.traits.index)
    model = fitted.models.index[7]
    rng = np.random.default_rng(1)
    rows = fitted.traits.xs(model, level="model_id").loc[fitted.domains.index]
    traits = rows["mean"].to_numpy() + rows["sd"].to_numpy() * rng.normal(size=(DRAWS, len(rows)))
    passed = accuracies(fitted, traits)
    mine = found.xs(model, level="model_id").loc[fitted.domains.index]
    np.testing.assert_allclose(mine["accuracy"], passed.mean(axis=0), atol=2e-3)
    np.testing.assert_allclose(mine["accuracy_sd"], passed.std(axis=0), rtol=0.02, atol=2e-4)
    ends = np.quantile(passed, [0.05, 0.95], axis=0)  # all curves of this fit rise
    np.testing.assert_allclose(mine[["lower", "upper"]].to_numpy().T, ends, atol=4e-3)


def test_a_model_without_data_has_no_score_in_any_definition():
    rng = np.random.default_rng(0)
    traits = rng.normal(size=(80, 1))
    blocks = {name: (rng.random((80, 20)) < expit(traits)).astype(np.int8) for name in "abcd"}
    for block in blocks.values():
        block[5] = -1
    arrays = {name: da.from_array(block) for name, block in blocks.items()}
    fit = mtlirt.fit(arrays, rank=1, threads=1)
    lost = fit.models.index[5]
    found = domain_accuracies(fit)
    assert found.loc[lost].isna().all(axis=None)
    assert found.drop(index=lost, level="model_id").notna().all(axis=None)
    for by in ("overall", "general", "factor", "accuracy", "domain:a"):
        for column in overall_scores(fit, by):
            assert column.index[column.isna()].tolist() == [lost], by
    board = mtlirt.leaderboard(fit, by="accuracy")
    assert board.index[-1] == lost
    assert board.iloc[-1][["rank", "rank_lower", "rank_upper", "tie_group"]].isna().all()


def test_the_share_of_the_first_factor(fitted):
    loadings = fitted.representation.to_numpy()
    assert factor_share(fitted) == pytest.approx((loadings[:, 0] ** 2).mean())


@pytest.mark.parametrize(
    ("asked", "told"),
    [
        (
            {"by": "best"},
            "by 'best' is not one of overall, general, factor, accuracy, raw, domain:NAME",
        ),
        ({"by": "domain:nonsense"}, "domain 'nonsense' is not one of arithmetic, coding"),
        ({"weights": "size"}, "weights 'size': expected equal, items, or domain -> weight"),
        ({"weights": {"nonsense": 1}}, "weights name the domain 'nonsense'"),
        ({"weights": {"coding": 1}}, "weights lack the domain 'arithmetic'"),
    ],
)
def test_what_is_not_a_definition_is_refused(fitted, asked, told):
    with pytest.raises(InputError, match=told):
        overall_scores(fitted, **asked)


def test_weights_are_scaled_and_checked(fitted):
    names = list(fitted.domains.index)
    weights = domain_weights(fitted, {name: float(k) for k, name in enumerate(names)})
    assert sum(weights.values()) == pytest.approx(1.0)
    assert weights[names[0]] == 0.0
    for bad, told in ((-1.0, "weight -1.0 of"), (np.nan, "weight nan of"), (0.0, "all 0")):
        with pytest.raises(InputError, match=told):
            domain_weights(fitted, dict.fromkeys(names, bad))


def test_scores_alone_and_point_estimates_do_not_tell_everything(fitted):
    responses = simulate("demo", seed=4, models=60).responses
    scores = mtlirt.score(fitted, responses, threads=1)
    assert overall_scores(scores, "general").mean.notna().all()
    with pytest.raises(InputError, match="by 'accuracy': needs a fit"):
        overall_scores(scores, "accuracy")
    point = mtlirt.fit(responses, estimator="accuracy", threads=1)
    with pytest.raises(InputError, match="estimator 'accuracy' has no posterior"):
        overall_scores(point, "factor")


def test_untied_domains_have_no_factor():
    responses = simulate("demo", seed=4, models=60).responses
    fit = mtlirt.fit(responses, estimator="separate", threads=1)
    assert factor_share(fit) == 0.0
    with pytest.raises(InputError, match="by 'factor': the fit has no factor"):
        overall_scores(fit, "factor")
