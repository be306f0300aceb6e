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
    point up where the domain's mean slope is positive, or, where its items leave that open, where
    they agree with the other domains'. P(correct) = guessing + (1 - guessing)
    sigma(slope x trait + intercept), without 1.702.

    Attributes
    ----------
    items
        Index (domain, item_id). ``slope``, ``intercept``, ``guessing`` (the known lower
        asymptote, as given), ``difficulty`` (-intercept/slope, null where the slope is near 0),
        ``slope_variance``, ``slope_intercept_covariance``,
        ``intercept_variance``, ``answered`` (models), ``successes``, ``attempts``, ``constant``
        (all its takers alike: held at slope 0, uninformative), ``at_limit``. The variances take
        the traits as known: in domains of fewer than 30 items they are too small.
    domains
        Index domain. ``items``, ``models`` (takers), ``uniqueness``, ``pooling`` ("joint": its
        items and traits were found together with those of other joint domains; "own": its items,
        and the traits of models that took it, by its own responses alone; traits of models that
        did not take a domain, and overall ones, are expected from all domains either way),
        ``sign_borrowed`` (its items do not tell which end of its trait is up, the other domains
        do), ``slope_mean``, ``slope_sd`` (the learned prior; null without priors), ``weak``
        (fewer than 3 informative items),
        ``flat`` (its responses speak against any trait behind them: slopes held at 0),
        ``general_weight`` (of its trait in the general one; 0 for weak and flat domains beside
        others), ``cosine`` (of the angle between the two over the models), ``fused`` (estimator
        `joint`: its trait is the general one).
    models
        Index model_id. ``answered`` (cells), ``domains`` (taken), ``overall`` and ``overall_sd``
        (equal weights over domains, from the joint posterior; null for a model without data),
        ``general`` and ``general_sd`` (the sine median of the domains' traits, norm sqrt(models);
        its sd with the median's weights taken as known). Estimator `joint` and its like have no
        sds, and their overall trait is the general one; models left out have none.
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
    path
        Estimator `joint` with cross-validation: one row a penalty; ``loss``, ``loss_se``,
        ``fused``, ``chosen``, see `engine.crossvalidate.Path`. Else None.
    """

    items: pd.DataFrame
    domains: pd.DataFrame
    models: pd.DataFrame
    traits: pd.DataFrame
    representation: pd.DataFrame
    history: pd.DataFrame
    info: Mapping[str, Any]
    path: pd.DataFrame | None = None


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
