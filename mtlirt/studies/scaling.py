"""Measure how the time of a fit grows, with size and with cores, and fit a model of its costs."""

from __future__ import annotations

from collections.abc import Callable
from itertools import groupby

import pyarrow as pa

from mtlirt.cluster.launch import ClusterOptions, open_client
from mtlirt.storage.root import Root, open_root
from mtlirt.storage.tables import to_parquet
from mtlirt.studies.collect import read_table
from mtlirt.studies.scaling_costs import best_turns, cost_table, fit_costs, goodness, projection
from mtlirt.studies.scaling_figures import draw_scaling
from mtlirt.studies.scaling_measure import MEASUREMENTS, measure
from mtlirt.studies.scaling_options import TARGETS, ScalingOptions
from mtlirt.studies.scaling_runs import Run
from mtlirt.studies.scaling_table import scaling_markdown
from mtlirt.studies.study import Progress, claim

RUNS = "runs"


def run_scaling(
    url: str, options: ScalingOptions, listener: Callable[[Progress], None]
) -> list[str]:
    """Run what is missing of a scaling study in a folder, then collect it.

    Runs are one after the other, so that none slows another down, and each is written when it is
    done. Parameters, errors and what is returned are those of `mtlirt.studies.study.run_study`;
    the workers are this machine's, started for the runs that ask for them.
    """
    root = open_root(url)
    claim(root, options)
    written = set(root.names(RUNS))
    runs = options.runs
    missing = [run for run in runs if file_name(run) not in written]
    done = len(runs) - len(missing)
    listener(Progress(done, len(runs), ""))
    for workers, group in groupby(sorted(missing, key=workers_of), workers_of):
        place = ClusterOptions(workers=workers or None, threads=1 if workers else None)
        with open_client(place) as client:
            for run in group:
                table = measure(run, options.rounds, options.turns, options.seed, client)
                root.put(f"{RUNS}/{file_name(run)}", to_parquet(table))
                done += 1
                listener(Progress(done, len(runs), run.name))
    return collect_scaling(root, options)


def workers_of(run: Run) -> int:
    """The worker processes of a run."""
    return run.place.workers


def file_name(run: Run) -> str:
    """Where the measurements of a run are, in the folder of all."""
    return f"{run.name}.parquet"


def collect_scaling(root: Root, options: ScalingOptions) -> list[str]:
    """Make the tables and figures of a study from the files of its runs; their names."""
    parts = [read_table(root, f"{RUNS}/{file_name(run)}", MEASUREMENTS) for run in options.runs]
    measurements = pa.concat_tables(parts)
    measured = best_turns(measurements.to_pandas())
    model = fit_costs(measured)
    costs, fitting = cost_table(model), goodness(measured, model)
    projections = [(target, projection(model, target)) for target in TARGETS]
    files = {
        "measurements.parquet": to_parquet(measurements),
        "costs.parquet": to_parquet(pa.Table.from_pandas(costs, preserve_index=False)),
        "table.md": scaling_markdown(
            options.groups, measured, model, costs, fitting, projections
        ).encode(),
        **draw_scaling(options.groups, measured, model),
    }
    for name, content in files.items():
        root.put(name, content)
    return list(files)
