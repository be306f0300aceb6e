"""How far one number sums up all benchmarks."""

from __future__ import annotations

import numpy as np
import pandas as pd
from scipy.stats import spearmanr

from mtlirt.distill.reconstruction.benchmarks import GRAND_MEAN


def single_factor(scores: pd.DataFrame, overall: pd.Series) -> dict[str, float | int | None]:
    """What one factor explains of models' full scores.

    Parameters
    ----------
    scores
        `full_scores`; models that have all count.
    overall
        The overall trait of the same models.

    Returns
    -------
    dict
        ``first_share``: the largest eigenvalue of the scores' correlations over their number;
        ``pearson``, ``spearman``: of the overall trait with the grand mean; ``models``: that count.
        None where there are fewer than 3 models, or scores do not vary.
    """
    whole = scores[scores[GRAND_MEAN].notna()]
    benchmarks = whole.drop(columns=GRAND_MEAN)
    if len(whole) < 3 or (benchmarks.std() == 0.0).any():
        nothing = dict.fromkeys(("first_share", "pearson", "spearman"))
        return {**nothing, "models": len(whole)}
    trait, mean = overall.loc[whole.index].to_numpy(), whole[GRAND_MEAN].to_numpy()
    eigenvalues = np.linalg.eigvalsh(
        np.corrcoef(benchmarks.to_numpy().T).reshape(benchmarks.shape[1], -1)
    )
    return {
        "first_share": float(eigenvalues[-1] / eigenvalues.sum()),
        "pearson": float(np.corrcoef(trait, mean)[0, 1]),
        "spearman": float(spearmanr(trait, mean).statistic),
        "models": len(whole),
    }
