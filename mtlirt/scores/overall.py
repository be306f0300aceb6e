"""What "overall" may mean: a composite of the traits, the general one, a factor, an accuracy."""

from __future__ import annotations

from collections.abc import Mapping
from numbers import Real
from typing import Literal, NamedTuple, cast, get_args

import numpy as np
import numpy.typing as npt
import pandas as pd

from mtlirt.errors import InputError
from mtlirt.irt.representation import composite_moments, factor_posterior
from mtlirt.result import Fit, Scores
from mtlirt.scores.accuracy import composite_accuracy
from mtlirt.scores.raw import RawWeights, raw_accuracies

Float = npt.NDArray[np.float64]

Definition = Literal["overall", "general", "factor", "accuracy", "raw"]
Weights = Literal["equal", "items"] | Mapping[str, float]


WEIGHED = ("overall", "accuracy", "raw")
"""The definitions that weigh the domains."""

OF_DOMAIN = "domain:"
"""What a definition begins with that is the trait in one domain."""


class Defined(NamedTuple):
    """Scores of models under one definition: means and standard deviations, null without data."""

    mean: pd.Series
    sd: pd.Series


def overall_scores(
    scored: Fit | Scores, by: Definition | str = "overall", weights: Weights = "equal"
) -> Defined:
    """Scores of all models in one number each, with the standard deviation of its posterior.

    Parameters
    ----------
    by
        * "overall": the weighted mean of the domains' traits, from their joint posterior;
        * "general": the sine median of the domains' traits (arXiv 2610.05613), its weights taken
          as known;
        * "factor": the first factor behind the domains, see `factor_share`; in standard
          deviations of the fit's own models, also where the traits are on an anchor's scale;
        * "accuracy": the weighted mean of the accuracies expected on each domain's items;
        * "raw": the share of right answers in the domains that a model took, with its standard
          error, which knows nothing of how hard the items were: see
          `mtlirt.scores.raw.raw_accuracies`;
        * "domain:NAME": the trait in one domain.
    weights
        Of the domains, for "overall" and "accuracy": "equal"; "items", by their numbers of items;
        or domain -> weight, which are scaled to sum to 1. For "raw": "equal", or "items", by how
        many items the model answered in each.

    Raises
    ------
    InputError
        If a definition, domain or weight is none, or weights are given to a definition that has
        none; if scores alone are given (from `score`) where the definition needs the fit, or the
        fit has no traits with a posterior.
    """
    models, equal = scored.models, isinstance(weights, str) and weights == "equal"
    if not isinstance(by, str) or not (by in get_args(Definition) or by.startswith(OF_DOMAIN)):
        known = ", ".join([*get_args(Definition), f"{OF_DOMAIN}NAME"])
        raise InputError(f"by {by!r} is not one of {known}")
    if not equal and by not in WEIGHED:
        raise InputError(f"by {by!r} has no weights of domains; those are for {', '.join(WEIGHED)}")
    if by.startswith(OF_DOMAIN):
        return _of_domain(scored, by.removeprefix(OF_DOMAIN))
    if by == "raw":
        found = raw_accuracies(scored, cast(RawWeights, weights))
        return Defined(found["accuracy"], found["se"])
    if by == "general" or (by == "overall" and equal):
        return Defined(models[by], models[f"{by}_sd"])
    told = f"by {by!r}" if equal else f"by {by!r} with weights"
    if not isinstance(scored, Fit):
        raise InputError(f"{told}: needs a fit; scores alone do not tell")
    scored.check_posterior(told)
    if by == "factor":
        mean, variance = _first_factor(scored)
    elif by == "accuracy":
        mean, variance = composite_accuracy(scored, domain_weights(scored, weights))
    else:
        share = domain_weights(scored, weights)
        vector = np.array([share[name] for name in scored.domains.index])
        mean, variance = composite_moments(*scored.sites, scored.prior, vector)
    data = (models["answered"] > 0).to_numpy()
    return Defined(
        pd.Series(np.where(data, mean, np.nan), models.index),
        pd.Series(np.where(data, np.sqrt(np.maximum(variance, 0.0)), np.nan), models.index),
    )


def factor_share(fit: Fit) -> float:
    """The share of the traits' variance that the first factor explains; 0 without factors."""
    prior = fit.prior
    variance = np.diag(prior.covariance)  # 1 unless the traits are on an anchor's scale
    return float((prior.loadings[:, :1] ** 2 / variance[:, None]).sum() / len(variance))


def domain_weights(fit: Fit, weights: Weights) -> dict[str, float]:
    """Weights of all domains that sum to 1.

    Raises
    ------
    InputError
        If a domain is unknown or lacks one, or a weight is negative, not a number, or all are 0.
    """
    names = list(fit.domains.index)
    if isinstance(weights, Mapping):
        given = dict(weights)
    elif isinstance(weights, str) and weights in ("equal", "items"):
        counts = np.ones(len(names)) if weights == "equal" else fit.domains["items"].to_numpy(float)
        given = dict(zip(names, counts.tolist(), strict=True))
    else:
        raise InputError(f"weights {weights!r}: expected equal, items, or domain -> weight")
    for name in given:
        if name not in names:
            raise InputError(f"weights name the domain {name!r}, which the fit does not know")
    for name in names:
        if name not in given:
            raise InputError(f"weights lack the domain {name!r}; give 0 to leave it out")
        if not isinstance(given[name], Real) or not 0.0 <= given[name] < np.inf:
            raise InputError(f"weight {given[name]!r} of {name!r} is not a number from 0 up")
    largest = max(given.values())
    if largest == 0.0:
        raise InputError("weights are all 0; give one domain some")
    total = sum(given[name] / largest for name in names)
    return {name: given[name] / largest / total for name in names}


def _of_domain(scored: Fit | Scores, name: str) -> Defined:
    known = scored.traits.index.unique("domain")
    if name not in known:
        raise InputError(f"domain {name!r} is not one of {', '.join(map(str, known))}")
    traits = scored.traits.xs(name, level="domain").reindex(scored.models.index)
    return Defined(traits["mean"], traits["sd"])


def _first_factor(fit: Fit) -> tuple[Float, Float]:
    if fit.representation.shape[1] == 0:
        raise InputError("by 'factor': the fit has no factor, its domains are not tied")
    found = factor_posterior(*fit.sites, fit.prior)
    return found.factors[:, 0], found.factor_covariance[:, 0, 0]
