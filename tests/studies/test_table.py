"""Means, Monte Carlo errors and the table on a frame small enough to check by hand."""

import numpy as np
import pandas as pd
import pytest

from mtlirt.studies.summary import means_of, summarise
from mtlirt.studies.table import markdown, number

FIT = ("fit", "failed", 0.0), ("fit", "converged", 1.0)
COLUMNS = ["row", "h", "replication", "method", "target", "metric", "value", "message"]


def frame():
    """Two rows, three replications: a method with intervals, one that fails at times."""
    records = []

    def add(row, h, replication, method, *measured):
        for target, metric, value, *message in measured:
            told = message[0] if message else None
            records.append((row, h, replication, method, target, metric, value, told))

    for k, (sine, general) in enumerate([(0.1, 0.05), (0.2, 0.06), (0.3, 0.10)]):
        add(
            "paper-0.10", 0.1, k, "marginal", *FIT,
            ("fit", "seconds", 1.0 + k),
            ("general", "sine", general),
            ("domains", "sine", sine), ("domains", "coverage", 0.9 + 0.05 * k),
        )  # fmt: skip
        if k == 1:
            add("paper-0.10", 0.1, k, "local", ("fit", "failed", 1.0, "InputError: too few"))
        else:
            add("paper-0.10", 0.1, k, "local", FIT[0], ("fit", "converged", 0.0),
                ("domains", "sine", 0.5), ("general", "sine", 0.25))  # fmt: skip
        add("random", np.nan, k, "marginal", *FIT, ("domains", "sine", 0.4))
        add("random", np.nan, k, "local", ("fit", "failed", 1.0, f"InputError: number {k % 2}"))
    return pd.DataFrame(records, columns=COLUMNS).sort_values("row", kind="stable")


def test_means_and_errors_over_replications():
    summary = summarise(frame())
    assert list(summary) == [
        "row", "h", "method", "target", "metric", "mean", "error", "replications"
    ]  # fmt: skip
    sines = means_of(summary, "domains", "sine")
    assert sines["paper-0.10", "marginal"] == pytest.approx((0.2, 0.1 / np.sqrt(3), 3))
    assert sines["paper-0.10", "local"] == pytest.approx((0.5, 0.0, 2))
    assert sines["random", "marginal"] == pytest.approx((0.4, 0.0, 3))
    assert ("random", "local") not in sines
    assert means_of(summary, "fit", "failed")["paper-0.10", "local"].mean == pytest.approx(1 / 3)
    assert summary.loc[summary["row"] == "random", "h"].isna().all()


def test_a_single_replication_has_no_error():
    results = frame()
    summary = summarise(results[results["replication"] == 0])
    (mean, error, count) = means_of(summary, "domains", "sine")["paper-0.10", "marginal"]
    assert (mean, count) == (0.1, 1)
    assert np.isnan(error)
    assert "| paper-0.10 | .100 [.050] |" in markdown(results[results["replication"] == 0], summary)


def test_the_table():
    results = frame()
    text = markdown(results, summarise(results))
    titles = [line for line in text.splitlines() if line.startswith("#")]
    assert titles == [
        "# Simulation study",
        "## Mean sine error of theta_t [theta_G] over 3 replications",
        "## Mean Spearman correlation with the true theta_t [theta_G]",
        "## Coverage of 95 % intervals of theta_t [theta_G]",
        "## Seconds a fit",
        "## Failures",
    ]
    sines = text.split("##")[1].strip().splitlines()[2:]
    # error of the general trait: sd of .05 .06 .10 is .02646, over sqrt 3 .0153
    assert sines == [
        "| row | marginal | local |",
        "| --- | --- | --- |",
        "| paper-0.10 | .200 (.058) [.070 (.015)] | .500 (.000) [.250 (.000)], 1 failed |",
        "| random | .400 (.000) | all 3 failed |",
    ]
    coverage = text.split("##")[3]
    assert "| paper-0.10 | .950 (.029) | -, 1 failed |" in coverage
    seconds = text.split("##")[4]
    assert "| paper-0.10 | 2.00 (.58) | -, 1 failed |" in seconds
    assert text.split("## Failures\n\n")[1].splitlines() == [
        "* paper-0.10, local: 1 failed: InputError: too few",
        "* random, local: 2 failed: InputError: number 0",
        "* random, local: 1 failed: InputError: number 1",
        "* paper-0.10, local: 2 did not converge",
    ]


def test_without_failures_it_says_so():
    results = frame()
    good = results[results["method"] == "marginal"]
    assert markdown(good, summarise(good)).endswith("## Failures\n\nNone.\n")


@pytest.mark.parametrize(
    ("value", "text"), [(0.1234, ".123"), (-0.5, "-.500"), (10.5, "10.500"), (0.9996, "1.000")]
)
def test_numbers(value, text):
    assert number(value, 3) == text
