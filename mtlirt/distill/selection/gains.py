"""The compiled pass of greedy selection over all open items."""

from __future__ import annotations

import numpy as np
import numpy.typing as npt

from mtlirt.irt.kernels import Float, compiled


@compiled
def expected_gains(
    rise: Float,
    variance: Float,
    domain: npt.NDArray[np.intp],
    available: npt.NDArray[np.bool_],
    quadratic: Float,
    spread: Float,
    out: Float,
) -> None:
    """Write by how much each item's answer is expected to lower the aim, -inf if not available.

    The aim is lowered by (A P'^2 + B P' Q + C Q^2) / (P'^2 V + Q), summed over representatives.

    Parameters
    ----------
    rise, variance
        P' and Q, shape (items, representatives).
    domain
        The number of each item's domain, shape (items,).
    quadratic
        A, B and C, shape (3, domains, representatives).
    spread
        V, the variance of each domain's trait, shape (domains, representatives).
    out
        Shape (items,).
    """
    for j in range(rise.shape[0]):
        if not available[j]:
            out[j] = -np.inf
            continue
        t = domain[j]
        by_rise, by_both, by_noise = quadratic[0, t], quadratic[1, t], quadratic[2, t]
        total = 0.0
        for k in range(rise.shape[1]):
            p, q = rise[j, k], variance[j, k]
            lowered = p * (by_rise[k] * p + by_both[k] * q) + by_noise[k] * q * q
            total += lowered / (p * p * spread[t, k] + q)
        out[j] = total
