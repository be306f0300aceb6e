"""Traits of models with frozen items: the fixed point of the domains' messages."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace
from typing import Any, Literal

import numpy as np
import numpy.typing as npt

from mtlirt.cluster.executor import Executor
from mtlirt.engine.domain import intercept_term
from mtlirt.engine.factors import cavities, takers_cavities
from mtlirt.engine.frozen import curves_step, modal_step, site_step, uncertainty_step
from mtlirt.engine.placement import PlacedDomain, taken_domains
from mtlirt.engine.steps import run_steps, start_steps
from mtlirt.engine.traits import DomainTask, frozen_parts
from mtlirt.irt.curves import FITTING, SCORING, Items, Quadrature
from mtlirt.irt.kernels import Float
from mtlirt.irt.linking import Link, carried_sites
from mtlirt.irt.representation import Representation
from mtlirt.irt.traits import Cavity, combined, widened

Estimate = Literal["eap", "map"]

TOLERANCE = 1e-11
"""Messages have settled when what the other domains say of no trait's mean or sd moves by more."""

NEAR = 1e-3
"""While it moves by more, posteriors are integrated as in a fit."""

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
        The sites.
    log_likelihood
        Of all responses, models weighted, at the frozen items (nan for modal scores).
    settled
        Whether the messages reached their fixed point.
    """

    mean: Float
    sd: Float
    precision: Float
    shift: Float
    log_likelihood: float
    settled: bool

    def carried(self, link: Link) -> TraitTable:
        """The same traits on another scale; a link for each domain."""
        precision, shift = carried_sites(self.precision, self.shift, link)
        return replace(
            self,
            mean=self.mean * link.scale + link.shift,
            sd=self.sd * np.abs(link.scale),
            precision=precision,
            shift=shift,
        )


def score_models(
    executor: Executor,
    domains: Sequence[PlacedDomain],
    items: Sequence[Items],
    covariances: Sequence[Float],
    representation: Representation,
    estimate: Estimate,
    alone: npt.NDArray[np.bool_] | None = None,
) -> TraitTable:
    """Pass messages between domains until they settle, then widen them by items' uncertainty.

    Parameters
    ----------
    items, covariances
        By domain, in the order of the placed items; covariances as aa, ad, dd.
    estimate
        "eap": means and sds of the posterior (moment-matched sites); "map": its mode and the
        curvature there (Laplace's sites).
    alone
        Domains whose takers' traits borrow nothing from the other domains and lend nothing to
        those of the others' takers; none by default. Traits of models that did not take a domain
        are expected from all that they took.

    Notes
    -----
    Every model's messages depend on its own responses alone, so a model gets the same score by
    itself and in any batch. Cost of a sweep: models x domains x 20 exponentials. Where cells are
    missing the first ones go over the responses, cells x nodes; the others over curves that were
    kept, models x domains x 27 numbers in all (unless responses are not kept either).
    """
    scored = Scored.of(executor, domains, items, representation, alone)
    return scored.widened(executor, scored.settled(executor, estimate), covariances)


@dataclass(frozen=True)
class Scored:
    """Domains with frozen items whose models are to be scored.

    Attributes
    ----------
    work
        The domains.
    representation, alone, taken
        What their messages go through: see `score_models`.
    weights
        Of the models, in the log-likelihood; None where each is 1.
    """

    work: Frozen
    representation: Representation
    alone: npt.NDArray[np.bool_]
    taken: npt.NDArray[np.bool_]
    weights: Float | None

    @classmethod
    def of(
        cls,
        executor: Executor,
        domains: Sequence[PlacedDomain],
        items: Sequence[Items],
        representation: Representation,
        alone: npt.NDArray[np.bool_] | None = None,
    ) -> Scored:
        """Prepare some domains: one pass over their responses."""
        work = Frozen.of(executor, domains, items, representation)
        alone = np.zeros(len(domains), bool) if alone is None else alone
        return cls(work, representation, alone, taken_domains(domains), domains[0].weights)

    def settled(
        self, executor: Executor, estimate: Estimate, start: tuple[Float, Float] | None = None
    ) -> TraitTable:
        """Pass messages between domains until they settle.

        Parameters
        ----------
        start
            Precisions and shifts of sites to start from; none by default. The fixed point is the
            same.
        """
        work = self.work
        precision, shift = start or (np.zeros(self.taken.shape), np.zeros(self.taken.shape))
        everyone, _ = self._heard(executor, precision, shift)
        mean, variance = combined(everyone, precision, shift)
        log_likelihood, moved, quadrature = np.nan, np.inf, FITTING
        for number in range(MAX_SWEEPS):
            if quadrature is FITTING and moved < NEAR:
                quadrature = SCORING
                if estimate == "eap":
                    work = work.with_curves(executor, everyone, Cavity(mean, variance), quadrature)
            fresh_precision, fresh_shift, log_scales = work.sweep(
                executor, everyone, Cavity(mean, variance), estimate, quadrature
            )
            share = 1.0 if number < DAMP_AFTER else 0.5
            precision = share * fresh_precision + (1.0 - share) * precision
            shift = share * fresh_shift + (1.0 - share) * shift
            before = everyone
            everyone, log_integral = self._heard(executor, precision, shift)
            if estimate == "eap":
                log_likelihood = log_integral + log_scales + work.intercept_term
            mean, variance = combined(everyone, precision, shift)
            moved = max(
                float(np.abs(everyone.mean - before.mean).max()),
                float(np.abs(np.sqrt(everyone.variance) - np.sqrt(before.variance)).max()),
            )
            if moved <= TOLERANCE and quadrature is SCORING:
                break
        sd = np.sqrt(variance)
        return TraitTable(mean, sd, precision, shift, log_likelihood, moved <= TOLERANCE)

    def widened(
        self, executor: Executor, found: TraitTable, covariances: Sequence[Float]
    ) -> TraitTable:
        """Settled traits, their sites widened by items of such covariances, by domain."""
        if not any(covariance.any() for covariance in covariances):
            return found
        uncertainty = self.work.uncertainty(executor, covariances, found.mean)
        precision, shift = widened(found.precision, found.shift, uncertainty)
        everyone, _ = self._heard(executor, precision, shift)
        mean, variance = combined(everyone, precision, shift)
        return replace(found, mean=mean, sd=np.sqrt(variance), precision=precision, shift=shift)

    def _heard(self, executor: Executor, precision: Float, shift: Float) -> tuple[Cavity, float]:
        """What each trait's prior becomes by the other domains' sites, and their log integral."""
        sites = executor.here, precision, shift, self.representation
        everyone, log_integral = cavities(*sites, self.weights)
        if self.alone.any():
            of_takers = takers_cavities(*sites, self.alone)
            everyone = Cavity(
                np.where(self.taken, of_takers.mean, everyone.mean),
                np.where(self.taken, of_takers.variance, everyone.variance),
            )
        return everyone, log_integral


@dataclass(frozen=True)
class Frozen:
    """Domains with frozen items, ready for sweeps; those that no model took are left out.

    Attributes
    ----------
    active
        Positions of the domains among all.
    domains, items, tasks
        Theirs, in that order.
    known
        `FrozenParts` of split domains, handles of those of others. No cavity is narrower than its
        domain's uniqueness.
    """

    active: list[int]
    domains: list[PlacedDomain]
    items: list[Items]
    tasks: list[DomainTask]
    known: list[Any]

    @classmethod
    def of(
        cls,
        executor: Executor,
        domains: Sequence[PlacedDomain],
        items: Sequence[Items],
        representation: Representation,
    ) -> Frozen:
        """Prepare domains: one pass over their responses."""
        active = [t for t, domain in enumerate(domains) if domain.takers]
        placed, parts = [domains[t] for t in active], [items[t] for t in active]
        tasks = [DomainTask.of(domain, np.ones(len(domain.cells), bool)) for domain in placed]
        calls = [
            (task, [part.columns(c) for c in task.columns], float(representation.uniqueness[t]))
            for t, task, part in zip(active, tasks, parts, strict=True)
        ]
        known = start_steps(executor, frozen_parts, placed, calls)
        return cls(active, placed, parts, tasks, known)

    @property
    def intercept_term(self) -> float:
        """The part of the log-likelihood that no trait enters."""
        pairs = zip(self.tasks, self.items, strict=True)
        return sum(intercept_term(task.successes, task.attempts, part) for task, part in pairs)

    def sweep(
        self,
        executor: Executor,
        everyone: Cavity,
        near: Cavity,
        estimate: Estimate,
        quadrature: Quadrature,
    ) -> tuple[Float, Float, float]:
        """New sites of all domains under their cavities: precisions, shifts, sum of log scales.

        ``near`` are the posteriors with the last sites.
        """
        domains = list(zip(self.active, self.domains, strict=True))
        if estimate == "map":
            taken = [domain.parts(everyone, t) for t, domain in domains]
            modal = [(part, c, TOLERANCE / 10) for part, c in zip(self.items, taken, strict=True)]
            sites = run_steps(executor, modal_step, self.domains, modal)
        else:
            calls = self._calls(everyone, near, quadrature)
            sites = run_steps(executor, site_step, self.domains, calls)
        precision, shift = np.zeros_like(near.mean), np.zeros_like(near.mean)
        log_scales = 0.0
        for (t, domain), parts in zip(domains, sites, strict=True):
            for rows, site in zip(domain.takers, parts, strict=True):
                precision[rows, t], shift[rows, t] = site.precision, site.shift
                log_scales += site.log_scale
        return precision, shift, log_scales

    def with_curves(
        self, executor: Executor, everyone: Cavity, near: Cavity, quadrature: Quadrature
    ) -> Frozen:
        """Also knowing the curves of models that have one each; see `curves_step`.

        They are kept where the responses are.
        """
        calls = self._calls(everyone, near, quadrature)
        own = [k for k, domain in enumerate(self.domains) if not domain.one_curve]
        domains = [self.domains[k] for k in own]
        each = [(*calls[k], self.domains[k].kept) for k in own]
        known = dict(zip(own, start_steps(executor, curves_step, domains, each), strict=True))
        return replace(self, known=[known.get(k, now) for k, now in enumerate(self.known)])

    def _calls(
        self, everyone: Cavity, near: Cavity, quadrature: Quadrature
    ) -> list[tuple[Any, ...]]:
        """The arguments of every domain's `site_step`."""
        domains = list(zip(self.active, self.domains, strict=True))
        taken = [domain.parts(everyone, t) for t, domain in domains]
        guesses = [[] if domain.one_curve else domain.parts(near, t) for t, domain in domains]
        columns = zip(self.tasks, self.items, taken, guesses, self.known, strict=True)
        return [(*column, quadrature) for column in columns]

    def uncertainty(self, executor: Executor, covariances: Sequence[Float], mean: Float) -> Float:
        """Variance of the traits' scores from the items' uncertainty, (models, domains)."""
        calls = [
            (task, part, covariances[t], [mean[rows, t] for rows in domain.takers])
            for t, task, part, domain in zip(
                self.active, self.tasks, self.items, self.domains, strict=True
            )
        ]
        out = np.zeros_like(mean)
        found = run_steps(executor, uncertainty_step, self.domains, calls)
        for t, domain, parts in zip(self.active, self.domains, found, strict=True):
            for rows, part in zip(domain.takers, parts, strict=True):
                out[rows, t] = part
        return out
