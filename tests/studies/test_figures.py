"""Figures: which there are, what they show, and that equal results give equal bytes."""

import matplotlib as mpl
import numpy as np
import pandas as pd
import pytest

from mtlirt.studies.figures import NOMINAL, draw_figures, lines_by_h, points_by_row


def summary(rows, metrics=("sine", "coverage")):
    rng = np.random.default_rng(0)
    records = [
        (row, h, method, target, metric, rng.random(), error, 2)
        for row, h in rows.items()
        for method, error in (("accuracy", np.nan), ("marginal", 0.1))
        for target in ("domains", "general")
        for metric in metrics
    ]
    columns = ["row", "h", "method", "target", "metric", "mean", "error", "replications"]
    return pd.DataFrame(records, columns=columns)


PAPER = {"paper-0.00": 0.0, "paper-0.10": 0.1}
OTHERS = {"noise": 0.5, "random": np.nan}


def test_equal_results_give_equal_bytes():
    one, other = draw_figures(summary(PAPER | OTHERS)), draw_figures(summary(PAPER | OTHERS))
    assert one == other
    assert list(one) == ["error-by-h.svg", "error-by-row.svg", "coverage.svg"]
    for content in one.values():
        assert content.startswith(b"<?xml")
        assert b"dc:date" not in content


@pytest.mark.parametrize(
    ("rows", "metrics", "files"),
    [
        (PAPER, ["sine"], ["error-by-h.svg"]),
        (OTHERS, ["sine"], ["error-by-row.svg"]),
        (OTHERS, ["coverage"], ["coverage.svg"]),
        (OTHERS, ["seconds"], []),
    ],
)
def test_there_are_no_empty_figures(rows, metrics, files):
    assert list(draw_figures(summary(rows, metrics))) == files


def test_coverage_of_the_general_trait_may_be_unknown():
    known = summary(OTHERS)
    unknown = (known["target"] == "general") & (known["metric"] == "coverage")
    assert draw_figures(known[~unknown])["coverage.svg"]


def panel(draw, rows, metric):
    axes = mpl.figure.Figure().subplots()
    means = summary(rows)
    draw(axes, means[(means["metric"] == metric) & (means["target"] == "domains")])
    return axes


def test_lines_go_through_the_means():
    axes = panel(lines_by_h, PAPER, "sine")
    means = summary(PAPER)
    line = axes.get_lines()[0]
    own = means[(means["method"] == "accuracy") & (means["metric"] == "sine")]
    own = own[own["target"] == "domains"]
    np.testing.assert_array_equal(line.get_xdata(), own["h"])
    np.testing.assert_array_equal(line.get_ydata(), own["mean"])
    assert axes.get_legend_handles_labels()[1] == ["accuracy", "marginal"]


def test_rows_are_named_and_the_nominal_coverage_drawn():
    axes = panel(points_by_row, OTHERS, "coverage")
    assert [label.get_text() for label in axes.get_xticklabels()] == ["noise", "random"]
    assert list(axes.get_lines()[0].get_ydata()) == [NOMINAL, NOMINAL]
