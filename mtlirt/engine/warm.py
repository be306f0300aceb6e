"""Start a fit from an earlier one, of other models and items as well."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace

import numpy as np
import pandas as pd

from mtlirt.cluster.executor import Executor
from mtlirt.engine.factors import chosen_rank, grown
from mtlirt.engine.marginal import first_rank, trait_signs
from mtlirt.engine.options import FitOptions
from mtlirt.engine.placement import PlacedDomain, taken_domains, weights_taken
from mtlirt.engine.state import State, standardise, start
from mtlirt.irt.curves import Items
from mtlirt.irt.kernels import Float
from mtlirt.irt.representation import independent
from mtlirt.irt.slopes import SlopePrior
from mtlirt.responses.matrix import Responses
from mtlirt.result import Fit

SPREAD = ["slope_variance", "slope_intercept_covariance", "intercept_variance"]


def warm_start(
    executor: Executor,
    responses: Responses,
    domains: Sequence[PlacedDomain],
    options: FitOptions,
    earlier: Fit,
) -> State:
    """Items, slope priors and sites of an earlier fit, where it knows them; else as at any start.

    The factors are found anew from those sites, which costs no pass over the responses: their
    number, too, is the one that the models of today ask for. So is the pooling of the domains.

    Parameters
    ----------
    earlier
        A fit by estimator `marginal` or `separate`. Items are matched by (domain, item_id), models
        by id.
    """
    cold = start(list(domains), options)
    items, information, priors = [], [], []
    priors_before = earlier.domains[["slope_mean", "slope_sd"]]
    for t, domain in enumerate(domains):
        known = domain.name in earlier.domains.index
        table = earlier.items.loc[domain.name] if known else earlier.items.iloc[:0].droplevel(0)
        table = table.reindex(responses.item_ids(domain.name))
        told = (table["slope"].notna() & ~table["constant"].eq(True)).to_numpy() & ~cold.held[t]
        before = cold.items[t]
        items.append(
            Items(
                np.where(told, table["slope"].to_numpy(np.float64), before.slope),
                np.where(told, table["intercept"].to_numpy(np.float64), before.intercept),
                before.guessing,
            )
        )
        prior = cold.slope_priors[t]
        mean, sd = priors_before.reindex([domain.name]).to_numpy(np.float64)[0]
        if options.priors and np.isfinite(sd):
            prior = SlopePrior(float(mean), float(sd) ** -2)
        priors.append(prior)
        spread = np.where(told[:, None], table[SPREAD].to_numpy(np.float64), 0.0)
        information.append(information_of(spread, prior.precision))
    taken = taken_domains(domains)
    names = [domain.name for domain in domains]
    precision, shift = (
        np.where(taken, by_model(earlier.traits[column], responses.models.index, names), 0.0)
        for column in ("site_precision", "site_shift")
    )
    state = replace(
        cold,
        items=tuple(items),
        information=tuple(information),
        slope_priors=tuple(priors),
        precision=precision,
        shift=shift,
    )
    return tied(executor, domains, state, options)


def by_model(column: pd.Series, models: pd.Index, domains: Sequence[str]) -> Float:
    """A column of `Fit.traits` as models x domains, 0 where it has none."""
    wide = column.unstack("domain").reindex(index=models, columns=list(domains))  # noqa: PD010
    return np.ascontiguousarray(wide.fillna(0.0).to_numpy(np.float64))


def information_of(spread: Float, prior_precision: float) -> Float:
    """The information behind covariances aa, ad, dd, shape (items, 3); 0 where those are 0."""
    aa, ad, dd = spread.T
    determinant = aa * dd - ad**2
    scale = np.where(determinant > 0.0, 1.0 / np.where(determinant > 0.0, determinant, 1.0), 0.0)
    found = np.stack([dd * scale, -ad * scale, aa * scale], axis=1)
    found[:, 0] = np.maximum(found[:, 0] - prior_precision, 0.0)
    return found


def tied(
    executor: Executor, domains: Sequence[PlacedDomain], state: State, options: FitOptions
) -> State:
    """The state with factors found from its sites."""
    representation = independent(len(domains))
    sites = state.precision, state.shift, weights_taken(domains)
    rank = first_rank(len(domains), options)
    while representation.rank < rank:
        representation = grown(
            executor.here, *sites, representation, options.priors, options.tolerance
        )
    if options.rank == "auto" and rank:
        representation = chosen_rank(executor.here, *sites, representation, options.priors)
    found = replace(state, representation=representation)
    return standardise(found, trait_signs(found))
