"""Estimator `marginal`: its start, its message to a domain (a cavity) and its shared step."""

from __future__ import annotations

from dataclasses import dataclass, replace

import numpy as np
import numpy.typing as npt

from mtlirt.cluster.local import Executor
from mtlirt.engine.domain import DomainUpdate
from mtlirt.engine.options import FitOptions
from mtlirt.engine.placement import PlacedDomain
from mtlirt.errors import InputError
from mtlirt.irt.curves import Items
from mtlirt.irt.items import covariance
from mtlirt.irt.kernels import Float
from mtlirt.irt.representation import (
    FactorMoments,
    FactorPosterior,
    Representation,
    add_moments,
    factor_moments,
    factor_posterior,
    independent,
    largest_rank,
    standardisation,
    standardised,
    update_representation,
)
from mtlirt.irt.slopes import NO_PRIOR, SlopePosterior, SlopePrior, learn_slope_priors
from mtlirt.irt.traits import Cavity, log_gaussian_integral

STRIP = 2048
"""Models a task of the shared step."""

EM_STEPS = 50
"""EM updates of the representation a round, at most."""

EM_TOLERANCE = 1e-2
"""EM of the representation ends when the log-likelihood rises by less, or by less than a
thousandth of what the first step gained: the sites will move before the next round."""

RANK_ROUND = 2
"""The round after which rank "auto" is chosen: the first whose sites rest on fitted items."""


@dataclass(frozen=True)
class State:
    """All that a round changes; traits have mean 0 and variance 1 between rounds.

    Attributes
    ----------
    items, information, slope_priors
        By domain: parameters, their expected information (items, 3), the slopes' prior.
    held
        By domain: items that stay at slope 0, since they are constant or their domain is flat.
    precision, shift
        The sites, shape (models, domains); 0 where a model did not take the domain.
    representation
        The prior that ties the domains.
    """

    items: tuple[Items, ...]
    information: tuple[Float, ...]
    slope_priors: tuple[SlopePrior, ...]
    held: tuple[npt.NDArray[np.bool_], ...]
    precision: Float
    shift: Float
    representation: Representation


@dataclass(frozen=True)
class SharedUpdate:
    """The outcome of a shared step: the new state and the objective at the old one."""

    state: State
    objective: float


def taken_domains(domains: list[PlacedDomain]) -> npt.NDArray[np.bool_]:
    """Which model took which domain, shape (models, domains)."""
    return np.stack([domain.answered > 0 for domain in domains], axis=1)


def first_rank(domains: int, options: FitOptions) -> int:
    """The rank to begin with: 0 for separate domains, the one asked for, or 1.

    Raises
    ------
    InputError
        If the rank asked for is beyond Ledermann's bound.
    """
    bound = largest_rank(domains)
    if options.estimator == "separate" or bound == 0:
        return 0
    if options.rank == "auto":
        return 1
    if options.rank > bound:
        raise InputError(
            f"rank {options.rank} is not identified with {domains} domains; "
            f"the largest is {bound} (Ledermann's bound)"
        )
    return options.rank


def start(domains: list[PlacedDomain], options: FitOptions) -> State:
    """Slopes 1, intercepts the logits of the items' shares of successes; no messages yet.

    Constant items have slope 0: they say nothing of any trait.
    """
    held = tuple(domain.constant for domain in domains)
    items = tuple(
        Items(np.where(flat, 0.0, 1.0), null_intercepts(domain))
        for domain, flat in zip(domains, held, strict=True)
    )
    models = len(domains[0].answered)
    prior = SlopePrior(1.0, 1.0) if options.priors else NO_PRIOR
    return State(
        items,
        tuple(np.zeros((len(part.slope), 3)) for part in items),
        (prior,) * len(domains),
        held,
        np.zeros((models, len(domains))),
        np.zeros((models, len(domains))),
        independent(len(domains)),
    )


