"""Errors of predicted scores."""

import numpy as np
import pytest

from mtlirt.distill.measure import Predicted, accuracy, mean_rmse, with_intervals

TRUTH = np.array([[0.5, 0.2], [0.6, np.nan], [0.7, 0.4], [0.8, 0.3]])
GUESS = np.array([[0.53, 0.2], [0.57, 0.9], [0.73, 0.3], [0.77, 0.4]])


def test_errors_are_in_points():
    table = accuracy(GUESS, TRUTH, ["a", "grand_mean"])
    assert table["models"].tolist() == [4, 3]
    assert table["rmse"].tolist() == pytest.approx([3.0, 100 * np.sqrt(0.02 / 3)])
    assert table["bias"].tolist() == pytest.approx([0.0, 0.0], abs=1e-9)
    assert table["spearman"].tolist() == pytest.approx([1.0, 0.5])
    assert mean_rmse(table) == pytest.approx(3.0)


def test_intervals():
    predicted = Predicted(GUESS, GUESS - 0.05, GUESS + 0.05)
    table = with_intervals(predicted, TRUTH, np.array([0.02, 0.03]), ["a", "grand_mean"])
    assert table["coverage"].tolist() == pytest.approx([1.0, 1 / 3])
    assert table["width"].tolist() == pytest.approx([10.0, 10.0])
    assert table["detectable"].tolist() == pytest.approx([2.0, 3.0])


def test_nothing_to_compare_is_null():
    table = accuracy(GUESS, np.full((4, 2), np.nan), ["a", "grand_mean"])
    assert table[["rmse", "bias", "spearman"]].isna().all().all()
