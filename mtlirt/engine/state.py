"""What a round changes of a marginal fit: its start, and its standardisation."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
import numpy.typing as npt

from mtlirt.engine.options import FitOptions
from mtlirt.engine.placement import PlacedDomain
from mtlirt.irt.curves import Items
from mtlirt.irt.items import LIMIT, covariance
from mtlirt.irt.kernels import Float
from mtlirt.irt.representation import Representation, independent, standardisation, standardised
from mtlirt.irt.slopes import NO_PRIOR, SlopePosterior, SlopePrior


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
    alone
        Domains that neither borrow from the others nor lend to them where a model took them.
    unsigned
        Domains whose items do not tell which end of their trait is up; where other domains are
        tied to them, those do.
    """

    items: tuple[Items, ...]
    information: tuple[Float, ...]
    slope_priors: tuple[SlopePrior, ...]
    held: tuple[npt.NDArray[np.bool_], ...]
    precision: Float
    shift: Float
    representation: Representation
    alone: npt.NDArray[np.bool_]
    unsigned: npt.NDArray[np.bool_]


def start(domains: list[PlacedDomain], options: FitOptions) -> State:
    """Slopes 1, intercepts the logits of the items' shares of successes; no messages yet.

    Constant items have slope 0: they say nothing of any trait.
    """
    held = tuple(domain.constant for domain in domains)
    items = tuple(
        Items(np.where(flat, 0.0, 1.0), null_intercepts(domain), domain.guessing)
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
        *np.zeros((2, len(domains)), bool),
    )


def null_intercepts(domain: PlacedDomain) -> Float:
    """Logits of the items' shares of known answers, half a success and half a failure added.

    Of a share s of right answers (s - c)/(1 - c) are known; half an answer at least.
    """
    successes, attempts = domain.weighted
    half = 0.5 / (attempts + 1.0)
    share = (successes + 0.5) / (attempts + 1.0)
    known = np.maximum((share - domain.guessing) / (1.0 - domain.guessing), half)
    return np.asarray(np.log(known / (1.0 - known)))


def null_variances(domain: PlacedDomain) -> Float:
    """Variances of `null_intercepts`: that of the share, by the delta method."""
    _, attempts = domain.weighted
    known = 1.0 / (1.0 + np.exp(-null_intercepts(domain)))
    share = domain.guessing + (1.0 - domain.guessing) * known
    steep = (1.0 - domain.guessing) * known * (1.0 - known)
    return np.asarray(share * (1.0 - share) / ((attempts + 1.0) * steep**2))


def with_null_variances(
    covariances: Sequence[Float], domains: Sequence[PlacedDomain], state: State
) -> list[Float]:
    """Covariances of (a, d) of all items, those without a slope of their own by their shares."""
    out = []
    for spread, domain, held in zip(covariances, domains, state.held, strict=True):
        intercept = np.where(held, null_variances(domain), spread[:, 2])
        out.append(np.column_stack([spread[:, :2], intercept]))
    return out


def slope_posteriors(state: State) -> list[SlopePosterior]:
    """Means and variances of the slopes of every domain, held ones left out."""
    out = []
    for part, information, prior, held in zip(
        state.items, state.information, state.slope_priors, state.held, strict=True
    ):
        spread = covariance(information, prior, held)[:, 0]
        out.append(SlopePosterior(part.slope[~held], spread[~held]))
    return out


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
        slope = np.clip(part.slope * s, -LIMIT, LIMIT)
        intercept = np.clip(part.intercept + part.slope * m, -LIMIT, LIMIT)
        items.append(Items(slope, intercept, part.guessing))
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
        state.alone,
        state.unsigned,
    )
