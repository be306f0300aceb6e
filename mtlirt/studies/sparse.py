"""Sparse benchmarks by every way to choose items and to tell scores, judged by test models."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING

import numpy as np
import pandas as pd

from mtlirt.distill.distil import distill_by
from mtlirt.distill.judge import SumJudge
from mtlirt.distill.learn import TRIES, Ground, Work, benchmarks_of, ground_of
from mtlirt.distill.measure import accuracy
from mtlirt.distill.options import BEST_RANDOM, DistillOptions
from mtlirt.distill.reconstruction.benchmarks import GRAND_MEAN
from mtlirt.distill.reconstruction.implied import Aipw, Gpirt, Implied, Pirt
from mtlirt.distill.reconstruction.linear import Gam, Ridge
from mtlirt.distill.reconstruction.mean import Mean
from mtlirt.distill.reconstruction.reconstruction import Method
from mtlirt.distill.reconstruction.spline_ridge import SplineRidge
from mtlirt.distill.selection.chance import best_of
from mtlirt.distill.selection.select import select
from mtlirt.distill.split import SplitBy, held_back
from mtlirt.distill.targets import full_scores
from mtlirt.errors import InputError
from mtlirt.responses.matrix import Responses
from mtlirt.responses.subset import ids_of, some_items, some_models

if TYPE_CHECKING:
    from mtlirt.cluster.executor import Client

SINGLE = "spline-ridge, one benchmark"
"""The best reconstruction, of each benchmark from its own items alone."""

GREEDY: dict[str, Method] = {
    "spline-ridge": SplineRidge(),
    "gam": Gam(),
    "gam, own trait": Gam(own_trait=True),
    "ridge": Ridge(),
    "pirt": Pirt(),
    "gpirt": Gpirt(),
    "implied": Implied(),
    "aipw": Aipw(),
    "mean": Mean(),
}

OTHERS: dict[str, dict[str, Method]] = {
    "information": {"spline-ridge": SplineRidge(), "gam": Gam()},
    "kmeans": {"spline-ridge": SplineRidge(), "gpirt": Gpirt()},
    "kmedoids": {"spline-ridge": SplineRidge(), "gpirt": Gpirt()},
    "random": {
        "spline-ridge": SplineRidge(),
        "gam": Gam(),
        "ridge": Ridge(),
        "pirt": Pirt(),
        "gpirt": Gpirt(),
        "aipw": Aipw(),
        "mean": Mean(),
    },
    BEST_RANDOM: {"spline-ridge": SplineRidge(), "gam": Gam()},
}
"""By the way items are chosen, ways to tell scores; `gpirt` of anchors has their weights."""


@dataclass(frozen=True)
class SparseOptions:
    """What a study of sparse benchmarks is asked for.

    Attributes
    ----------
    counts
        Numbers of items over all benchmarks.
    splits
        Random splits of models into training and test, each with a choice of its own.
    share
        Of models kept for the test.
    seed
        Of splits and draws.
    folds
        Of the cross-validation that intervals come from.
    floors
        P(right) of a model that knows nothing, by domain: scores are told once more by a fit that
        knows these.
    """

    counts: tuple[int, ...]
    splits: int = 1
    share: float = 0.1
    seed: int = 0
    folds: int = 5
    floors: Mapping[str, float] | None = None

    def __post_init__(self) -> None:
        DistillOptions(self.counts, seed=self.seed, folds=self.folds)
        if self.splits < 1:
            raise InputError(f"splits {self.splits}: expected 1 or more")


def sparse_study(
    responses: Responses,
    options: SparseOptions,
    client: Client | None,
    threads: int | None,
    listener: Callable[[str], None],
) -> pd.DataFrame:
    """Choose items by every method on training models, tell scores by every method on test models.

    Every choice of a number of items has as many of each benchmark as `greedy` takes of it.

    Returns
    -------
    pandas.DataFrame
        Columns ``split``, ``items``, ``selection``, ``reconstruction``, ``target``, ``chosen`` (of
        the target's items), and those of `mtlirt.distill.measure.accuracy`.
    """
    scores = full_scores(responses)
    found: list[pd.DataFrame] = []
    for split in range(options.splits):
        test = held_back(scores, share=options.share, seed=options.seed + split)
        parts = [np.flatnonzero(~test), np.flatnonzero(test)]
        training, held = (some_models(responses, rows) for rows in parts)
        known, truth = (scores.iloc[rows] for rows in parts)
        work = Work(DistillOptions(options.counts, seed=options.seed + split), client, threads)
        listener(f"split {split + 1} of {options.splits}: fit of all items")
        ground = ground_of(training, known, work)
        runs = [("", ground)]
        if options.floors:
            floored = with_floors(training, options.floors)
            runs.append((", known floors", ground_of(floored, known, work)))
        for name, base in runs:
            for count in options.counts:
                listener(f"split {split + 1} of {options.splits}{name}: {count:,} items")
                tables = _tables(base, held, truth, count, work, plain=base is ground)
                found.extend(
                    table.assign(split=split, items=count, model=f"2PL{name}") for table in tables
                )
    columns = ["split", "items", "model", "selection", "reconstruction", "target", "chosen"]
    return pd.concat(found, ignore_index=True)[[*columns, "models", "rmse", "bias", "spearman"]]


def _tables(
    ground: Ground, held: Responses, truth: pd.DataFrame, count: int, work: Work, plain: bool
) -> Iterator[pd.DataFrame]:
    """Errors on test models, a table for each choice and way to tell."""
    greedy = select("greedy", ground.candidates, count)
    yield from _told(ground, held, truth, "greedy", greedy, GREEDY, work)
    if not plain:
        return
    yield _single(ground, held, truth, greedy, work)
    numbers = greedy.groupby(level="domain", sort=False).size()
    counts = {str(name): int(number) for name, number in numbers.items()}
    for name, methods in OTHERS.items():
        if name == BEST_RANDOM:
            judge = SumJudge(ground.responses, ground.scores)
            chosen = best_of(ground.candidates, counts, judge, TRIES, work.options.seed)
        else:
            chosen = select(name, ground.candidates, counts, work.options.seed)
        yield from _told(ground, held, truth, name, chosen, methods, work)


def _told(
    ground: Ground,
    held: Responses,
    truth: pd.DataFrame,
    selection: str,
    chosen: pd.DataFrame,
    methods: Mapping[str, Method],
    work: Work,
) -> Iterator[pd.DataFrame]:
    subset = some_items(ground.responses, chosen.index)
    refit = work.fit(subset)
    own, others = work.read_answers(refit, subset), work.read_answers(refit, held)
    benchmarks = benchmarks_of(ground.fitted, refit.items.index)
    for name, method in methods.items():
        if isinstance(method, Gpirt) and "weight" in chosen:
            weights = chosen["weight"].reindex(refit.items.index)
            weighted: Method = replace(method, anchors=tuple(weights))
        else:
            weighted = method
        learned = weighted.train(own, ground.scores.to_numpy(), benchmarks)
        predicted = learned.predict(others)
        table = accuracy(predicted, truth.to_numpy(), list(truth.columns))
        yield _labelled(table, chosen, selection, name)


def _single(
    ground: Ground, held: Responses, truth: pd.DataFrame, chosen: pd.DataFrame, work: Work
) -> pd.DataFrame:
    """Each benchmark's scores from its own items: fitted, scored and told without the others."""
    predicted = np.full(truth.shape, np.nan)
    for t, name in enumerate(truth.columns[:-1]):
        items = pd.MultiIndex.from_product(
            [[name], ids_of(chosen.index, name)], names=["domain", "item_id"]
        )
        subset = some_items(ground.responses, items)
        refit = work.fit(subset)
        own, others = work.read_answers(refit, subset), work.read_answers(refit, held)
        alone = work.fit(some_items(ground.responses, ground.fitted.items.loc[[name]].index))
        benchmarks = benchmarks_of(alone, refit.items.index)
        known = ground.scores[[name, name]].to_numpy()
        learned = SplineRidge().train(own, known, benchmarks)
        predicted[:, t] = learned.predict(others)[:, 0]
    predicted[:, -1] = predicted[:, :-1].mean(axis=1)
    table = accuracy(predicted, truth.to_numpy(), list(truth.columns))
    return _labelled(table, chosen, "greedy", SINGLE)


def _labelled(
    table: pd.DataFrame, chosen: pd.DataFrame, selection: str, reconstruction: str
) -> pd.DataFrame:
    counts = chosen.groupby(level="domain").size()
    counts[GRAND_MEAN] = len(chosen)
    return table.assign(
        selection=selection,
        reconstruction=reconstruction,
        chosen=counts.reindex(table.index, fill_value=0),
    ).reset_index()


def with_floors(responses: Responses, floors: Mapping[str, float]) -> Responses:
    """Responses whose items have known lower asymptotes, by domain; 0 for others.

    Raises
    ------
    InputError
        If a domain is unknown.
    """
    for name in floors:
        if name not in responses.domains:
            raise InputError(f"floor of domain {name!r}: there is none")
    names = responses.items.index.get_level_values("domain")
    guessing = names.map(lambda name: floors.get(name, 0.0)).to_numpy(dtype=np.float64)
    return replace(responses, items=responses.items.assign(guessing=guessing))


def coverage_of_splits(
    responses: Responses,
    options: SparseOptions,
    client: Client | None,
    threads: int | None,
    listener: Callable[[str], None],
) -> pd.DataFrame:
    """What intervals from the most items hold, on test models of all strengths and the strongest.

    Returns
    -------
    pandas.DataFrame
        Columns ``split``, ``by`` ("score" or "strength"), ``target`` and those of
        `mtlirt.distill.measure.with_intervals`.
    """
    found = []
    kinds: tuple[tuple[SplitBy, int], ...] = ("score", options.splits), ("strength", 1)
    for by, times in kinds:
        for split in range(times):
            listener(f"intervals, split by {by}, {split + 1} of {times}")
            asked = DistillOptions(
                (max(options.counts),),
                share=options.share,
                split=by,
                seed=options.seed + split,
                folds=options.folds,
            )
            distilled = distill_by(responses, asked, client, threads)
            found.append(distilled.test.reset_index().assign(split=split, by=by))
    return pd.concat(found, ignore_index=True)


def sparse_table(results: pd.DataFrame, targets: Sequence[str]) -> str:
    """Mean test errors over splits in Markdown, in points; Spearman of the grand mean."""
    head = ["items", "selection", "reconstruction", *targets, "mean", "Spearman"]
    lines = [f"| {' | '.join(head)} |", "| --- " * len(head) + "|"]
    keys = ["items", "model", "selection", "reconstruction"]
    benchmarks = [target for target in targets if target != GRAND_MEAN]
    for key, part in results.groupby(keys, sort=False):
        count, model, selection, name = map(str, key)
        rmse = part.groupby("target")["rmse"].mean()
        spearman = part[part["target"] == GRAND_MEAN]["spearman"].mean()
        told = name if model == "2PL" else f"{name}, {model.removeprefix('2PL, ')}"
        cells = [f"{rmse[target]:.2f}" for target in targets]
        mean = f"{rmse[benchmarks].mean():.2f}"
        row = [count, selection, told, *cells, mean, f"{spearman:.4f}"]
        lines.append(f"| {' | '.join(row)} |")
    return "\n".join(lines) + "\n"
