"""How well simple sums over chosen items tell the scores of training models."""

from __future__ import annotations

from typing import Any

import numpy as np
import numpy.typing as npt
import pandas as pd
from dask.base import compute

from mtlirt.distill.measure import POINTS
from mtlirt.distill.targets import shares
from mtlirt.responses.matrix import Responses

Float = npt.NDArray[np.float64]


class SumJudge:
    """The leave-one-out error of least squares on shares of right answers by benchmark.

    Parameters
    ----------
    responses, scores
        Of training models; those that have all scores judge.

    Notes
    -----
    Holds the responses in memory, four bytes each. A choice costs a sum over its answers.
    """

    def __init__(self, responses: Responses, scores: pd.DataFrame) -> None:
        whole = np.flatnonzero(scores.notna().all(axis=1))
        parts = [shares(part)[whole] for part in responses.domains.values()]
        self._answers: tuple[npt.NDArray[np.float32], ...] = compute(*parts)
        self._ids = [responses.item_ids(name) for name in responses.domains]
        self._names = list(responses.domains)
        self._scores = scores.iloc[whole, :-1].to_numpy(dtype=np.float64)

    def __call__(self, chosen: pd.Index[Any]) -> float:
        """The mean over benchmarks of root mean square errors, in points."""
        ids = pd.Series(chosen.get_level_values("item_id")).groupby(
            chosen.get_level_values("domain").to_numpy(dtype=object)
        )
        columns = [np.ones(len(self._scores))]
        for name, known, answers in zip(self._names, self._ids, self._answers, strict=True):
            if name in ids.groups:
                own = known.get_indexer(pd.Index(ids.get_group(name)))
                columns.append(answers[:, own].mean(axis=1, dtype=np.float64))
        return float(left_out_errors(np.column_stack(columns), self._scores).mean())


def left_out_errors(features: Float, targets: Float) -> Float:
    """Root mean square errors of least squares, in points, each row told without itself."""
    basis, _, _ = np.linalg.svd(features, full_matrices=False)
    leverage = (basis**2).sum(axis=1, keepdims=True)
    residuals = (targets - basis @ (basis.T @ targets)) / np.maximum(1.0 - leverage, 1e-9)
    return np.asarray(POINTS * np.sqrt((residuals**2).mean(axis=0)))
