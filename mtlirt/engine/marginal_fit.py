"""Fits whose traits have a prior: `marginal`, and `separate`."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import asdict

import numpy as np
import pandas as pd

from mtlirt.cluster.executor import Executor
from mtlirt.engine.events import Listener
from mtlirt.engine.item_errors import item_covariances
from mtlirt.engine.linked import linked
from mtlirt.engine.marginal import ridges
from mtlirt.engine.options import FitOptions
from mtlirt.engine.placement import PlacedDomain
from mtlirt.engine.progress import Arrays, Keep, Progress
from mtlirt.engine.rounds import run_rounds
from mtlirt.engine.scoring import Scored
from mtlirt.engine.state import start, with_null_variances
from mtlirt.engine.tables import (
    domain_table,
    general_trait,
    item_table,
    loading_table,
    model_table,
    trait_table,
)
from mtlirt.engine.warm import warm_start
from mtlirt.irt.items import covariance
from mtlirt.irt.representation import canonical
from mtlirt.responses.matrix import Responses
from mtlirt.result import Fit
from mtlirt.scores.ranks import SEED

CONVENTION = (
    "P(correct) = sigma(slope * trait + intercept), no 1.702, or with a guessing floor guessing + "
    "(1 - guessing) sigma(...); traits have mean 0 and variance 1 over the models of the fit; a "
    "domain's sign is that of its mean slope, or, where its items leave that open (sign_borrowed), "
    "of its tie to the other domains"
)


def marginal_fit(
    executor: Executor,
    responses: Responses,
    domains: Sequence[PlacedDomain],
    options: FitOptions,
    listener: Listener,
    earlier: Fit | None,
    kept: Arrays | None,
    keep: Keep,
) -> Fit:
    """Fit by marginal maximum likelihood, then score the models with the items found."""
    domains = list(domains)
    if kept is not None:
        begin = Progress.from_arrays(kept, domains)
    elif earlier is not None:
        begin = Progress.of(warm_start(executor, responses, domains, options, earlier))
    else:
        begin = Progress.of(start(domains, options))
    progress = run_rounds(executor, domains, options, begin, listener, keep)
    state, history = progress.last, progress.history
    representation = canonical(state.representation)
    scored = Scored.of(executor, domains, state.items, representation, state.alone)
    start_at = np.maximum(state.precision - ridges(domains, state), 0.0), state.shift
    settled = scored.settled(executor, "eap", start_at)
    covariances = [
        covariance(information, prior, held)
        for information, prior, held in zip(
            state.information, state.slope_priors, state.held, strict=True
        )
    ]
    errors = item_covariances(executor, domains, state, settled)
    table = scored.widened(executor, settled, covariances)
    covariances, errors = (
        with_null_variances(part, domains, state) for part in (covariances, errors)
    )
    info = {
        "estimator": options.estimator,
        "priors": options.priors,
        "adapt": options.adapt,
        "rank": representation.rank,
        "rank_asked": options.rank,
        "tolerance": options.tolerance,
        "rounds": len(history),
        "converged": history[-1].converged,
        "settled": table.settled,
        "log_likelihood": table.log_likelihood,
        "rank_seed": SEED,
        "convention": CONVENTION,
    }
    flat = np.array([held.all() for held in state.held])
    median = general_trait(domains, table, flat)
    models = responses.models.index
    component = linked(executor, domains, models)
    return Fit(
        items=item_table(responses.items.index, domains, state, covariances, errors).assign(
            component=component.items
        ),
        domains=domain_table(domains, state, representation, options, median),
        models=model_table(models, domains, table, representation, median.weights).assign(
            weight=1.0 if domains[0].weights is None else domains[0].weights,
            component=component.models,
        ),
        traits=trait_table(models, domains, table),
        representation=loading_table(domains, representation),
        history=pd.DataFrame([asdict(event) for event in history]).set_index("number"),
        info=info,
    )
