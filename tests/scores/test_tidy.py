"""Scores as a tidy table."""

import numpy as np

from mtlirt.scores.tidy import tidy_scores


def test_a_row_a_score_overall_first(scored):
    table = tidy_scores(scored({"m2": 1.0, "m1": np.nan}, lacking=[("m2", "a")]))
    assert list(table.columns) == [
        "model_id",
        "score",
        "domain",
        "mean",
        "sd",
        "answered",
        "borrowed",
    ]
    assert table["model_id"].tolist() == ["m2"] * 3 + ["m1"] * 3
    assert table["score"].tolist() == ["overall", "trait", "trait"] * 2
    assert table["domain"].isna().tolist() == [True, False, False] * 2
    assert table["domain"].dropna().tolist() == ["b", "a"] * 2
    assert table["mean"].tolist()[:3] == [1.0, 1.0, 2.0]
    assert table["mean"][3:].isna().all()
    assert table["answered"].tolist() == [3, 3, 0, 0, 0, 0]
    assert table["borrowed"].tolist() == [False, False, True, False, False, False]
    assert table["borrowed"].dtype == bool
