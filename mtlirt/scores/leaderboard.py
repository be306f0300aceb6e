"""The leaderboard: models in the order of a score."""

from __future__ import annotations

from collections.abc import Sequence
from statistics import NormalDist
from typing import cast

import numpy as np
import pandas as pd

from mtlirt.errors import InputError
from mtlirt.result import Fit, Scores, check_level, check_named
from mtlirt.scores.components import components, several
from mtlirt.scores.overall import Defined, Definition, Weights, overall_scores
from mtlirt.scores.ranks import SEED, probability_better, rank_intervals, ranks, tie_groups
from mtlirt.scores.raw import RawWeights, raw_intervals


def leaderboard(
    scored: Fit | Scores,
    *,
    by: Definition | str = "overall",
    weights: Weights = "equal",
    level: float = 0.95,
    seed: int | None = None,
) -> pd.DataFrame:
    """Order models by a score, with what is known of their ranks.

    Parameters
    ----------
    scored
        From `fit`, `load` or `score`.
    by, weights
        What the score is, see `mtlirt.scores.overall.overall_scores`: "overall", "general",
        "factor", "accuracy", "raw" or "domain:NAME".
    level
        Of the intervals, of scores and of ranks.
    seed
        Of the orders that rank intervals are drawn from; None is the one that the fit names.

    Returns
    -------
    pandas.DataFrame
        Index ``model_id``, best model first. Columns:

        * ``rank``: 1 + the number of better models of its component; models whose scores are
          equal to 1e-9 share it and stand in the order of their ids. Null for a model without
          data, which stands at the end.
        * ``rank_lower``, ``rank_upper``: the interval of its rank, see
          `mtlirt.scores.ranks.rank_intervals`. Null for estimators without intervals.
        * ``tie_group``: models of one number cannot be told from its best, see
          `mtlirt.scores.ranks.tie_groups`; likewise null.
        * ``component``, where there are several: models of different ones share no item, directly
          or through a chain, and are never ranked against each other. Ranks, their intervals and
          tie groups are those of each component by itself, the largest of the fit first. Models
          from `score`, and those of weight 0, tie no others: see `Fit.models`.
        * the score, in a column of the name given by `by`, and ``lower``, ``upper``: its normal
          interval, of an expected accuracy within 0 and 1; of a raw one as by
          `mtlirt.scores.raw.raw_intervals`.
        * ``answered``, ``known``: cells the model answered, of so many items of the fit.
        * ``domains``: how many it took.
        * ``trait_<domain>``, for every domain: its trait there.
        * ``borrowed_<domain>``, for every domain: whether that trait comes from the model's other
          domains alone, as it has no response in this one.

    Raises
    ------
    InputError
        If the level is not between 0 and 1, the seed is no whole number, or as by
        `overall_scores`.
    """
    check_level(level)
    if seed is None:
        seed = int(scored.info.get("rank_seed", SEED))
    if not isinstance(seed, int) or seed < 0:
        raise InputError(f"seed {seed!r} is not a whole number from 0 up")
    models = scored.models
    score, sd = _with_spread(scored, by, weights)
    margin = NormalDist().inv_cdf(0.5 + level / 2.0) * sd
    lower, upper = score - margin, score + margin
    if by == "accuracy":
        lower, upper = lower.clip(0.0, 1.0), upper.clip(0.0, 1.0)
    elif by == "raw":
        lower, upper = raw_intervals(scored, cast(RawWeights, weights), level)
    apart = several(scored)
    board = pd.DataFrame(
        {
            **_ranks_within(components(scored), score, sd, level, seed),
            **apart,
            by: score,
            "lower": lower,
            "upper": upper,
            "answered": models["answered"],
            "known": _known_items(scored),
            "domains": models["domains"],
        }
    )
    order = board.sort_values([*apart, "rank", "model_id"], na_position="last").index
    traits, borrowed = _by_domain(scored, "mean"), _by_domain(scored, "borrowed")
    parts = [board, traits.add_prefix("trait_"), borrowed.add_prefix("borrowed_")]
    return pd.concat([part.loc[order] for part in parts], axis=1)


