"""What a fit is: one frozen set of tables, which snapshots store and scores read."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

import pandas as pd


@dataclass(frozen=True)
class Fit:
    """A fitted model as tables.

    Traits have mean 0 and standard deviation 1 over the models of the fit, in every domain, and
    point up where the domain's mean slope is positive. P(correct) = sigma(slope x trait +
    intercept), without 1.702.

    Attributes
    ----------
    items
        Index (domain, item_id). ``slope``, ``intercept``, ``difficulty`` (-intercept/slope, null
        where the slope is near 0), ``slope_variance``, ``slope_intercept_covariance``,
        ``intercept_variance``, ``answered`` (models), ``successes``, ``attempts``, ``constant``
        (all its takers alike: held at slope 0, uninformative), ``at_limit``. The variances take
        the traits as known: in domains of fewer than 30 items they are too small.
    domains
        Index domain. ``items``, ``models`` (takers), ``uniqueness``, ``slope_mean``, ``slope_sd``
        (the learned prior; null without priors), ``weak`` (fewer than 3 informative items),
        ``flat`` (its responses speak against any trait behind them: slopes held at 0).
    models
        Index model_id. ``answered`` (cells), ``domains`` (taken), ``overall`` and ``overall_sd``
        (equal weights over domains, from the joint posterior; null for a model without data).
    traits
        Index (model_id, domain). ``mean``, ``sd``, ``site_precision``, ``site_shift`` (what the
        domain's own responses say), ``answered``, ``borrowed`` (no response in this domain: the
        score comes from the others).
    representation
        Index domain; columns factor_1 .. factor_r: the loadings.
    history
        One row a round.
    info
        Estimator, options, rank, rounds, converged (the items), settled (the traits), the
        log-likelihood, and the convention of the parameters.
    """

    items: pd.DataFrame
    domains: pd.DataFrame
    models: pd.DataFrame
    traits: pd.DataFrame
    representation: pd.DataFrame
    history: pd.DataFrame
    info: Mapping[str, Any]


@dataclass(frozen=True)
class Scores:
    """Models scored with frozen items.

    Attributes
    ----------
    models, traits
        As in `Fit`.
    info
        What was scored against what: the estimate, items used, items unknown, items not asked.
    """

    models: pd.DataFrame
    traits: pd.DataFrame
    info: Mapping[str, Any]
