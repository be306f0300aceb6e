"""The leaderboard: models in the order of their overall scores."""

from __future__ import annotations

from statistics import NormalDist

import pandas as pd

from mtlirt.errors import InputError
from mtlirt.result import Fit, Scores

SAME_DECIMALS = 9
"""Overall scores that agree to so many decimals share a rank."""


def leaderboard(scored: Fit | Scores, *, level: float = 0.95) -> pd.DataFrame:
    """Order models by their overall score.

    Parameters
    ----------
    scored
        From `fit`, `load` or `score`.
    level
        Of the intervals.

    Returns
    -------
    pandas.DataFrame
        Index ``model_id``, best model first. Columns:

        * ``rank``: 1 + the number of better models; models whose scores are equal to 1e-9 share
          it and stand in the order of their ids. Null for a model without data, which stands
          at the end.
        * ``overall``, ``lower``, ``upper``: the equally weighted mean of the domains' traits, and
          its normal interval. Two models whose intervals overlap are not told apart by their
          ranks.
        * ``answered``, ``known``: cells the model answered, of so many items of the fit.
        * ``domains``: how many it took.
        * ``trait_<domain>``, for every domain: its trait there.
        * ``borrowed_<domain>``, for every domain: whether that trait comes from the model's other
          domains alone, as it has no response in this one.
    """
    if not 0.0 < level < 1.0:
        raise InputError(f"level {level} is not between 0 and 1")
    models = scored.models
    overall = models["overall"]
    same = overall.round(SAME_DECIMALS)
    margin = NormalDist().inv_cdf(0.5 + level / 2.0) * models["overall_sd"]
    board = pd.DataFrame(
        {
            "rank": same.rank(method="min", ascending=False).astype("Int64"),
            "overall": overall,
            "lower": overall - margin,
            "upper": overall + margin,
            "answered": models["answered"],
            "known": _known_items(scored),
            "domains": models["domains"],
        }
    )
    order = board.sort_values(["rank", "model_id"], na_position="last").index
    traits, borrowed = _by_domain(scored, "mean"), _by_domain(scored, "borrowed")
    parts = [board, traits.add_prefix("trait_"), borrowed.add_prefix("borrowed_")]
    return pd.concat([part.loc[order] for part in parts], axis=1)


def _known_items(scored: Fit | Scores) -> int:
    """Number of items of the fit."""
    if isinstance(scored, Fit):
        return len(scored.items)
    return int(scored.info["items_used"] + scored.info["items_not_asked"])


def _by_domain(scored: Fit | Scores, column: str) -> pd.DataFrame:
    """A column of the traits as a column a domain, in the order of the domains."""
    wide = scored.traits[column].unstack("domain")  # noqa: PD010  (a Series has no pivot_table)
    return wide[scored.traits.index.unique("domain")].rename_axis(columns=None)