def better(
    scored: Fit | Scores,
    models: Sequence[str],
    *,
    by: Definition | str = "overall",
    weights: Weights = "equal",
) -> pd.DataFrame:
    """The probability that one model is better than another, for each two of some models.

    Parameters
    ----------
    models
        Their ids.
    scored, by, weights
        As for `leaderboard`.

    Returns
    -------
    pandas.DataFrame
        A row for the one, a column for the other; 1/2 for models with equal posteriors, NaN for
        two of different components, see `leaderboard`: nothing says which of them is better.

    Raises
    ------
    InputError
        If a model is unknown, named twice or has no data, the estimator has no intervals, or as
        by `overall_scores`.
    """
    score, sd = _with_spread(scored, by, weights)
    named = check_named(models, score.index, "model")
    for model in named:
        if pd.isna(score[model]):
            raise InputError(f"model {model!r} has no data, so it is better or worse than none")
        if pd.isna(sd[model]):
            raise InputError("scores without intervals do not tell how probable an order is")
    mean, spread = (part[named].to_numpy() for part in (score, sd))
    names = pd.Index(named, name="model_id")
    component = components(scored)[named].to_numpy(np.int64)
    found = np.where(
        component[:, None] == component,
        probability_better(mean[:, None], spread[:, None], mean, spread),
        np.nan,
    )
    return pd.DataFrame(found, names, names.rename("than"))


def _with_spread(scored: Fit | Scores, by: Definition | str, weights: Weights) -> Defined:
    """Scores with the standard deviations that orders are drawn with.

    That of a raw accuracy is half of its interval of one standard error either way, which is not 0
    where all answers are right.
    """
    found = overall_scores(scored, by, weights)
    if by != "raw":
        return found
    one = 2.0 * NormalDist().cdf(1.0) - 1.0
    ends = raw_intervals(scored, cast(RawWeights, weights), one)
    return Defined(found.mean, (ends.upper - ends.lower) / 2.0)


def _ranks_within(
    component: pd.Series, score: pd.Series, sd: pd.Series, level: float, seed: int
) -> pd.DataFrame:
    """`_ranks` of each component by itself."""
    parts = [
        _ranks(score.iloc[rows], sd.iloc[rows], level, seed)
        for rows in component.groupby(component).indices.values()
    ]
    return pd.concat(parts).loc[component.index]


def _ranks(score: pd.Series, sd: pd.Series, level: float, seed: int) -> pd.DataFrame:
    """Ranks, their intervals and the tie groups of the models that have any."""
    scored, spread = score.notna().to_numpy(), sd.notna().to_numpy()
    mean, width = score.to_numpy(dtype=np.float64), sd.to_numpy(dtype=np.float64)
    interval = rank_intervals(mean[spread], width[spread], level, seed)
    found = {
        "rank": (scored, ranks(mean[scored])),
        "rank_lower": (spread, interval.low),
        "rank_upper": (spread, interval.high),
        "tie_group": (spread, tie_groups(mean[spread], width[spread], level)),
    }
    out = {}
    for name, (where, values) in found.items():
        column = pd.Series(pd.NA, score.index, dtype="Int64")
        column[where] = values
        out[name] = column
    return pd.DataFrame(out)


def _known_items(scored: Fit | Scores) -> int:
    """Number of items of the fit."""
    if isinstance(scored, Fit):
        return len(scored.items)
    return int(scored.info["items_used"] + scored.info["items_not_asked"])


def _by_domain(scored: Fit | Scores, column: str) -> pd.DataFrame:
    """A column of the traits as a column a domain, in the order of the domains."""
    wide = scored.traits[column].unstack("domain")  # noqa: PD010  (a Series has no pivot_table)
    return wide[scored.traits.index.unique("domain")].rename_axis(columns=None)
