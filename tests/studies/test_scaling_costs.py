"""The cost model finds costs that are known; projections by hand; what the tables say."""

import numpy as np
import pandas as pd
import pytest

from mtlirt.studies.scaling_costs import (
    COLUMNS,
    PARTS,
    TERMS,
    CostModel,
    Work,
    best_turns,
    compared,
    cost_table,
    counts,
    fit_costs,
    goodness,
    projection,
)
from mtlirt.studies.scaling_options import TARGETS, ScalingOptions, Target
from mtlirt.studies.scaling_runs import Size
from mtlirt.studies.scaling_table import PROJECTED, scaling_markdown

TRUTH = {
    "domain steps": np.array([2e-10, 4e-10, 5e-9, 3e-9, 2e-8, 1e-3, 2e-3]),
    "shared steps": np.array([2e-7, 1e-3]),
    "rest": np.array([1e-9, 1e-9, 1e-6, 1e-5, 2e-2, 1e-1]),
}
"""Seconds of the operations of `TERMS`, about those of a machine."""


def runs():
    """The runs of a study at full size: their numbers, without seconds."""
    options = ScalingOptions(workers=(1, 2, 4), threads=(1, 2, 4))
    rows = [
        {
            "run": run.name,
            **{name: getattr(run.size, name) for name in ("models", "items", "domains", "missing")},
            "workers": run.place.workers,
            "threads": run.place.threads,
            "rounds": 4,
            "floor_seconds": run.size.cells * 1e-10 / run.place.lanes,
        }
        for run in options.runs
    ]
    return options, pd.DataFrame(rows)


def simulated(noise=0.0, truth=TRUTH):
    """Measurements that cost what the truth says, but for a relative error."""
    options, frame = runs()
    rng = np.random.default_rng(0)
    work = Work.of(frame)
    for part, seconds in CostModel(truth).predict(work).items():
        frame[COLUMNS[part]] = seconds * np.exp(noise * rng.standard_normal(len(frame)))
    return options, frame.assign(seconds=frame[list(COLUMNS.values())].sum(axis=1))


def test_known_costs_are_found():
    _, measured = simulated()
    found = fit_costs(measured)
    for part in PARTS:
        assert found.seconds[part] == pytest.approx(TRUTH[part], rel=1e-6)
    for told in goodness(measured, found).values():
        assert told.explained == pytest.approx(1.0)
        assert max(told.typical, told.largest, told.left_out) < 1e-6


def test_noise_moves_the_whole_little():
    _, measured = simulated(noise=0.05)
    found = fit_costs(measured)
    told, meant = found.total(Work.of(measured)), CostModel(TRUTH).total(Work.of(measured))
    assert told == pytest.approx(meant, rel=0.08)
    fits = goodness(measured, found)["all"]
    assert 0.98 < fits.explained < 1
    assert 0.01 < fits.typical < 0.06
    assert fits.typical < fits.left_out < 0.1


def test_costs_are_never_negative_and_those_never_met_are_none():
    truth = TRUTH | {"shared steps": np.array([2e-7, 0.0])}
    _, measured = simulated(noise=0.2, truth=truth)
    alone = measured[measured["workers"] == 0].reset_index(drop=True)
    found = fit_costs(alone)
    assert min(found.seconds[part].min() for part in PARTS) >= 0
    for part in PARTS:
        for term, seconds in zip(TERMS[part], found.seconds[part], strict=True):
            if term.name.startswith("workers:"):
                assert seconds == 0


def test_operations_by_hand():
    work = Work(*(np.array([float(n)]) for n in (1000, 25, 8, 0, 2, 1, 3)))
    # 3 rounds of 2 updates; 200,000 cells, 8,000 traits and 200 items on 2 lanes
    assert counts(work, "domain steps")[0] == pytest.approx(
        [
            2 * 6 * 200_000 / 2,
            0,
            20 * 6 * 8000 / 2,
            6 * 200 * 40 / 2,  # 8 sqrt(25) grid points
            3 * 8000,
            3 * 2,
            3,
        ]
    )
    assert counts(work, "shared steps")[0] == pytest.approx([3 * 8000, 3])
    assert counts(work, "rest")[0] == pytest.approx([100_000, 0, 8000, 200, 1, 1])


def test_operations_where_cells_are_missing_and_there_is_no_cluster():
    work = Work(*(np.array([float(n)]) for n in (1000, 25, 8, 0.2, 0, 4, 3)))
    found = counts(work, "domain steps")[0]
    assert found[:2] == pytest.approx([0, 20 * 6 * 200_000 / 4])
    assert found[4:6] == pytest.approx([0, 0])
    assert counts(work, "rest")[0] == pytest.approx([50_000, 20 * 50_000, 8000, 200, 1, 0])


