"""A distilled benchmark: few items, and what they tell of the scores on all."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

import pandas as pd

from mtlirt.distill.reconstruction.intervals import Intervals
from mtlirt.distill.reconstruction.reconstruction import Reconstruction
from mtlirt.result import Fit


@dataclass(frozen=True)
class Distilled:
    """What a distillation comes to; all of it is stored.

    Attributes
    ----------
    chosen
        Index (``domain``, ``item_id``), in order of choice: ``position`` (from 1), ``form`` ("A"
        or "B": two halves that are alike).
    barred
        Index (``domain``, ``item_id``), items that were not to be chosen: ``reason``, ``share`` (of
        right answers), ``correlation`` (with the score on the benchmark's other items),
        ``copy_of``.
    sizes
        Index (``selection``, ``items``, ``target``): cross-validated errors of all that was tried,
        over training models: columns of `mtlirt.distill.measure.accuracy`.
    test
        Index ``target``: errors and intervals on test models, which nothing was chosen or learnt
        by: columns of `mtlirt.distill.measure.with_intervals`.
    refit
        The fit of training models to the chosen items.
    reconstruction
        Scores from answers and traits.
    intervals
        Of predicted scores, from cross-validated errors.
    info
        Options, the selection and number of items that were taken, numbers of models, the
        single-factor summary, how far the forms are apart, and warnings.
    """

    chosen: pd.DataFrame
    barred: pd.DataFrame
    sizes: pd.DataFrame
    test: pd.DataFrame
    refit: Fit
    reconstruction: Reconstruction
    intervals: Intervals
    info: Mapping[str, Any]

    @property
    def targets(self) -> list[str]:
        """The benchmarks, then the grand mean."""
        return list(self.test.index)
