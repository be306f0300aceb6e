"""The compiled E-step of the factor-analytic prior, `RUN` models at a time.

Every array of `RUN` numbers holds one number for each of as many models, so that all arithmetic,
that of small matrices too, is in vector instructions. Symmetric and triangular r x r matrices are
stored by their lower triangle, row by row: entry (a, b) is row a (a + 1)/2 + b.
"""

from __future__ import annotations

import numpy as np

from mtlirt.irt.kernels import RUN, Float, compiled, inlined


@inlined
def fill(out: Float, value: float) -> None:
    """Set out to value."""
    for k in range(RUN):
        out[k] = value


@inlined
def add(out: Float, factor: float, x: Float) -> None:
    """Add factor x to out."""
    for k in range(RUN):
        out[k] += factor * x[k]


@inlined
def subtract(out: Float, x: Float, y: Float) -> None:
    """Take x y from out."""
    for k in range(RUN):
        out[k] -= x[k] * y[k]


@inlined
def multiply(out: Float, x: Float) -> None:
    """Multiply out by x."""
    for k in range(RUN):
        out[k] *= x[k]


@inlined
def entry(a: int, b: int) -> int:
    """Where entry (a, b) of a symmetric matrix is."""
    return a * (a + 1) // 2 + b if a >= b else b * (b + 1) // 2 + a


@inlined
def cholesky(matrix: Float, r: int, determinant: Float) -> None:
    """Replace a matrix by its lower factor with inverted diagonal; multiply in its determinant."""
    for a in range(r):
        for b in range(a + 1):
            x = matrix[entry(a, b)]
            for c in range(b):
                subtract(x, matrix[entry(a, c)], matrix[entry(b, c)])
            if a > b:
                multiply(x, matrix[entry(b, b)])
            else:
                multiply(determinant, x)
                for k in range(RUN):
                    x[k] = 1.0 / np.sqrt(x[k])


@inlined
def invert(lower: Float, r: int, column: Float, inverse: Float) -> None:
    """Write the inverse of L L', given L with inverted diagonal."""
    for e in range(r):
        for a in range(e, r):
            fill(column[a], 1.0 if a == e else 0.0)
            for c in range(e, a):
                subtract(column[a], lower[entry(a, c)], column[c])
            multiply(column[a], lower[entry(a, a)])
        for a in range(r - 1, e - 1, -1):
            for c in range(a + 1, r):
                subtract(column[a], lower[entry(c, a)], column[c])
            multiply(column[a], lower[entry(a, a)])
            inverse[entry(a, e)] = column[a]