def test_a_projection_by_hand():
    target = Target(Size(models=100_000, items=1600, domains=500), workers=50, rounds=5)
    found = projection(CostModel(TRUTH), target).set_index(["part", "term"])["seconds"]
    domain = found["domain steps"]
    # 8e10 cells, 5e7 traits, 8e5 items, 320 grid points, 10 updates, 50 lanes
    assert domain["passes x cells / lanes"] == pytest.approx(2 * 10 * 8e10 / 50 * 2e-10)
    assert domain["models x domains x nodes / lanes"] == pytest.approx(20 * 10 * 5e7 / 50 * 5e-9)
    assert domain["items x grid points / lanes"] == pytest.approx(10 * 8e5 * 320 / 50 * 3e-9)
    assert domain["workers: models x domains sent"] == pytest.approx(5 * 5e7 * 2e-8)
    assert domain["workers: tasks"] == pytest.approx(5 * 50 * 1e-3)
    assert found["shared steps", "models x domains"] == pytest.approx(5 * 5e7 * 2e-7)
    assert found["rest", "models x domains"] == pytest.approx(5e7 * 1e-6)
    assert found["rest", "cells read / lanes"] == pytest.approx(8e10 / 50 * 1e-9)
    assert found.sum() == pytest.approx(float(CostModel(TRUTH).total(Work.to_do(target))[0]))


def test_the_targets_are_a_hundred_thousand_models_and_a_million_items():
    for target in TARGETS:
        assert (target.size.models, target.size.items * target.size.domains) == (10**5, 10**6)
        assert target.workers == 100


def test_the_fastest_turn_counts():
    _, frame = simulated()
    slow = frame.assign(seconds=frame["seconds"] + 1)
    found = best_turns(pd.concat([slow, frame.drop(columns="rest_seconds")]))
    assert list(found["run"]) == list(frame["run"])
    assert found["rest_seconds"].to_numpy() == pytest.approx(frame["rest_seconds"].to_numpy())


def test_goodness_by_hand():
    actual, told = np.array([1.0, 2.0, 4.0]), np.array([1.1, 2.0, 2.0])
    found = compared(actual, told, np.array([2.0, 2.0, 4.8]))
    log = np.log(2)
    assert found.explained == pytest.approx(1 - (np.log(1.1) ** 2 + log**2) / (2 * log**2))
    assert (found.typical, found.largest, found.left_out) == pytest.approx((0.1, 0.5, 0.2))


def table_of(options, measured):
    model = fit_costs(measured)
    target = Target(Size(models=100_000, items=1000, domains=1000), workers=100, rounds=10)
    return scaling_markdown(
        options.groups,
        measured,
        model,
        cost_table(model),
        goodness(measured, model),
        [(target, projection(model, target))],
    )


def section(text, heading):
    return next(part for part in text.split("\n## ") if part.startswith(heading)).splitlines()


def test_projections_are_labelled_as_such():
    options, measured = simulated()
    text = table_of(options, measured)
    (heading, _, label, *_, last) = section(text, "Projection")
    assert heading == (
        "Projection: 100,000 models x 1,000,000 items in 1,000 domains, complete, 10 rounds on "
        "100 workers"
    )
    assert label == PROJECTED
    assert label.startswith("**A projection, not a measurement**")
    assert last == "Responses on each worker: 1.0 GB."
    total = projection(CostModel(TRUTH), TARGETS[0])["seconds"].sum()
    assert f"| all |  | {total:,.0f} |" in text


def test_speed_up_and_efficiency():
    options, measured = simulated()
    rows = measured.set_index("run")
    strong = [run.name for run in options.groups["strong, threads"]]
    weak = [run.name for run in options.groups["weak, threads"]]
    rows.loc[[*strong, *weak], "seconds"] = [8.0, 5.0, 4.0, 8.0, 10.0, 16.0]
    text = table_of(options, rows.reset_index())
    ends = {
        kind: [line.split(" | ")[-2:] for line in section(text, kind)[4:]]
        for kind in ("Strong scaling over threads", "Weak scaling over threads")
    }
    assert ends["Strong scaling over threads"] == [
        ["1.00", "100% |"], ["1.60", "80% |"], ["2.00", "50% |"]
    ]  # fmt: skip
    assert ends["Weak scaling over threads"] == [
        ["1.00", "100% |"], ["1.60", "80% |"], ["2.00", "50% |"]
    ]  # fmt: skip


def test_costs_stand_beside_a_plain_read():
    options, measured = simulated()
    told = section(table_of(options, measured), "What one operation costs")
    assert "| domain steps | passes x cells / lanes | 0.2 |" in told
    assert told[-1] == "A plain read of a cell takes a lane 0.1 nanoseconds."
