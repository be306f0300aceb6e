"""What is known of one model's traits after some answers."""

from __future__ import annotations

from collections.abc import Sequence
from typing import NamedTuple

import numpy as np
import numpy.typing as npt

from mtlirt.distill.adaptive.bank import ItemBank
from mtlirt.engine.scoring import DAMP_AFTER, MAX_SWEEPS, TOLERANCE
from mtlirt.irt.adaptive import add_answer, curve_moments, expected_reductions, posterior_nodes
from mtlirt.irt.curves import SCORING, Items, covering_grid, item_reach
from mtlirt.irt.kernels import gaussian_sites
from mtlirt.irt.linking import carried_sites
from mtlirt.irt.representation import composite_moments, factor_posterior
from mtlirt.irt.traits import Cavity, combined, shared_uncertainty, widened

Float = npt.NDArray[np.float64]


class Told(NamedTuple):
    """Traits as `mtlirt.score` gives them, items' uncertainty and all, on the scale of the fit.

    Attributes
    ----------
    mean, sd
        By domain; of the prior where nothing is answered.
    overall, overall_sd
        Of the mean of the domains' traits.
    """

    mean: Float
    sd: Float
    overall: float
    overall_sd: float


class Belief:
    """The joint posterior of one model's traits, answer by answer.

    Each domain's log-likelihood is kept on its grid, so that an answer costs one pass over the
    grid; the domains' messages then settle as in `mtlirt.engine.scoring`, from where they were.

    Attributes
    ----------
    bank
        The items and the prior.
    given
        The answered items of each domain, by their numbers in the bank.
    precision, shift
        The sites, shape (domains,); 0 where nothing is answered.
    mean, variance
        Of the traits, as if the items were known, on the fit's own scale. A domain that borrows
        nothing has the prior N(0, 1) here also before its first answer.
    """

    def __init__(self, bank: ItemBank) -> None:
        counts = [grid.count for grid in bank.grids]
        self.bank = bank
        self.given: list[list[int]] = [[] for _ in counts]
        self._start = np.cumsum([0, *counts])
        self._first = np.array([grid.first for grid in bank.grids])
        self._step = np.array([grid.step for grid in bank.grids])
        self._curve = np.zeros(self._start[-1])
        self.precision, self.shift = np.zeros((2, len(counts)))
        self._cavity = self._heard(self.precision, self.shift)
        self.mean, self.variance = (part.copy() for part in self._cavity)

    @property
    def taken(self) -> npt.NDArray[np.bool_]:
        """Which domains have an answer."""
        return np.array([bool(given) for given in self.given])

    def add(self, answers: Sequence[tuple[int, bool]]) -> None:
        """Take in answers to some items, (number, right), none of them answered before."""
        domain_of = self.bank.domain_of
        for number, right in answers:
            t = int(domain_of[number])
            grid, curve = self.bank.grids[t], self._curve_of(t)
            slope, intercept, guessing = (float(part[number]) for part in self.bank.items)
            add_answer(slope, intercept, guessing, right, grid.first, grid.step, curve)
            self.given[t].append(number)
        self._settle()

    def expected_precision(self, t: int, numbers: npt.NDArray[np.intp]) -> Float:
        """The precision that an answer to each of some items is expected to add to their trait.

        As 1 / (v - g) - 1 / v, where g is the `expected_reductions` of the trait's variance v; on
        the fit's own scale, shape of `numbers`.
        """
        grid = self.bank.grids[t]
        theta, density = posterior_nodes(
            self._curve_of(t),
            grid.first,
            grid.step,
            self._cavity.mean[t],
            self._cavity.variance[t],
            self.mean[t],
            self.variance[t],
        )
        slope, intercept, guessing = (part[numbers] for part in self.bank.items)
        gain = expected_reductions(slope, intercept, guessing, theta, density)
        variance = density @ np.square(theta - density @ theta)
        return np.asarray(1.0 / (variance - gain) - 1.0 / variance)

    def covariance(self, everywhere: bool) -> Float:
        """Of all traits given all sites, shape (domains, domains), on the fit's own scale.

        Parameters
        ----------
        everywhere
            Whether domains that borrow nothing are tied to the others all the same, as they are
            in the overall trait.
        """
        prior, apart = self.bank.prior.covariance, self.bank.alone
        if apart.any() and not everywhere:
            prior = np.where(apart[:, None] | apart, np.eye(len(apart)), prior)
        return np.asarray(np.linalg.solve(np.eye(len(prior)) + prior * self.precision, prior))

    def told(self) -> Told:
        """The scores of the answers so far. Cost: some 0.2 ms for each domain taken."""
        bank, precision, shift = self.bank, self.precision.copy(), self.shift.copy()
        for t, numbers in enumerate(self.given):
            if numbers:
                one, order = slice(t, t + 1), np.sort(numbers)
                uncertainty = item_uncertainty(
                    Items(*(part[order] for part in bank.items)),
                    bank.covariance[order],
                    self.mean[one],
                )
                precision[one], shift[one] = widened(precision[one], shift[one], uncertainty)
        mean, variance = combined(self._heard(precision, shift, self.taken), precision, shift)
        sites = carried_sites(precision[None], shift[None], bank.scale)
        share = np.full(len(mean), 1.0 / len(mean))
        overall, spread = composite_moments(*sites, bank.told_prior, share)
        return Told(
            mean * bank.scale.scale + bank.scale.shift,
            np.sqrt(variance) * np.abs(bank.scale.scale),
            float(overall[0]),
            float(np.sqrt(spread[0])),
        )

    def _curve_of(self, t: int) -> Float:
        return self._curve[self._start[t] : self._start[t + 1]]

    def _settle(self) -> None:
        """Pass messages between domains until they settle."""
        taken = self.taken
        mean, variance = np.empty((2, len(taken)))
        site, log_normaliser = np.empty((3, len(taken))), np.zeros(len(taken))
        for sweep in range(MAX_SWEEPS):
            cavity = self._cavity
            place = self._start, self._first, self._step
            curve_moments(self._curve, *place, *cavity, SCORING.depth, mean, variance)
            gaussian_sites(mean, variance, log_normaliser, *cavity, site)
            share = np.where(taken, 1.0 if sweep < DAMP_AFTER else 0.5, 0.0)
            self.precision = share * site[0] + (1.0 - share) * self.precision
            self.shift = share * site[1] + (1.0 - share) * self.shift
            self._cavity = self._heard(self.precision, self.shift)
            moved = max(
                np.abs(self._cavity.mean - cavity.mean).max(),
                np.abs(np.sqrt(self._cavity.variance) - np.sqrt(cavity.variance)).max(),
            )
            if moved <= TOLERANCE:
                break
        self.mean, self.variance = combined(self._cavity, self.precision, self.shift)

    def _heard(
        self, precision: Float, shift: Float, taken: npt.NDArray[np.bool_] | None = None
    ) -> Cavity:
        """What each trait's prior becomes by the other domains' sites.

        Parameters
        ----------
        taken
            Domains with an answer: traits of the others are then expected from all domains. By
            default those that borrow nothing count as taken.
        """
        alone, prior = self.bank.alone, self.bank.prior
        lent = np.where(alone, 0.0, precision)[None], np.where(alone, 0.0, shift)[None]
        found = factor_posterior(*lent, prior)
        cavity = Cavity(found.cavity_mean[0], found.cavity_variance[0]).standard(alone)
        if taken is None or taken.all() or not alone.any():
            return cavity
        everyone = factor_posterior(precision[None], shift[None], prior)
        return Cavity(
            np.where(taken, cavity.mean, everyone.cavity_mean[0]),
            np.where(taken, cavity.variance, everyone.cavity_variance[0]),
        )


def item_uncertainty(items: Items, covariance: Float, mean: Float) -> Float:
    """Variance of a score from the uncertainty of the answered items, as `mtlirt.score` has it."""
    grid = covering_grid([item_reach(items, 1.0)], [mean])
    return shared_uncertainty([(items, covariance)], mean, grid)
