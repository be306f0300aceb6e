"""Distil benchmarks: choose items, learn to tell full scores from them, and say how well."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import asdict
from typing import TYPE_CHECKING, Any

import numpy as np
import pandas as pd

from mtlirt.distill.crossvalidate import (
    LeftOut,
    Plan,
    chosen_plan,
    cross_validated,
    size_table,
    told_by_weaker,
)
from mtlirt.distill.distilled import Distilled
from mtlirt.distill.factor import single_factor
from mtlirt.distill.learn import Work, chosen_sets, ground_of, learned_from
from mtlirt.distill.measure import Predicted, with_intervals
from mtlirt.distill.options import DistillOptions
from mtlirt.distill.reconstruction.benchmarks import GRAND_MEAN
from mtlirt.distill.reconstruction.intervals import Intervals
from mtlirt.distill.selection.forms import parallel_forms
from mtlirt.distill.split import SplitBy, folds_of, held_back
from mtlirt.distill.targets import full_scores
from mtlirt.errors import InputError
from mtlirt.responses.matrix import Responses
from mtlirt.responses.subset import some_models

if TYPE_CHECKING:
    from mtlirt.cluster.executor import Client

LEAST_MODELS = 8
"""Models with a full form of all benchmarks: fewer cannot be divided."""

STRONGEST = 0.1
"""The share of training models on which errors beyond the others are measured; a model counts as
stronger from where the upper half of them begins."""

ENOUGH = 50
"""Training models to measure that with."""

FEW = 10
"""Fewer training models make what is learnt a matter of luck."""


def unheard(message: str) -> None:
    """Do nothing at a stage."""


def distill_benchmarks(
    responses: Responses,
    items: int | Sequence[int],
    *,
    rmse: float | None = None,
    selection: str | Sequence[str] = "greedy",
    reconstruction: str = "spline-ridge",
    share: float = 0.1,
    split: SplitBy = "score",
    time_column: str | None = None,
    group_column: str | None = None,
    folds: int = 5,
    keep_negative: bool = False,
    level: float = 0.95,
    seed: int = 0,
    client: Client | None = None,
    threads: int | None = None,
    listener: Callable[[str], None] = unheard,
) -> Distilled:
    """Choose few items of all benchmarks that tell the full scores, and learn to tell them.

    Models are split in two: what is chosen, fitted, learnt and calibrated is so by training models
    alone; test models are read once, at the end, to say how good it is. The number of items, and
    the intervals of predictions, come from cross-validation over training models, in which all
    steps from the fit on are repeated without the fold's models.

    Parameters
    ----------
    responses
        From `open_responses`, `from_tidy` or `from_wide`; every benchmark needs models that
        answered all its items.
    items
        How many, over all benchmarks together; or several numbers, of which one is chosen.
    selection
        How items are chosen: one of `mtlirt.distill.options.SELECTIONS`; or several, of which the
        one of least cross-validated error is taken.
    rmse, reconstruction, share, split, time_column, group_column, folds, keep_negative
        See `mtlirt.distill.options.DistillOptions`.
    level, seed
        Likewise.
    client, threads
        As for `mtlirt.fit`.
    listener
        Told what is being done.

    Returns
    -------
    Distilled
        The same for the same responses and options.

    Raises
    ------
    InputError
        If an option is out of range or does not suit the responses, or fewer than `LEAST_MODELS`
        models answered all items of a benchmark.

    Notes
    -----
    Cost: a fit of all items, a choice of items, and for each number of items a fit of these, a
    score and a reconstruction, all of it once for each fold and once more.
    """
    options = DistillOptions(
        counts=(items,) if isinstance(items, int) else tuple(items),
        rmse=rmse,
        selections=(selection,) if isinstance(selection, str) else tuple(selection),
        reconstruction=reconstruction,
        share=share,
        split=split,
        time_column=time_column,
        group_column=group_column,
        folds=folds,
        keep_negative=keep_negative,
        level=level,
        seed=seed,
    )
    return distill_by(responses, options, client, threads, listener)


def distill_by(
    responses: Responses,
    options: DistillOptions,
    client: Client | None = None,
    threads: int | None = None,
    listener: Callable[[str], None] = unheard,
) -> Distilled:
    """`distill_benchmarks`, its options put together."""
    scores = full_scores(responses)
    for name, whole in scores.notna().sum().items():
        if whole < LEAST_MODELS:
            asked = "every item" if name == GRAND_MEAN else f"every item of domain {name!r}"
            raise InputError(
                f"{whole} models answered {asked}; training and the test need {LEAST_MODELS}: "
                "leave out a domain that few took"
            )
    groups = _column(responses, options.group_column)
    test = held_back(
        scores,
        share=options.share,
        by=options.split,
        order=_column(responses, options.time_column),
        groups=groups,
        seed=options.seed,
    )
    train, held = np.flatnonzero(~test), np.flatnonzero(test)
    training, known = some_models(responses, train), scores.iloc[train]
    count = min(options.folds, int(known.notna().sum().min()))
    folds = folds_of(known, count, None if groups is None else groups.iloc[train])
    work = Work(options, client, threads)
    left_out = cross_validated(training, known, folds, work, listener)
    sizes = size_table(left_out, known)
    plan = chosen_plan(left_out, known, options.rmse)
    listener(
        f"learning from all {len(train):,} training models: {plan.selection}, {plan.items:,} items"
    )
    ground = ground_of(training, known, work)
    (chosen,) = chosen_sets(ground, plan.selection, [plan.items], options.seed)
    final = learned_from(ground, chosen, work)
    listener("errors on stronger models")
    intervals = _intervals(left_out[plan], training, known, groups, plan, work)
    forms = parallel_forms(ground.candidates, chosen)
    listener(f"testing on {len(held):,} models")
    truth = scores.iloc[held].to_numpy()
    answers = work.read_answers(final.refit, some_models(responses, held))
    score = final.reconstruction.predict(answers)
    ends = intervals.around(score, answers, options.level)
    judged = Predicted(score, ends.lower, ends.upper)
    return Distilled(
        chosen=pd.DataFrame(
            {"position": np.arange(1, len(chosen) + 1), "form": forms.form}, index=chosen.index
        ),
        barred=ground.barred,
        sizes=sizes,
        test=with_intervals(judged, truth, intervals.minimum_difference, list(scores.columns)),
        refit=final.refit,
        reconstruction=final.reconstruction,
        intervals=intervals,
        info={
            "options": asdict(options)
            | {"counts": list(options.counts), "selections": list(options.selections)},
            "selection": plan.selection,
            "items": plan.items,
            "training_models": len(train),
            "test_models": len(held),
            "single_factor": single_factor(known, final.refit.models["overall"]),
            "forms_differ_by": forms.difference,
            "warnings": _warnings(len(train)),
        },
    )


def _intervals(
    left_out: LeftOut,
    training: Responses,
    known: pd.DataFrame,
    groups: pd.Series[Any] | None,
    plan: Plan,
    work: Work,
) -> Intervals:
    """Intervals from errors of cross-validation, and from those on the strongest models."""
    truth = known.to_numpy()
    usual = Intervals.train(left_out.score, truth, left_out.answers)
    own = None if groups is None else groups.loc[known.index]
    if len(known) < ENOUGH:
        return usual
    strongest = held_back(known, share=STRONGEST, by="strength", groups=own)
    predicted, answers = told_by_weaker(training, known, strongest, plan, work)
    cut = float(np.nanquantile(left_out.score[:, -1], 1.0 - 0.5 * STRONGEST))
    return usual.for_stronger(cut, predicted, truth[strongest], answers)


def _column(responses: Responses, name: str | None) -> pd.Series[Any] | None:
    if name is None:
        return None
    if name not in responses.models:
        known = ", ".join(map(str, responses.models.columns)) or "none"
        raise InputError(f"column {name!r} of the model table: there is none; its columns: {known}")
    return responses.models[name]


def _warnings(models: int) -> list[str]:
    if models >= FEW:
        return []
    return [f"only {models} models train: what is learnt from so few is a matter of luck"]
