"""Dimensions behind the domains: the scree of the traits' correlations."""

from __future__ import annotations

import numpy as np
import pandas as pd

from mtlirt.result import Fit


def scree(fit: Fit) -> pd.DataFrame:
    """Eigenvalues of the traits' correlation matrix Lambda Lambda' + diag(Psi).

    Returns
    -------
    pandas.DataFrame
        Index ``dimension`` from 1 up, the largest first; ``eigenvalue`` (they sum to the number
        of domains), ``share`` of the variance, and ``cumulative`` share.
    """
    values = np.linalg.eigvalsh(fit.prior.covariance)[::-1]
    share = values / values.sum()
    index = pd.RangeIndex(1, len(values) + 1, name="dimension")
    return pd.DataFrame(
        {"eigenvalue": values, "share": share, "cumulative": share.cumsum()}, index=index
    )