@inlined
def outer_products(loadings: Float) -> Float:
    """The lower triangle of l l' for the loadings l of each domain."""
    domains, r = loadings.shape
    outer = np.empty((domains, r * (r + 1) // 2))
    for t in range(domains):
        for a in range(r):
            for b in range(a + 1):
                outer[t, entry(a, b)] = loadings[t, a] * loadings[t, b]
    return outer


@inlined
def common_moments(
    loading: Float, outer: Float, mean: Float, inverse: Float, expected: Float, spread: Float
) -> None:
    """Write mean and variance of l'f."""
    fill(spread, 0.0)
    fill(expected, 0.0)
    for a in range(loading.shape[0]):
        add(expected, loading[a], mean[a])
        add(spread, outer[entry(a, a)], inverse[entry(a, a)])
        for b in range(a):
            add(spread, 2.0 * outer[entry(a, b)], inverse[entry(a, b)])


@compiled
def factor_posteriors(
    precision: Float,
    shift: Float,
    centre: Float,
    loadings: Float,
    uniqueness: Float,
    model_weight: Float,
    factors: Float,
    factor_covariance: Float,
    cavity_mean: Float,
    cavity_variance: Float,
) -> float:
    """Posterior of the factors of each model and the cavities of its traits, given the sites.

    Writes, for each model i, the mean (r) and covariance (r x r) of f_i, and the normal
    distribution of each trait given the sites of the *other* domains. Returns the sum over models,
    each times its weight, of log int N(theta; centre, Sigma) prod_t site_t(theta_t) dtheta, log
    scales left out.
    A domain without a site has precision 0 and shift 0. Cavities of no rows are not wanted. Cost:
    models x domains x r^2.
    """
    models, domains = precision.shape
    r = loadings.shape[1]
    pairs = r * (r + 1) // 2
    outer = outer_products(loadings)
    weight, pull = np.empty((domains, RUN)), np.empty((domains, RUN))
    matrix, inverse = np.empty((pairs, RUN)), np.empty((pairs, RUN))
    direction, mean, column = np.empty((r, RUN)), np.empty((r, RUN)), np.empty((r, RUN))
    product, logs = np.empty(RUN), np.empty(RUN)
    spread, expected = np.empty(RUN), np.empty(RUN)
    total = 0.0
    for begin in range(0, models, RUN):
        lanes = min(RUN, models - begin)
        for t in range(domains):
            fill(weight[t], 0.0)
            fill(pull[t], 0.0)
            for k in range(lanes):
                weight[t, k], pull[t, k] = precision[begin + k, t], shift[begin + k, t]
        for a in range(r):
            fill(direction[a], 0.0)
            fill(mean[a], 0.0)
            for b in range(a + 1):
                fill(matrix[entry(a, b)], 1.0 if a == b else 0.0)
        fill(logs, 0.0)
        fill(product, 1.0)
        for t in range(domains):
            psi, middle, tau, nu = uniqueness[t], centre[t], weight[t], pull[t]
            for k in range(RUN):
                off = nu[k] - tau[k] * middle
                shrink = 1.0 + tau[k] * psi
                share = 1.0 / shrink
                logs[k] += middle * (nu[k] + off) + off * off * psi * share
                product[k] *= shrink
                tau[k] *= share
                nu[k] = off * share
            if t % RUN == 0:
                for k in range(RUN):
                    logs[k] -= np.log(product[k])
                    product[k] = 1.0
            for a in range(r):
                add(direction[a], loadings[t, a], nu)
            for q in range(pairs):
                add(matrix[q], outer[t, q], tau)
        cholesky(matrix, r, product)
        invert(matrix, r, column, inverse)
        for a in range(r):
            for b in range(r):
                for k in range(RUN):
                    mean[a, k] += inverse[entry(a, b), k] * direction[b, k]
            for k in range(RUN):
                logs[k] += direction[a, k] * mean[a, k]
        for k in range(lanes):
            total += model_weight[begin + k] * 0.5 * (logs[k] - np.log(product[k]))
            for a in range(r):
                factors[begin + k, a] = mean[a, k]
                for b in range(r):
                    factor_covariance[begin + k, a, b] = inverse[entry(a, b), k]
        for t in range(domains if cavity_mean.shape[0] > 0 else 0):
            psi, middle, tau, nu = uniqueness[t], centre[t], weight[t], pull[t]
            common_moments(loadings[t], outer[t], mean, inverse, expected, spread)
            for k in range(RUN):
                left = 1.0 / (1.0 - tau[k] * spread[k])
                tau[k] = middle + (expected[k] - spread[k] * nu[k]) * left
                nu[k] = psi + spread[k] * left
            for k in range(lanes):
                cavity_mean[begin + k, t], cavity_variance[begin + k, t] = tau[k], nu[k]
    return total


@compiled
def trait_moments(
    precision: Float,
    shift: Float,
    taken: Float,
    centre: Float,
    loadings: Float,
    uniqueness: Float,
    factors: Float,
    factor_covariance: Float,
) -> Float:
    """Sums over each domain's takers of E[theta], E[theta f] and E[theta^2], given the sites.

    In columns 1 + r + 1. ``taken`` holds the takers' weights, and 0 elsewhere. ``factors`` and
    ``factor_covariance`` are those of `factor_posteriors`. Given f, theta is normal with mean
    (centre + l'f + psi shift)/(1 + psi precision) and variance psi/(1 + psi precision). Cost:
    models x domains x r^2.
    """
    models, domains = precision.shape
    r = loadings.shape[1]
    outer = outer_products(loadings)
    mean, inverse = np.zeros((r, RUN)), np.zeros((r * (r + 1) // 2, RUN))
    there, shrink, theta = np.zeros(RUN), np.zeros(RUN), np.zeros(RUN)
    expected, spread, tied = np.empty(RUN), np.empty(RUN), np.empty(RUN)
    sums = np.zeros((domains, r + 2, RUN))
    for begin in range(0, models, RUN):
        lanes = min(RUN, models - begin)
        for k in range(lanes):
            for a in range(r):
                mean[a, k] = factors[begin + k, a]
                for b in range(a + 1):
                    inverse[entry(a, b), k] = factor_covariance[begin + k, a, b]
        for t in range(domains):
            psi, middle, total = uniqueness[t], centre[t], sums[t]
            common_moments(loadings[t], outer[t], mean, inverse, expected, spread)
            fill(there, 0.0)
            for k in range(lanes):
                there[k] = taken[begin + k, t]
                shrink[k] = precision[begin + k, t]
                theta[k] = shift[begin + k, t]
            for k in range(RUN):
                shrink[k] = 1.0 / (1.0 + shrink[k] * psi)
                theta[k] = shrink[k] * (expected[k] + middle + psi * theta[k])
                total[0, k] += there[k] * theta[k]
                total[r + 1, k] += there[k] * (
                    shrink[k] * (psi + shrink[k] * spread[k]) + theta[k] * theta[k]
                )
            for a in range(r):
                fill(tied, 0.0)
                for b in range(r):
                    add(tied, loadings[t, b], inverse[entry(a, b)])
                for k in range(RUN):
                    total[1 + a, k] += there[k] * (theta[k] * mean[a, k] + shrink[k] * tied[k])
    out = np.zeros((domains, r + 2))
    for t in range(domains):
        for a in range(r + 2):
            for k in range(RUN):
                out[t, a] += sums[t, a, k]
    return out