def null_intercepts(domain: PlacedDomain) -> Float:
    """Logits of the items' shares of successes, half a success and half a failure added."""
    share = (domain.successes + 0.5) / (domain.attempts + 1.0)
    return np.asarray(np.log(share / (1.0 - share)))


def strips(models: int) -> list[slice]:
    """The models in runs of `STRIP`, so that sums do not depend on chunks or workers."""
    return [slice(a, min(a + STRIP, models)) for a in range(0, models, STRIP)]


def cavities(
    executor: Executor, precision: Float, shift: Float, representation: Representation
) -> tuple[Cavity, float]:
    """Every trait given the other domains' sites, and the log integral of prior x sites."""
    parts: list[FactorPosterior] = executor.gather(
        [
            executor.submit(factor_posterior, precision[rows], shift[rows], representation)
            for rows in strips(len(precision))
        ]
    )
    cavity = Cavity(
        np.concatenate([part.cavity_mean for part in parts]),
        np.concatenate([part.cavity_variance for part in parts]),
    )
    return cavity, sum(part.log_integral for part in parts)


def moments(
    executor: Executor,
    precision: Float,
    shift: Float,
    taken: npt.NDArray[np.bool_],
    representation: Representation,
) -> FactorMoments:
    """The E-step of factor analysis over all models."""
    return add_moments(
        executor.gather(
            [
                executor.submit(
                    factor_moments, precision[rows], shift[rows], taken[rows], representation
                )
                for rows in strips(len(precision))
            ]
        )
    )


def expectation_maximisation(
    executor: Executor,
    precision: Float,
    shift: Float,
    taken: npt.NDArray[np.bool_],
    representation: Representation,
    priors: bool,
    tolerance: float = EM_TOLERANCE,
) -> tuple[Representation, float]:
    """EM of factor analysis on fixed sites; also the log integral under the first prior."""
    log_integrals: list[float] = []
    for _ in range(EM_STEPS):
        found = moments(executor, precision, shift, taken, representation)
        log_integrals.append(found.log_integral)
        representation = update_representation(found, priors)
        gains = np.diff(log_integrals)
        if len(gains) and gains[-1] < max(tolerance, 1e-3 * gains[0]):
            break
    return representation, log_integrals[0]


def with_new_factor(
    executor: Executor, precision: Float, shift: Float, representation: Representation
) -> Representation:
    """Add a factor along the leading direction in which the traits stray from the prior.

    The direction is the first eigenvector of the mean outer product of the traits' deviations
    from their expectation under the factors, so the start is deterministic.
    """
    domains, rank = representation.loadings.shape
    if rank == 0:
        column = np.full(domains, np.sqrt(0.5))
    else:
        outer = np.zeros((domains, domains))
        for rows in strips(len(precision)):
            found: FactorPosterior = executor.gather(
                [executor.submit(factor_posterior, precision[rows], shift[rows], representation)]
            )[0]
            expected = representation.centre + found.factors @ representation.loadings.T
            deviation = shift[rows] - precision[rows] * expected
            deviation *= representation.uniqueness / (
                1.0 + precision[rows] * representation.uniqueness
            )
            outer += deviation.T @ deviation
        _, vectors = np.linalg.eigh(outer)
        direction = vectors[:, -1] * np.sign(vectors[np.argmax(np.abs(vectors[:, -1])), -1])
        column = 0.5 * np.sqrt(representation.uniqueness) * direction * np.sqrt(domains)
        column = np.clip(column, -0.7, 0.7) * np.sqrt(representation.uniqueness)
    loadings = np.column_stack([representation.loadings, column])
    uniqueness = np.maximum(representation.uniqueness - column**2, 0.05)
    return Representation(representation.centre, loadings, uniqueness)


