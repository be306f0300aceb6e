"""Items one by one, each the one whose answer is expected to tell most of the aim."""

from __future__ import annotations

from collections.abc import Callable, Mapping

import numpy as np
import numpy.typing as npt
import pandas as pd

from mtlirt.distill.candidates import Candidates
from mtlirt.distill.selection.counts import Wanted, counts_of, total_of
from mtlirt.distill.selection.gains import expected_gains
from mtlirt.distill.selection.posterior import REPRESENTATIVES, Posterior, moments, posterior_of
from mtlirt.distill.selection.representatives import representatives
from mtlirt.errors import InputError

Float = npt.NDArray[np.float64]


def greedy(
    candidates: Candidates,
    wanted: Wanted,
    *,
    aim: str = "scores",
    points: int = REPRESENTATIVES,
) -> pd.DataFrame:
    """Choose items by what their answers are expected to tell, all domains at once.

    An answer tells of its own domain's trait, by the prior of the others, and of its own share of
    the full score (see `posterior`). The next item is always the one that lowers the aim most,
    averaged over points in the space of traits that stand for all models; of equals it is
    the first of the table.

    Parameters
    ----------
    wanted
        How many items in all, or of each domain.
    aim
        ``scores``: the variance of a benchmark's full score, the mean over benchmarks;
        ``grand_mean``: the variance of the mean of the full scores;
        ``traits``: the variance of a trait, the mean over domains.
    points
        How many stand for all models.

    Returns
    -------
    Index (``domain``, ``item_id``) in the order of choice. Columns ``gain``, by how much the
    answer lowers the aim, and ``expected_rmse``, the root of the mean variance of the full scores,
    in [0, 1], after this item and those before it.

    Raises
    ------
    InputError
        If there are fewer open items than asked for, or no such aim.

    Notes
    -----
    Each choice costs a division for each open item and point, and tables take 16 bytes for each:
    858 choices of 22,550 items at 64 points are 1 s and 23 MB, of ten times as many items, which no
    cache holds, 21 s and 230 MB.
    """
    if aim not in AIMS:
        raise InputError(f"aim {aim!r}: there is none; choose one of {', '.join(AIMS)}")
    left, total = _limits(candidates, wanted)
    traits, weights = representatives(candidates, points)
    rows = np.flatnonzero(candidates.open)
    domain, sizes = candidates.domain_numbers[rows], np.asarray(candidates.totals, float)
    rise, variance = moments(candidates, traits, rows)
    posterior = posterior_of(candidates, traits, rows[:0])
    available, gains = left[domain] > 0, np.empty(len(rows))
    chosen, gain, rmse = np.empty(total, dtype=np.intp), np.empty(total), np.empty(total)
    for step in range(total):
        quadratic = np.ascontiguousarray(AIMS[aim](posterior, sizes) * weights)
        spread = np.ascontiguousarray(posterior.trait_variances.T)
        expected_gains(rise, variance, domain, available, quadratic, spread, gains)
        best = gains.argmax()
        t = domain[best]
        posterior.learn(t, sizes[t], rise[best], variance[best])
        available[best] = False
        left[t] -= 1
        if not left[t]:
            available[domain == t] = False
        chosen[step], gain[step] = best, gains[best]
        rmse[step] = np.sqrt(max(weights @ posterior.variances.mean(axis=1), 0.0))
    index = candidates.items.index[rows[chosen]]
    return pd.DataFrame({"gain": gain, "expected_rmse": rmse}, index=index)


def _limits(candidates: Candidates, wanted: Wanted) -> tuple[npt.NDArray[np.intp], int]:
    """The most items of each domain, and the number of all."""
    if isinstance(wanted, Mapping):
        counts = np.array(list(counts_of(candidates, wanted).values()), dtype=np.intp)
        return counts, int(counts.sum())
    return np.full(len(candidates.domains), total_of(candidates, wanted), dtype=np.intp), wanted


def scores_aim(posterior: Posterior, sizes: Float) -> Float:
    """A, B and C of `expected_gains` for the mean over benchmarks of the full scores' variances.

    With the covariances of `posterior`, var(y_j) times what it lowers all variances by is
    sum_s (h_s V_st P')^2 + 2 h_t V_tt P' Q / J_t + Q^2 / J_t^2.
    """
    domains = len(sizes)
    told = (posterior.rise[:, :, None] * posterior.covariance) ** 2
    own = posterior.rise * posterior.trait_variances
    return _quadratic(told.sum(axis=1), 2.0 * own / sizes, 1.0 / sizes**2) / domains


def grand_mean_aim(posterior: Posterior, sizes: Float) -> Float:
    """A, B and C for the variance of the mean of the full scores: (sum_s cov(S_s, y_j))^2 / T^2."""
    domains = len(sizes)
    told = np.einsum("ks,kst->kt", posterior.rise, posterior.covariance)
    return _quadratic(told**2, 2.0 * told / sizes, 1.0 / sizes**2) / domains**2


def traits_aim(posterior: Posterior, sizes: Float) -> Float:
    """A, B and C for the mean variance of the traits: sum_s (V_st P')^2."""
    told = (posterior.covariance**2).sum(axis=1)
    return _quadratic(told, np.zeros_like(told), np.zeros(len(sizes))) / len(sizes)


def _quadratic(by_rise: Float, by_both: Float, by_noise: Float) -> Float:
    """A, B and C by domain and representative."""
    return np.stack([by_rise, by_both, np.broadcast_to(by_noise, by_rise.shape)]).transpose(0, 2, 1)


AIMS: dict[str, Callable[[Posterior, Float], Float]] = {
    "scores": scores_aim,
    "grand_mean": grand_mean_aim,
    "traits": traits_aim,
}
"""What may be lowered."""
