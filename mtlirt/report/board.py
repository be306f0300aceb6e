"""The leaderboard as the report's script reads it."""

from __future__ import annotations

from statistics import NormalDist

import pandas as pd

from mtlirt.report.columns import Json, places, rounded, whole
from mtlirt.result import Fit
from mtlirt.scores.leaderboard import leaderboard
from mtlirt.scores.overall import overall_scores

LEVEL = 0.95
"""Of all intervals in a report."""


def has_posterior(fit: Fit) -> bool:
    """Whether the estimator gives the traits' standard deviations and correlations."""
    return not bool(fit.domains["uniqueness"].isna().any())


def board_data(fit: Fit) -> Json:
    """Columns of the leaderboard, best model first.

    Notes
    -----
    Columns that an estimator does not give are null as a whole. A column of truth values that a
    later version adds to `Fit.models` is a flag of its name.
    """
    board = leaderboard(fit, level=LEVEL)
    intervals = bool(board["lower"].notna().any())
    flags = fit.models.loc[board.index].select_dtypes("bool")
    data = {
        "model": [str(model) for model in board.index],
        "rank": whole(board["rank"]),
        "score": rounded(board["overall"]),
        "answered": whole(board["answered"]),
        "taken": whole(board["domains"]),
        "known": len(fit.items),
        "traits": [rounded(board[f"trait_{name}"]) for name in fit.domains.index],
        "borrowed": [places(board[f"borrowed_{name}"]) for name in fit.domains.index],
        "flags": {str(name): places(flags[name]) for name in flags},
        "accuracy": _accuracy(fit, board.index) if has_posterior(fit) else None,
        "lower": None,
        "component": whole(board["component"]) if "component" in board else None,
    }
    if intervals:
        data |= {name: rounded(board[name]) for name in ("lower", "upper")}
        data |= {name: whole(board[name]) for name in ("rank_lower", "rank_upper", "tie_group")}
    return data


def _accuracy(fit: Fit, order: pd.Index) -> Json:
    """The expected share of right answers, equal weights over domains."""
    found = overall_scores(fit, "accuracy")
    mean, margin = found.mean.loc[order], NormalDist().inv_cdf(0.5 + LEVEL / 2.0) * found.sd
    margin = margin.loc[order]
    return {
        "mean": rounded(mean, 4),
        "lower": rounded((mean - margin).clip(0.0, 1.0), 4),
        "upper": rounded((mean + margin).clip(0.0, 1.0), 4),
    }
