"""Fit all domains of a response store, and score models with the items of a fit."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import asdict
from typing import TYPE_CHECKING, Literal, get_args

import dask.array as da
import numpy as np
import pandas as pd

from mtlirt.cluster.executor import open_executor
from mtlirt.engine.marginal import first_rank
from mtlirt.engine.options import Estimator, FitOptions, whole_number
from mtlirt.engine.placement import check_fittable, place, untouched
from mtlirt.engine.rounds import RoundEvent, run_rounds
from mtlirt.engine.scoring import Estimate, score_models
from mtlirt.engine.tables import (
    domain_table,
    fitted_representation,
    item_table,
    loading_table,
    model_table,
    trait_table,
)
from mtlirt.errors import InputError
from mtlirt.irt.curves import Items
from mtlirt.irt.items import covariance
from mtlirt.irt.representation import canonical
from mtlirt.responses.arrays import from_arrays
from mtlirt.responses.matrix import Responses
from mtlirt.result import Fit, Scores

if TYPE_CHECKING:
    from mtlirt.cluster.executor import Client

CONVENTION = (
    "P(correct) = sigma(slope * trait + intercept), no 1.702; traits have mean 0 and variance 1 "
    "over the models of the fit; a domain's sign is that of its mean slope"
)


def silent(event: RoundEvent) -> None:
    """Hear of a round and do nothing."""


def fit(
    responses: Responses | Mapping[str, da.Array],
    *,
    estimator: Estimator = "marginal",
    rank: int | Literal["auto"] = "auto",
    priors: bool = True,
    tolerance: float = 1e-3,
    max_rounds: int = 200,
    client: Client | None = None,
    threads: int | None = None,
    listener: Callable[[RoundEvent], None] = silent,
) -> Fit:
    """Fit a two-parameter IRT model to all domains at once.

    Parameters
    ----------
    responses
        From `open_responses`, `from_tidy` or `from_wide`; or domain -> int8 Dask array (models x
        items; 1 correct, 0 wrong, -1 missing), all with the same models in the same order.
    estimator
        "marginal": traits have a factor-analytic prior that ties the domains; "separate": every
        domain by itself.
    rank
        Number of factors, at most Ledermann's bound; "auto" chooses by information criterion.
    priors
        Learned normal priors of the slopes and a weak prior on the uniquenesses; False is plain
        marginal maximum likelihood.
    tolerance, max_rounds
        See `mtlirt.engine.options.FitOptions`.
    client
        A `dask.distributed` client, whose workers then read the responses and work on them; None
        works in this process.
    threads
        Threads of this process; None is one a core.
    listener
        Called after every round.

    Returns
    -------
    Fit
        The same bytes for the same responses, options and place; within 1e-8 wherever it runs and
        on however many workers; within 1e-6 whatever the chunks and the order of rows and columns.

    Raises
    ------
    InputError
        If an option is out of range, or a domain has fewer than 2 models with responses.
    ClusterError
        If the client's scheduler or workers are lost, or run another version of this package.

    Notes
    -----
    Marginal maximum likelihood by expectation propagation between domains. Cost: 4 to 20 rounds.
    A round makes four passes over the responses where models answered every item of their domains
    (about 4 cells a nanosecond and core), and cells x 40 multiplications where cells are missing;
    besides, 50 exponentials for each model and domain. Memory: the responses once, at one byte a
    cell, and a dozen arrays of models x domains.
    """
    options = FitOptions(estimator, rank, priors, tolerance, max_rounds, threads=threads)
    if not isinstance(responses, Responses):
        responses = from_arrays(responses)
    first_rank(len(responses.domains), options)  # refuse a rank before reading anything
    with open_executor(client, options.threads) as executor:
        domains = place(executor, responses)
        check_fittable(domains)
        state, history = run_rounds(executor, domains, options, listener)
        representation = canonical(state.representation)
        covariances = [
            covariance(information, prior, held)
            for information, prior, held in zip(
                state.information, state.slope_priors, state.held, strict=True
            )
        ]
        table = score_models(
            executor,
            domains,
            state.items,
            covariances,
            representation,
            "eap",
            (state.precision, state.shift),
        )
    info = {
        "estimator": options.estimator,
        "priors": options.priors,
        "rank": representation.rank,
        "rank_asked": options.rank,
        "tolerance": options.tolerance,
        "rounds": len(history),
        "converged": history[-1].converged,
        "settled": table.settled,
        "log_likelihood": table.log_likelihood,
        "convention": CONVENTION,
    }
    return Fit(
        items=item_table(responses.items.index, domains, state, covariances),
        domains=domain_table(domains, state, representation, options),
        models=model_table(responses.models.index, domains, table, representation),
        traits=trait_table(responses.models.index, domains, table),
        representation=loading_table(domains, representation),
        history=pd.DataFrame([asdict(event) for event in history]).set_index("number"),
        info=info,
    )


def score(
    fitted: Fit,
    responses: Responses | Mapping[str, da.Array],
    *,
    estimate: Estimate = "eap",
    client: Client | None = None,
    threads: int | None = None,
) -> Scores:
    """Score models with the items, and the ties between domains, of a fit.

    Parameters
    ----------
    responses
        Of the models to score. Items are matched by (domain, item_id); items and domains that
        the fit does not know are left out and counted in ``info``.
    estimate
        "eap": posterior means and standard deviations; "map": posterior modes, and standard
        deviations from the curvature there.
    client
        As for `fit`.
    threads
        Threads of this process; None is one a core.

    Returns
    -------
    Scores
        A model's scores are the same (1e-10) by itself and in any batch; those of the models of
        the fit are the published ones.

    Raises
    ------
    InputError
        If an option is none of those named, or no item is known to the fit.
    """
    if estimate not in get_args(Estimate):
        raise InputError(f"estimate {estimate!r} is not one of {', '.join(get_args(Estimate))}")
    whole_number("threads", threads)
    if not isinstance(responses, Responses):
        responses = from_arrays(responses)
    known = {name: fitted.items.loc[name].index for name in fitted.domains.index}
    columns = {}
    kept: dict[str, pd.Index] = {}
    for name, ids in known.items():
        if name not in responses.domains:
            continue
        asked = responses.item_ids(name)
        shared = ids[ids.isin(asked)]
        if len(shared):
            columns[name], kept[name] = asked.get_indexer(shared), shared
    if not columns:
        raise InputError(
            f"none of the {len(responses.items)} items is known to the fit; "
            "items are matched by (domain, item_id)"
        )
    representation = fitted_representation(fitted.domains, fitted.representation)
    with open_executor(client, threads) as executor:
        placed = {d.name: d for d in place(executor, responses, columns)}
        domains = [placed.get(name) or untouched(name, len(responses.models)) for name in known]
        tables = [fitted.items.loc[name].reindex(kept.get(name, [])) for name in known]
        items = [Items(*table[["slope", "intercept"]].to_numpy().T.copy()) for table in tables]
        spread = ["slope_variance", "slope_intercept_covariance", "intercept_variance"]
        covariances = [np.ascontiguousarray(table[spread].to_numpy()) for table in tables]
        found = score_models(executor, domains, items, covariances, representation, estimate)
    used = sum(map(len, kept.values()))
    info = {
        "estimate": estimate,
        "items_used": used,
        "items_unknown": len(responses.items) - used,
        "items_not_asked": len(fitted.items) - used,
        "domains_used": len(columns),
        "settled": found.settled,
    }
    return Scores(
        models=model_table(responses.models.index, domains, found, representation),
        traits=trait_table(responses.models.index, domains, found),
        info=info,
    )
