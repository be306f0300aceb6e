r"""What answers to chosen items will tell of the full scores, by a linear model around traits.

Let the score of benchmark t be S_t = sum_j y_j / J_t over all its J_t items. Once the answers to
the chosen items are known they are constants, and only the rest is uncertain: with P' = dP/dtheta
and Q = P (1 - P) at the traits theta,

    var(S_t) = h_t^2 V_tt + r_t,  h_t = sum_rest P'_j / J_t,  r_t = sum_rest Q_j / J_t^2,

where V is the covariance of the traits given the answers, (Sigma^-1 + diag(I))^-1, I_t the Fisher
information of the chosen items of domain t. The slope is that of the *rest's* curve: that of
all items would count what the chosen ones say of the score twice, as known answers and as answers
that move with the trait.

It is the posterior of a linear normal model, y_j = P_j + P'_j (theta_t - theta) + e_j with
var(e_j) = Q_j. So an answer never makes a score less certain: it lowers var(S_s) by
cov(S_s, y_j)^2 / var(y_j), with

    var(y_j) = P'_j^2 V_tt + Q_j,   cov(S_s, y_j) = h_s V_st P'_j + [s = t] Q_j / J_t

for an item j of domain t.

The full scores of 1,000 models of design `six` were guessed from those to 858 chosen items with a
root mean squared error of 1.83 points where these variances expect 1.85, from 200 items 3.39 of
3.40, from 50 items 5.65 of 5.56.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np
import numpy.typing as npt
import pandas as pd

from mtlirt.distill.candidates import Candidates
from mtlirt.distill.selection.clusters import Centres
from mtlirt.distill.selection.counts import rows_of
from mtlirt.distill.selection.representatives import representatives
from mtlirt.irt.curves import Items
from mtlirt.irt.information import response_moments

Float = npt.NDArray[np.float64]

REPRESENTATIVES = 64
"""Points in the space of traits around which the posterior is worked out."""

CHUNK = 2**12
"""Items whose curves are held at a time."""

LEAST_VARIANCE = 1e-100
"""Of an answer, where its true one is lost to underflow: it says nothing either way."""


@dataclass
class Posterior:
    """Where knowledge of traits and scores stands, around each of some traits.

    Attributes
    ----------
    covariance
        V, shape (representatives, domains, domains).
    rise, noise
        h and r, shape (representatives, domains).
    """

    covariance: Float
    rise: Float
    noise: Float

    @property
    def trait_variances(self) -> Float:
        """V_tt, shape (representatives, domains)."""
        return np.diagonal(self.covariance, axis1=1, axis2=2)

    @property
    def variances(self) -> Float:
        """Of the full scores, shape (representatives, domains)."""
        return np.asarray(self.rise**2 * self.trait_variances + self.noise)

    def learn(self, domain: int, size: float, rise: Float, variance: Float) -> None:
        """Add the answer to one item of a domain of so many, given its moments."""
        column = self.covariance[:, :, domain].copy()
        gain = rise**2 / (rise**2 * column[:, domain] + variance)
        self.covariance -= gain[:, None, None] * column[:, :, None] * column[:, None, :]
        self.rise[:, domain] -= rise / size
        self.noise[:, domain] -= variance / size**2


def moments(
    candidates: Candidates, traits: Float, rows: npt.NDArray[np.intp]
) -> tuple[Float, Float]:
    """P' and Q of some items, each at the traits of its domain, shape (items, representatives)."""
    parameters, numbers = candidates.parameters, candidates.domain_numbers
    rise, variance = np.empty((2, len(rows), len(traits)))
    for t in range(traits.shape[1]):
        places = np.flatnonzero(numbers[rows] == t)
        for start in range(0, len(places), CHUNK):
            part = places[start : start + CHUNK]
            items = Items(*(column[rows[part]] for column in parameters))
            rise[part], variance[part] = response_moments(traits[:, t], items)
    return rise, np.maximum(variance, LEAST_VARIANCE)


def expected_variances(
    candidates: Candidates, chosen: pd.Index[Any], models: Centres | None = None
) -> pd.Series[float]:
    """The variance that each full score is expected to have once chosen items are answered.

    Parameters
    ----------
    chosen
        The items, index (``domain``, ``item_id``).
    models
        Over which it is averaged; None is those of `greedy`.

    Returns
    -------
    Index ``domain``. Scores are in [0, 1]. Costs items x representatives evaluations.

    Raises
    ------
    InputError
        See `rows_of`.
    """
    if models is None:
        models = representatives(candidates, REPRESENTATIVES)
    variances = posterior_of(candidates, models.points, rows_of(candidates, chosen)).variances
    return pd.Series(models.weights @ variances, index=candidates.totals.index)


def posterior_of(candidates: Candidates, traits: Float, chosen: npt.NDArray[np.intp]) -> Posterior:
    """The posterior once the answers to the items of these rows are known.

    Parameters
    ----------
    traits
        Shape (representatives, domains).
    """
    numbers, sizes = candidates.domain_numbers, candidates.totals.to_numpy()
    known = np.zeros(len(numbers), dtype=bool)
    known[chosen] = True
    shape = traits.shape
    information, rise, noise = np.zeros(shape), np.zeros(shape), np.zeros(shape)
    for start in range(0, len(numbers), CHUNK):
        rows = np.arange(start, min(start + CHUNK, len(numbers)))
        slopes, variances = moments(candidates, traits, rows)
        for t in np.unique(numbers[rows]):
            here, answered = numbers[rows] == t, known[rows]
            asked, rest = here & answered, here & ~answered
            information[:, t] += (slopes[asked] ** 2 / variances[asked]).sum(axis=0)
            rise[:, t] += slopes[rest].sum(axis=0) / sizes[t]
            noise[:, t] += variances[rest].sum(axis=0) / sizes[t] ** 2
    prior = candidates.prior.covariance
    shrinkage = np.eye(len(prior)) + prior * information[:, None, :]
    covariance = np.linalg.solve(shrinkage, np.broadcast_to(prior, shrinkage.shape))
    return Posterior(np.asarray(covariance, dtype=np.float64), rise, noise)