def grown(
    executor: Executor,
    precision: Float,
    shift: Float,
    taken: npt.NDArray[np.bool_],
    representation: Representation,
    priors: bool,
    tolerance: float,
) -> Representation:
    """The representation with one factor more, after EM."""
    larger = with_new_factor(executor, precision, shift, representation)
    return expectation_maximisation(executor, precision, shift, taken, larger, priors, tolerance)[0]


def chosen_rank(
    executor: Executor,
    precision: Float,
    shift: Float,
    taken: npt.NDArray[np.bool_],
    representation: Representation,
    priors: bool,
) -> Representation:
    """Grow the representation while the Bayesian information criterion falls.

    The criterion is that of factor analysis on the domains' Gaussian sites: -2 log integral +
    log(models) x free loadings. It costs no pass over the responses. EM of a candidate ends once
    a step gains a hundredth of what the criterion asks of the factor.
    """
    domains, models = len(representation.loadings), int(taken.any(axis=1).sum())
    best = moments(executor, precision, shift, taken, representation).log_integral
    while representation.rank < largest_rank(domains):
        price = 0.5 * np.log(models) * (domains - representation.rank)
        larger = grown(executor, precision, shift, taken, representation, priors, 0.01 * price)
        found = moments(executor, precision, shift, taken, larger).log_integral
        if found - best <= price:
            break
        representation, best = larger, found
    return representation


def shared_step(
    executor: Executor,
    domains: list[PlacedDomain],
    state: State,
    updates: list[DomainUpdate],
    ridge: Float,
    number: int,
    options: FitOptions,
) -> SharedUpdate:
    """Update the representation on the new sites, standardise, and relearn the slope priors."""
    taken = taken_domains(domains)
    precision, shift = np.zeros_like(state.precision), np.zeros_like(state.shift)
    scales = 0.0
    for t, (domain, update) in enumerate(zip(domains, updates, strict=True)):
        for rows, site in zip(domain.takers, update.sites, strict=True):
            precision[rows, t] = site.precision + ridge[rows, t]
            shift[rows, t] = site.shift
            scales += float(site.log_scale.sum())
        scales += update.intercept_term
    representation, log_integral = expectation_maximisation(
        executor, precision, shift, taken, state.representation, options.priors
    )
    rank = first_rank(len(domains), options)
    while representation.rank < rank:
        representation = grown(
            executor, precision, shift, taken, representation, options.priors, EM_TOLERANCE
        )
    if rank and options.rank == "auto" and number == RANK_ROUND:
        representation = chosen_rank(
            executor, precision, shift, taken, representation, options.priors
        )
    after = replace(
        state,
        items=tuple(update.items for update in updates),
        information=tuple(update.information for update in updates),
        precision=precision,
        shift=shift,
        representation=representation,
    )
    signs = np.array(
        [
            -1.0 if update.items.slope[~held].sum() < 0.0 else 1.0
            for held, update in zip(state.held, updates, strict=True)
        ]
    )
    after = standardise(after, signs)
    if options.priors:
        after = replace(after, slope_priors=learned_priors(after))
    return SharedUpdate(after, scales + log_integral)


def standardise(state: State, signs: Float) -> State:
    """Carry every trait to mean 0, variance 1 and the sign given; the likelihood stays the same.

    With theta = mean + scale theta', items become (a scale, d + a mean), sites (scale^2 tau,
    scale (nu - tau mean)), and the information of (a, d) follows theta'.
    """
    centre, sd = standardisation(state.representation)
    scale = sd * signs
    items, information, priors = [], [], []
    for t, (part, info) in enumerate(zip(state.items, state.information, strict=True)):
        m, s = centre[t], scale[t]
        items.append(Items(part.slope * s, part.intercept + part.slope * m))
        aa, ad, dd = info.T
        moved = [(aa - 2.0 * m * ad + m**2 * dd) / s**2, (ad - m * dd) / s, dd]
        information.append(np.stack(moved, axis=1))
        prior = state.slope_priors[t]
        priors.append(SlopePrior(prior.mean * s, prior.precision / s**2))
    signed = state.representation._replace(loadings=state.representation.loadings * signs[:, None])
    return State(
        tuple(items),
        tuple(information),
        tuple(priors),
        state.held,
        state.precision * scale**2,
        (state.shift - state.precision * centre) * scale,
        standardised(signed),
    )


