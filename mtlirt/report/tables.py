"""The domains, their correlations and the rounds as the report's script reads them."""

from __future__ import annotations

from mtlirt.report.board import has_posterior
from mtlirt.report.columns import Json, places, rounded, significant, whole
from mtlirt.result import Fit


def domain_data(fit: Fit) -> Json:
    """Columns of the table of domains; null as a whole where the estimator does not give one."""
    domains = fit.domains
    measured = ("uniqueness", "slope_mean", "slope_sd", "general_weight", "cosine")
    return {
        "name": [str(name) for name in domains.index],
        **{name: whole(domains[name]) for name in ("items", "models")},
        **{
            name: rounded(domains[name]) if domains[name].notna().any() else None
            for name in measured
        },
        "pooling": [str(pooling) for pooling in domains["pooling"]],
        "flags": {
            told: places(domains[name])
            for name, told in (
                ("weak", "weak"),
                ("flat", "flat"),
                ("sign_borrowed", "sign borrowed"),
                ("fused", "fused"),
            )
        },
    }


def correlation_data(fit: Fit) -> list[list[float | None]] | None:
    """Correlations of the traits, Lambda Lambda' + Psi; None where domains are not tied."""
    if len(fit.domains) < 2 or not has_posterior(fit) or not fit.prior.tied.any():
        return None
    return [rounded(row, 2) for row in fit.prior.covariance]


def history_data(fit: Fit) -> Json | None:
    """Objective and change by round; None where there were no rounds."""
    if fit.history.empty:
        return None
    return {
        "round": [int(number) for number in fit.history.index],
        "objective": significant(fit.history["objective"], 10),
        "change": significant(fit.history["change"]),
    }
