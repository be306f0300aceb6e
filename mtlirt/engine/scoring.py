"""Traits of models with frozen items: the fixed point of the domains' messages."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Literal

import numpy as np

from mtlirt.cluster.local import Executor
from mtlirt.engine import marginal
from mtlirt.engine.domain import (
    DomainTask,
    modal_step,
    run_steps,
    site_step,
    trait_scores,
    uncertainty_step,
)
from mtlirt.engine.placement import PlacedDomain
from mtlirt.irt.curves import Items
from mtlirt.irt.kernels import Float
from mtlirt.irt.representation import Representation
from mtlirt.irt.traits import Cavity, combined, widened

Estimate = Literal["eap", "map"]

TOLERANCE = 1e-11
"""Messages have settled when no trait's mean or sd moves by more."""

MAX_SWEEPS = 500
DAMP_AFTER = 30
"""Sweeps after which messages are averaged with the last ones."""


@dataclass(frozen=True)
class TraitTable:
    """Traits of all models in all domains, shape (models, domains) throughout.

    Attributes
    ----------
    mean, sd
        Of the joint posterior's marginals.
    precision, shift
        The sites, widened by the items' own uncertainty.
    log_likelihood
        Of all responses, at the frozen items (nan for modal scores).
    settled
        Whether the messages reached their fixed point.
    """

    mean: Float
    sd: Float
    precision: Float
    shift: Float
    log_likelihood: float
    settled: bool


def score_models(
    executor: Executor,
    domains: Sequence[PlacedDomain],
    items: Sequence[Items],
    covariances: Sequence[Float],
    representation: Representation,
    estimate: Estimate,
    start: tuple[Float, Float] | None = None,
) -> TraitTable:
    """Pass messages between domains until they settle, then widen them by items' uncertainty.

    Parameters
    ----------
    items, covariances
        By domain, in the order of the placed items; covariances as aa, ad, dd.
    estimate
        "eap": means and sds of the posterior (moment-matched sites); "map": its mode and the
        curvature there (Laplace's sites).
    start
        Precisions and shifts of sites to start from; none by default. The fixed point is the
        same.

    Notes
    -----
    Every model's messages depend on its own responses alone, so a model gets the same score by
    itself and in any batch. Cost of a sweep: models x domains x 20 exponentials where models
    answered everything, else cells x nodes.
    """
    shape = len(domains[0].answered), len(domains)
    precision, shift = start or (np.zeros(shape), np.zeros(shape))
    active = [t for t, domain in enumerate(domains) if domain.takers]
    placed = [domains[t] for t in active]
    tasks = [DomainTask.of(domain, np.ones(len(domain.cells), bool)) for domain in placed]
    scores = [
        trait_scores(executor, domains[t].blocks, [items[t].columns(c) for c in domains[t].columns])
        for t in active
    ]
    intercepts = sum(float(domains[t].successes @ items[t].intercept) for t in active)
    everyone, _ = marginal.cavities(executor, precision, shift, representation)
    mean, variance = combined(everyone, precision, shift)
    log_likelihood, moved = np.nan, np.inf
    for sweep in range(MAX_SWEEPS):
        cavities = [[everyone.part(rows, t) for rows in domains[t].takers] for t in active]
        if estimate == "map":
            modal = [
                (items[t], part, TOLERANCE / 10) for t, part in zip(active, cavities, strict=True)
            ]
            sites = run_steps(executor, modal_step, placed, modal)
        else:
            guesses = [
                [
                    Cavity(*combined(cavity, precision[rows, t], shift[rows, t]))
                    for cavity, rows in zip(part, domains[t].takers, strict=True)
                ]
                for t, part in zip(active, cavities, strict=True)
            ]
            frozen = [items[t] for t in active]
            moments = list(zip(tasks, frozen, cavities, guesses, scores, strict=True))
            sites = run_steps(executor, site_step, placed, moments)
        fresh_precision, fresh_shift = np.zeros_like(precision), np.zeros_like(shift)
        log_scales = 0.0
        for t, parts in zip(active, sites, strict=True):
            for rows, site in zip(domains[t].takers, parts, strict=True):
                fresh_precision[rows, t], fresh_shift[rows, t] = site.precision, site.shift
                log_scales += float(site.log_scale.sum())
        share = 1.0 if sweep < DAMP_AFTER else 0.5
        precision = share * fresh_precision + (1.0 - share) * precision
        shift = share * fresh_shift + (1.0 - share) * shift
        everyone, log_integral = marginal.cavities(executor, precision, shift, representation)
        if estimate == "eap":
            log_likelihood = log_integral + log_scales + intercepts
        before_mean, before_sd = mean, np.sqrt(variance)
        mean, variance = combined(everyone, precision, shift)
        moved = max(
            float(np.abs(mean - before_mean).max()),
            float(np.abs(np.sqrt(variance) - before_sd).max()),
        )
        if moved <= TOLERANCE:
            break
    if any(covariance.any() for covariance in covariances):
        calls = [
            (
                task,
                items[t],
                covariances[t],
                [mean[rows, t] for rows in domains[t].takers],
            )
            for t, task in zip(active, tasks, strict=True)
        ]
        uncertainty = np.zeros_like(precision)
        spreads = run_steps(executor, uncertainty_step, placed, calls)
        for t, parts in zip(active, spreads, strict=True):
            for rows, part in zip(domains[t].takers, parts, strict=True):
                uncertainty[rows, t] = part
        precision, shift = widened(precision, shift, uncertainty)
        everyone, _ = marginal.cavities(executor, precision, shift, representation)
        mean, variance = combined(everyone, precision, shift)
    return TraitTable(mean, np.sqrt(variance), precision, shift, log_likelihood, moved <= TOLERANCE)