def slope_posteriors(state: State) -> list[SlopePosterior]:
    """Means and variances of the slopes of every domain, held ones left out."""
    out = []
    for part, information, prior, held in zip(
        state.items, state.information, state.slope_priors, state.held, strict=True
    ):
        spread = covariance(information, prior, held)[:, 0]
        out.append(SlopePosterior(part.slope[~held], spread[~held]))
    return out


def learned_priors(state: State) -> tuple[SlopePrior, ...]:
    """The slopes' priors from the items of all domains."""
    return tuple(learn_slope_priors(slope_posteriors(state), state.slope_priors))


def ridges(domains: list[PlacedDomain], state: State) -> Float:
    """What the slopes' own uncertainty adds to the precision of the sites, (models, domains).

    A slope's variance V makes the expected log-likelihood fall by P(1-P) V theta^2 / 2 (the
    variational bound with a normal slope), in all by half the number of slopes that the
    responses determine. It is counted as a ridge on the traits, shared by the models according
    to their answers. Without it few models and many items of noise fit a trait to the noise.
    """
    out = np.zeros_like(state.precision)
    for t, (domain, slopes) in enumerate(zip(domains, slope_posteriors(state), strict=True)):
        prior = state.slope_priors[t]
        determined = np.clip(1.0 - slopes.variance * prior.precision, 0.0, 1.0)
        if prior.precision > 0.0:
            each = determined / domain.attempts[~state.held[t]]
            out[:, t] = each.sum() * domain.answered / len(domain.cells)
    return out


def evidence(
    domains: list[PlacedDomain],
    state: State,
    updates: list[DomainUpdate],
    everyone: Cavity,
    ridge: Float,
) -> Float:
    """Log evidence for a trait behind each domain's responses, over none, by domain.

    The variational bound of log p(own responses | the other domains') with normal slopes, minus
    the log-likelihood of items that all models pass with equal probability.
    """
    out = np.zeros(len(domains))
    for t, (domain, slopes) in enumerate(zip(domains, slope_posteriors(state), strict=True)):
        prior, rows = state.slope_priors[t], domain.models
        surprise = prior.precision * (slopes.variance + (slopes.mean - prior.mean) ** 2)
        shrinkage = np.log(np.maximum(slopes.variance * prior.precision, 1e-300))
        null = null_intercepts(domain)
        softplus = np.logaddexp(0.0, null)
        out[t] = (
            updates[t].log_normaliser
            + log_gaussian_integral(ridge[rows, t], 0.0, everyone.part(rows, t)).sum()
            + updates[t].intercept_term
            - 0.5 * (surprise - 1.0 - shrinkage).sum()
            - (domain.successes @ null - domain.attempts @ softplus)
        )
    return out


def flatten(domains: list[PlacedDomain], state: State, flat: npt.NDArray[np.bool_]) -> State:
    """Take the trait away from some domains: slopes 0, no sites, no tie to other domains."""
    keep = np.where(flat, 0.0, 1.0)
    items, held = list(state.items), list(state.held)
    for t in np.flatnonzero(flat):
        length = len(items[t].slope)
        items[t] = Items(np.zeros(length), null_intercepts(domains[t]))
        held[t] = np.ones(length, bool)
    loadings = state.representation.loadings * keep[:, None]
    uniqueness = np.where(flat, 1.0, state.representation.uniqueness)
    return replace(
        state,
        items=tuple(items),
        held=tuple(held),
        precision=state.precision * keep,
        shift=state.shift * keep,
        representation=Representation(state.representation.centre, loadings, uniqueness),
    )
