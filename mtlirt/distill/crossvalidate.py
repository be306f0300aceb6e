"""How well scores are told from so many items, by models that took no part in it."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass

import numpy as np
import numpy.typing as npt
import pandas as pd

from mtlirt.distill.answers import Answers
from mtlirt.distill.learn import Work, chosen_sets, ground_of, learned_from
from mtlirt.distill.measure import POINTS, accuracy
from mtlirt.responses.matrix import Responses
from mtlirt.responses.subset import some_models

Float = npt.NDArray[np.float64]


@dataclass(frozen=True)
class LeftOut:
    """Predictions for training models, each by what was learnt without its fold.

    Attributes
    ----------
    score
        Shape (models, targets).
    answers
        Traits only: folds choose items of their own.
    """

    score: Float
    answers: Answers


def cross_validated(
    responses: Responses,
    scores: pd.DataFrame,
    folds: npt.NDArray[np.intp],
    work: Work,
    listener: Callable[[str], None],
) -> dict[int, LeftOut]:
    """For each number of items: choose, refit and learn without each fold, and predict its models.

    Parameters
    ----------
    folds
        The fold of each model.
    """
    shape, domains = scores.shape, len(responses.domains)
    counts = sorted(work.options.counts)
    score = {count: np.full(shape, np.nan) for count in counts}
    traits = {count: np.full((2, shape[0], domains), np.nan) for count in counts}
    for fold in range(folds.max() + 1):
        own, others = np.flatnonzero(folds == fold), np.flatnonzero(folds != fold)
        listener(f"fold {fold + 1} of {folds.max() + 1}")
        ground = ground_of(some_models(responses, others), scores.iloc[others], work)
        for count, chosen in zip(counts, chosen_sets(ground, counts, work.options), strict=True):
            learned = learned_from(ground, chosen, work)
            answers = work.read_answers(learned.refit, some_models(responses, own))
            score[count][own] = learned.reconstruction.predict(answers)
            traits[count][:, own] = answers.traits, answers.trait_sd
    nothing = np.empty((shape[0], 0)), np.empty(0, np.intp)
    return {count: LeftOut(score[count], Answers(*nothing, *traits[count])) for count in counts}


def told_by_weaker(
    responses: Responses,
    scores: pd.DataFrame,
    strongest: npt.NDArray[np.bool_],
    count: int,
    work: Work,
) -> tuple[Float, Answers]:
    """Predictions for the strongest models, and their answers, by what the others teach."""
    others, own = np.flatnonzero(~strongest), np.flatnonzero(strongest)
    ground = ground_of(some_models(responses, others), scores.iloc[others], work)
    (chosen,) = chosen_sets(ground, [count], work.options)
    learned = learned_from(ground, chosen, work)
    answers = work.read_answers(learned.refit, some_models(responses, own))
    return learned.reconstruction.predict(answers), answers


def size_table(left_out: Mapping[int, LeftOut], scores: pd.DataFrame) -> pd.DataFrame:
    """Errors of every number of items: index (``items``, ``target``), columns of `accuracy`."""
    truth, targets = scores.to_numpy(), list(scores.columns)
    tables = {count: accuracy(found.score, truth, targets) for count, found in left_out.items()}
    return pd.concat(tables, names=["items"])


def chosen_count(left_out: Mapping[int, LeftOut], scores: pd.DataFrame, rmse: float | None) -> int:
    """The smallest number of items that will do.

    Parameters
    ----------
    rmse
        It is one whose mean error over benchmarks is at most so many points, or the best one if
        none is; None: one that is no worse than the best by more than one standard error of the
        difference of mean squared errors.
    """
    squares = {count: _squares(found.score, scores) for count, found in left_out.items()}
    errors = {count: np.sqrt(np.nanmean(part, axis=0)).mean() for count, part in squares.items()}
    best = min(errors, key=lambda count: (errors[count], count))
    for count in sorted(squares):
        if rmse is not None:
            enough = errors[count] <= rmse
        else:
            worse = squares[count] - squares[best]
            each = np.nanmean(worse[~np.isnan(worse).all(axis=1)], axis=1)
            enough = each.mean() <= each.std() / np.sqrt(len(each))
        if enough:
            return count
    return best


def _squares(predicted: Float, scores: pd.DataFrame) -> Float:
    """Squared errors in points, models x benchmarks; nan where there is no score."""
    return np.asarray((POINTS * (predicted - scores.to_numpy()))[:, :-1] ** 2)
