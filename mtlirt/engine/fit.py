"""Fit all domains of a response store, and score models with the items of a fit."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING, Literal, get_args

import dask.array as da
import numpy as np
import pandas as pd

from mtlirt.cluster.executor import open_executor
from mtlirt.engine.events import Listener, silent
from mtlirt.engine.linked import attached, nullable
from mtlirt.engine.marginal import first_rank
from mtlirt.engine.marginal_fit import marginal_fit
from mtlirt.engine.options import (
    HIERARCHICAL,
    PENALTIES,
    Estimator,
    FitOptions,
    LambdaScaling,
    whole_number,
)
from mtlirt.engine.placement import check_fittable, place, untouched
from mtlirt.engine.progress import Arrays, Keep, unkept
from mtlirt.engine.scoring import Estimate, score_models
from mtlirt.engine.tables import (
    model_table,
    trait_table,
)
from mtlirt.errors import InputError
from mtlirt.irt.curves import Items
from mtlirt.irt.linking import Method
from mtlirt.responses.arrays import from_arrays
from mtlirt.responses.matrix import Responses
from mtlirt.responses.weights import COLUMN, read_weights
from mtlirt.result import Fit, Scores
from mtlirt.scores.linking import anchored, check_anchor, check_method, on_own_scale, scale_of

if TYPE_CHECKING:
    from mtlirt.cluster.executor import Client


def fit(
    responses: Responses | Mapping[str, da.Array],
    *,
    estimator: Estimator = "marginal",
    rank: int | Literal["auto"] = "auto",
    priors: bool = True,
    adapt: bool = True,
    penalty: float | Literal["cv"] = "cv",
    penalties: Sequence[float] = PENALTIES,
    folds: int = 5,
    lambda_scaling: LambdaScaling = "common",
    complete_models: bool = False,
    tolerance: float = 1e-3,
    max_rounds: int = 200,
    earlier: Fit | None = None,
    anchor: Fit | None = None,
    linking: Method = "haebara",
    client: Client | None = None,
    threads: int | None = None,
    memory_limit: int | None = None,
    listener: Listener = silent,
) -> Fit:
    """Fit a two-parameter IRT model to all domains at once, above known guessing floors.

    Parameters
    ----------
    responses
        From `open_responses`, `from_tidy` or `from_wide`; or domain -> int8 Dask array (models x
        items; 1 correct, 0 wrong, -1 missing), all with the same models in the same order. A
        column ``guessing`` of the item table holds known lower asymptotes; null is 0. A column
        ``weight`` of the model table says how much each model counts where models are summed:
        items, priors and the scale are found as if it were there so many times; null is 1. Models
        of weight 0 have scores all the same.
    estimator
        "marginal": traits have a factor-analytic prior that ties the domains; "separate": every
        domain by itself. "joint", "local", "global", "accuracy": point estimates after arXiv
        2610.05613, see `FitOptions`.
    rank
        Number of factors, at most Ledermann's bound; "auto" chooses by information criterion.
    priors
        Learned normal priors of the slopes and a weak prior on the uniquenesses; False is plain
        marginal maximum likelihood.
    adapt, penalty, penalties, folds, lambda_scaling, complete_models, tolerance, max_rounds
        See `mtlirt.engine.options.FitOptions`.
    earlier
        Start from this fit, such as a loaded snapshot, of other models and items as well:
        estimators `marginal` and `separate` then need fewer rounds to the same solution.
    anchor
        Put the fit on the scale of this one, such as a loaded snapshot, through the items that both
        have, so that scores of models compare; see `mtlirt.scores.linking.anchored`. For
        estimators `marginal` and `separate`. By itself it changes no start and no probability.
    linking
        How, with an anchor: "haebara" compares the curves of items, "stocking-lord" those of tests.
    client
        A `dask.distributed` client, whose workers then read the responses and work on them; None
        works in this process.
    threads
        Threads of this process; None is one a core.
    memory_limit
        Bytes of memory of this process, or of each of the client's workers; None is what they have.
        Responses of a store that need more than half of it are not kept, but read again in every
        round.
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
        If an option is out of range, a domain has fewer than 2 models with responses, or a
        lower asymptote is not a number in [0, 1); or if the anchor has no domain in common with
        the responses, or fewer than 5 items of one that both have.
    ClusterError
        If the client's scheduler or workers are lost, or run another version of this package.

    Notes
    -----
    Marginal maximum likelihood by expectation propagation between domains. Cost: 4 to 20 rounds.
    A round makes four passes over the responses where models answered every item of their domains
    (about 4 cells a nanosecond and core), and cells x 40 multiplications where cells are missing,
    or x 80 where items are guessed; besides, 50 exponentials for each model and domain. Memory:
    the responses once, at one byte a cell, or as many of the store's chunks as there are threads,
    some four times; and a dozen arrays of models x domains.
    """
    options = FitOptions(
        estimator=estimator,
        rank=rank,
        priors=priors,
        adapt=adapt,
        penalty=penalty,
        penalties=tuple(np.atleast_1d(penalties).tolist()),
        folds=folds,
        lambda_scaling=lambda_scaling,
        complete_models=complete_models,
        tolerance=tolerance,
        max_rounds=max_rounds,
        threads=threads,
        memory_limit=memory_limit,
    )
    check_method(linking)
    return fit_by(responses, options, client, listener, earlier, anchor, linking)


def fit_by(
    responses: Responses | Mapping[str, da.Array],
    options: FitOptions,
    client: Client | None,
    listener: Listener,
    earlier: Fit | None = None,
    anchor: Fit | None = None,
    linking: Method = "haebara",
    kept: Arrays | None = None,
    keep: Keep = unkept,
) -> Fit:
    """`fit`, its options put together.

    Parameters
    ----------
    kept
        Where to go on, as an earlier run of the same fit had it kept.
    keep
        Called after every round of estimators `marginal` and `separate`; of others after every
        few, and in cross-validation when all folds have another penalty behind them. Never of
        `accuracy`.
    """
    if not isinstance(responses, Responses):
        responses = from_arrays(responses)
    if earlier is not None:
        check_earlier(earlier, options)
        earlier = on_own_scale(earlier)
    if anchor is not None:
        check_anchored(options)
        check_anchor(anchor, responses.items.index)
    weights = read_weights(responses)
    if weights is not None:
        check_weighted(options)
    first_rank(len(responses.domains), options)  # refuse a rank before reading anything
    with open_executor(client, options.threads) as executor:
        domains = place(executor, responses, memory=options.memory_limit, weights=weights)
        check_fittable(domains)
        if options.estimator in HIERARCHICAL:
            found = marginal_fit(
                executor, responses, domains, options, listener, earlier, kept, keep
            )
            return found if anchor is None else anchored(found, anchor, linking)
        from mtlirt.engine.joint_fit import joint_fit  # it needs much that others do not

        return joint_fit(executor, responses, domains, options, listener, kept, keep)


def check_earlier(earlier: Fit, options: FitOptions) -> None:
    """Refuse an earlier fit where a fit starts from none, or one that is nothing to start from."""
    known = " or ".join(HIERARCHICAL)
    if options.estimator not in HIERARCHICAL:
        raise InputError(
            f"estimator {options.estimator!r} starts from no earlier fit; leave it out, or take "
            f"{known}"
        )
    if earlier.info["estimator"] not in HIERARCHICAL:
        raise InputError(
            f"the earlier fit is one by estimator {earlier.info['estimator']!r}; a fit starts from "
            f"one by {known}"
        )


def check_weighted(options: FitOptions) -> None:
    """Refuse weights of models where sums over models have none."""
    if options.estimator not in HIERARCHICAL:
        raise InputError(
            f"estimator {options.estimator!r} knows no weights of models; leave column "
            f"{COLUMN!r} of the model table out, or take {' or '.join(HIERARCHICAL)}"
        )


def check_anchored(options: FitOptions) -> None:
    """Refuse an anchor for a fit whose traits have no posterior."""
    if options.estimator not in HIERARCHICAL:
        raise InputError(
            f"estimator {options.estimator!r} has no errors of items to link scales by; leave the "
            f"anchor out, or take {' or '.join(HIERARCHICAL)}"
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
        the fit does not know are left out and counted in ``info``. Lower asymptotes are those of
        the fit.
    estimate
        "eap": posterior means and standard deviations; "map": posterior modes, and standard
        deviations from the curvature there (with guessing, from that expected there).
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
    if fitted.info["estimator"] not in HIERARCHICAL:
        raise InputError(
            f"a fit by estimator {fitted.info['estimator']!r} scores its own models only: their "
            "traits are parameters of it; fit by 'marginal' to score others"
        )
    own, scale = on_own_scale(fitted), scale_of(fitted)
    known = {name: own.items.loc[name].index for name in own.domains.index}
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
    with open_executor(client, threads) as executor:
        tables = [own.items.loc[name].reindex(kept.get(name, [])) for name in known]
        parameters = ["slope", "intercept", "guessing"]
        items = [Items(*table[parameters].to_numpy().T.copy()) for table in tables]
        guessing = {name: part.guessing for name, part in zip(known, items, strict=True)}
        placed = {d.name: d for d in place(executor, responses, columns, guessing)}
        domains = [placed.get(name) or untouched(name, len(responses.models)) for name in known]
        spread = ["slope_variance", "slope_intercept_covariance", "intercept_variance"]
        covariances = [np.ascontiguousarray(table[spread].to_numpy()) for table in tables]
        alone = own.domains["pooling"].to_numpy() == "own"
        found = score_models(executor, domains, items, covariances, own.prior, estimate, alone)
        numbers = [table["component"].fillna(0).to_numpy(np.intp) for table in tables]
        everyone = np.ones(len(responses.models), bool)
        component = nullable(attached(executor, domains, numbers, everyone))
    found = found.carried(scale)
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
        models=model_table(
            responses.models.index,
            domains,
            found,
            fitted.prior,
            fitted.domains["general_weight"].to_numpy(dtype=np.float64),
        ).assign(component=component),
        traits=trait_table(responses.models.index, domains, found),
        info=info,
    )
