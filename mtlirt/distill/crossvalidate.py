"""How well scores are told from so many items, by models that took no part in it."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass
from itertools import chain
from typing import NamedTuple

import numpy as np
import numpy.typing as npt
import pandas as pd

from mtlirt.distill.answers import Answers
from mtlirt.distill.learn import Work, chosen_sets, ground_of, learned_from
from mtlirt.distill.measure import POINTS, accuracy
from mtlirt.responses.matrix import Responses
from mtlirt.responses.subset import some_models

Float = npt.NDArray[np.float64]


class Plan(NamedTuple):
    """A way to choose items, and how many."""

    selection: str
    items: int


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
) -> dict[Plan, LeftOut]:
    """For each plan: choose, refit and learn without each fold, and predict its models.

    Parameters
    ----------
    folds
        The fold of each model.
    """
    shape, domains = scores.shape, len(responses.domains)
    options, counts = work.options, sorted(work.options.counts)
    plans = [Plan(name, count) for name in options.selections for count in counts]
    score = {plan: np.full(shape, np.nan) for plan in plans}
    traits = {plan: np.full((2, shape[0], domains), np.nan) for plan in plans}
    for fold in range(folds.max() + 1):
        own, others = np.flatnonzero(folds == fold), np.flatnonzero(folds != fold)
        listener(f"fold {fold + 1} of {folds.max() + 1}")
        ground = ground_of(some_models(responses, others), scores.iloc[others], work)
        sets = [chosen_sets(ground, name, counts, options.seed) for name in options.selections]
        for plan, chosen in zip(plans, chain.from_iterable(sets), strict=True):
            learned = learned_from(ground, chosen, work)
            answers = work.read_answers(learned.refit, some_models(responses, own))
            score[plan][own] = learned.reconstruction.predict(answers)
            traits[plan][:, own] = answers.traits, answers.trait_sd
    nothing = np.empty((shape[0], 0)), np.empty(0, np.intp)
    return {plan: LeftOut(score[plan], Answers(*nothing, *traits[plan])) for plan in plans}


def told_by_weaker(
    responses: Responses,
    scores: pd.DataFrame,
    strongest: npt.NDArray[np.bool_],
    plan: Plan,
    work: Work,
) -> tuple[Float, Answers]:
    """Predictions for the strongest models, and their answers, by what the others teach."""
    others, own = np.flatnonzero(~strongest), np.flatnonzero(strongest)
    ground = ground_of(some_models(responses, others), scores.iloc[others], work)
    (chosen,) = chosen_sets(ground, plan.selection, [plan.items], work.options.seed)
    learned = learned_from(ground, chosen, work)
    answers = work.read_answers(learned.refit, some_models(responses, own))
    return learned.reconstruction.predict(answers), answers


def size_table(left_out: Mapping[Plan, LeftOut], scores: pd.DataFrame) -> pd.DataFrame:
    """Errors of every plan: index (``selection``, ``items``, ``target``), columns of `accuracy`."""
    truth, targets = scores.to_numpy(), list(scores.columns)
    tables = {plan: accuracy(found.score, truth, targets) for plan, found in left_out.items()}
    return pd.concat(tables, names=["selection", "items"])


def chosen_plan(left_out: Mapping[Plan, LeftOut], scores: pd.DataFrame, rmse: float | None) -> Plan:
    """The plan of the smallest number of items that will do.

    Parameters
    ----------
    rmse
        It is one whose mean error over benchmarks is at most so many points, or the best one if
        none is; None: one that is no worse than the best by more than one standard error of the
        difference of mean squared errors.
    """
    squares = {plan: _squares(found.score, scores) for plan, found in left_out.items()}
    errors = {plan: np.sqrt(np.nanmean(part, axis=0)).mean() for plan, part in squares.items()}
    ranked = sorted(errors, key=lambda plan: (errors[plan], plan.items))
    for count in sorted({plan.items for plan in ranked}):
        plan = next(plan for plan in ranked if plan.items == count)
        if rmse is not None:
            enough = errors[plan] <= rmse
        else:
            worse = squares[plan] - squares[ranked[0]]
            each = np.nanmean(worse[~np.isnan(worse).all(axis=1)], axis=1)
            enough = each.mean() <= each.std() / np.sqrt(len(each))
        if enough:
            return plan
    return ranked[0]


def _squares(predicted: Float, scores: pd.DataFrame) -> Float:
    """Squared errors in points, models x benchmarks; nan where there is no score."""
    return np.asarray((POINTS * (predicted - scores.to_numpy()))[:, :-1] ** 2)
