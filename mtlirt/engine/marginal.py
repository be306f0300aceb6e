"""Estimator `marginal`: its shared step, slope priors, and the evidence for each domain's trait."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace

import numpy as np
import numpy.typing as npt

from mtlirt.cluster.executor import Executor
from mtlirt.engine.domain import DomainUpdate, intercept_term
from mtlirt.engine.factors import expectation_maximisation, grown
from mtlirt.engine.options import FitOptions
from mtlirt.engine.placement import PlacedDomain, weights_taken
from mtlirt.engine.state import State, null_intercepts, slope_posteriors, standardise
from mtlirt.errors import InputError
from mtlirt.irt.curves import Items, guessing_gain
from mtlirt.irt.kernels import Float
from mtlirt.irt.representation import Representation, largest_rank
from mtlirt.irt.slopes import SlopePrior, learn_slope_priors
from mtlirt.irt.traits import Cavity, log_gaussian_integral

DAMP_AFTER = 20
"""Rounds after which sites are averaged with the last ones: closely tied domains of few models can
swing between two states for ever."""

FACTOR_TOLERANCE = 0.01
"""EM of the factors ends at so much of the tolerance: ended earlier it takes now a step more and
now a step less, and rounds may go in circles."""


@dataclass(frozen=True)
class SharedUpdate:
    """The outcome of a shared step: the new state and the objective at the old one."""

    state: State
    objective: float


def first_rank(domains: int, options: FitOptions) -> int:
    """The rank to begin with: 0 for separate domains, the one asked for, or 1 for "auto".

    Raises
    ------
    InputError
        If the rank asked for is beyond Ledermann's bound.
    """
    bound = largest_rank(domains)
    if options.estimator == "separate":
        return 0
    if options.rank == "auto":
        return min(1, bound)
    if options.rank > bound:
        raise InputError(
            f"rank {options.rank} is not identified with {domains} domains; "
            f"the largest is {bound} (Ledermann's bound)"
        )
    return options.rank


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
    taken = weights_taken(domains)
    precision, shift = np.zeros_like(state.precision), np.zeros_like(state.shift)
    scales, share = 0.0, 1.0 if number <= DAMP_AFTER else 0.5
    for t, (domain, update) in enumerate(zip(domains, updates, strict=True)):
        for rows, site in zip(domain.takers, update.sites, strict=True):
            precision[rows, t], shift[rows, t] = site.precision, site.shift
            scales += site.log_scale
        scales += update.intercept_term
    precision += ridge
    if share < 1.0:
        precision = share * precision + (1.0 - share) * state.precision
        shift = share * shift + (1.0 - share) * state.shift
    enough = FACTOR_TOLERANCE * options.tolerance
    representation, log_integral = expectation_maximisation(
        executor, precision, shift, taken, state.representation, options.priors, enough
    )
    rank = first_rank(len(domains), options)
    while representation.rank < rank:
        representation = grown(
            executor, precision, shift, taken, representation, options.priors, options.tolerance
        )
    after = replace(
        state,
        items=tuple(update.items for update in updates),
        information=tuple(update.information for update in updates),
        precision=precision,
        shift=shift,
        representation=representation,
    )
    after = standardise(after, trait_signs(after))
    if options.priors:
        after = replace(after, slope_priors=learned_priors(after))
    return SharedUpdate(after, scales + log_integral)


def trait_signs(state: State) -> Float:
    """Of each domain, -1 where its trait is to be turned round.

    A trait points up where its domain's mean slope is positive; that of an unsigned domain, where
    it agrees with the others it is tied to, or, where all are unsigned, with the one that has most
    in common with the rest.
    """
    slopes = [part.slope[~held].sum() for part, held in zip(state.items, state.held, strict=True)]
    signs = np.where(np.array(slopes) < 0.0, -1.0, 1.0)
    loadings = state.representation.loadings
    heard = ~state.unsigned
    if not heard[state.representation.tied].any():
        heard = np.arange(len(signs)) == (loadings**2).sum(axis=1).argmax()
    agreement = loadings @ ((signs * heard) @ loadings)
    return np.where(state.unsigned & (agreement != 0.0), np.sign(agreement), signs)


def learned_priors(state: State) -> tuple[SlopePrior, ...]:
    """The slopes' priors from the items of all domains."""
    return tuple(learn_slope_priors(slope_posteriors(state), state.slope_priors))


def ridges(domains: Sequence[PlacedDomain], state: State) -> Float:
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
            each = determined / domain.weighted.attempts[~state.held[t]]
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
        ridged = log_gaussian_integral(ridge[rows, t], 0.0, everyone.part(rows, t))
        surprise = prior.precision * (slopes.variance + (slopes.mean - prior.mean) ** 2)
        shrinkage = np.log(np.maximum(slopes.variance * prior.precision, 1e-300))
        out[t] = (
            updates[t].log_normaliser
            + domain.taker_weights @ ridged
            + updates[t].intercept_term
            - 0.5 * (surprise - 1.0 - shrinkage).sum()
            - null_log_likelihood(domain)
        )
    return out


def null_items(domain: PlacedDomain) -> Items:
    """Items that all models pass with equal probability."""
    return Items(np.zeros(len(domain.cells)), null_intercepts(domain), domain.guessing)


def null_log_likelihood(domain: PlacedDomain) -> float:
    """Log-likelihood of a domain's responses under `null_items`."""
    null = null_items(domain)
    softplus = np.logaddexp(0.0, null.intercept)
    gain = guessing_gain(null.intercept, null.guessing)
    successes, attempts = domain.weighted
    fixed = intercept_term(successes, attempts, null)
    return float(fixed - attempts @ softplus + successes @ gain)


def flatten(domains: list[PlacedDomain], state: State, flat: npt.NDArray[np.bool_]) -> State:
    """Take the trait away from some domains: slopes 0, no sites, no tie to other domains."""
    keep = np.where(flat, 0.0, 1.0)
    items, held = list(state.items), list(state.held)
    for t in np.flatnonzero(flat):
        items[t] = null_items(domains[t])
        held[t] = np.ones(len(held[t]), bool)
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
