"""The single-factor summary."""

import numpy as np
import pandas as pd
import pytest

from mtlirt.distill.factor import single_factor
from mtlirt.distill.reconstruction.benchmarks import GRAND_MEAN


def test_the_share_of_the_first_factor():
    rng = np.random.default_rng(1)
    factor = rng.normal(size=(20_000, 1))
    table = pd.DataFrame(np.sqrt(0.6) * factor + np.sqrt(0.4) * rng.normal(size=(20_000, 5)))
    scores = table.assign(**{GRAND_MEAN: table.mean(axis=1)})
    found = single_factor(scores, pd.Series(factor[:, 0]))
    assert found["first_share"] == pytest.approx((1 + 4 * 0.6) / 5, abs=0.01)
    expected = np.corrcoef(factor[:, 0], scores[GRAND_MEAN])[0, 1]
    assert found["pearson"] == pytest.approx(expected)
    assert found["spearman"] == pytest.approx(
        scores[GRAND_MEAN].rank().corr(pd.Series(factor[:, 0]).rank())
    )
    assert found["models"] == 20_000


def test_models_without_all_benchmarks_do_not_count():
    scores = pd.DataFrame({"a": [0.1, 0.2, 0.3, np.nan], "b": [0.2, 0.4, 0.3, 0.4]})
    scores[GRAND_MEAN] = scores.mean(axis=1, skipna=False)
    assert single_factor(scores, pd.Series([1.0, 2.0, 3.0, 4.0]))["models"] == 3
    assert single_factor(scores.iloc[:2], pd.Series([1.0, 2.0]))["first_share"] is None
