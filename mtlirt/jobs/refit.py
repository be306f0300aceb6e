"""A refit: the responses of a store fitted, and the fit published."""

from __future__ import annotations

import time
from dataclasses import dataclass, replace

from pydantic import JsonValue

from mtlirt.cluster.launch import ClusterOptions, open_client
from mtlirt.diagnostics.clones import deweight_clones
from mtlirt.engine.events import Listener, ResumeEvent
from mtlirt.engine.fit import fit_by
from mtlirt.engine.options import HIERARCHICAL, FitOptions
from mtlirt.errors import InputError
from mtlirt.jobs.checkpoint import Checkpoint
from mtlirt.responses.store import open_responses
from mtlirt.result import Fit
from mtlirt.snapshots.load import load
from mtlirt.snapshots.publish import publish, snapshot_root
from mtlirt.storage.root import open_version


@dataclass(frozen=True)
class Refit:
    """A refit that is done.

    Attributes
    ----------
    fitted
        The fit.
    responses, responses_version
        What was fitted.
    snapshots, version
        Where it was published.
    seconds
        How long it all took.
    """

    fitted: Fit
    responses: str
    responses_version: int
    snapshots: str
    version: int
    seconds: float


def refit(
    responses: str,
    snapshots: str,
    options: FitOptions,
    cluster: ClusterOptions,
    listener: Listener,
    resume: bool = False,
    warm: bool = False,
    anchor: int | None = None,
    deweight: bool = False,
) -> Refit:
    """Fit the responses of a store and publish the fit.

    Where the fit stands is kept beside the snapshots until it is published; see
    `mtlirt.engine.fit.fit_by` for how often.

    Parameters
    ----------
    responses
        A response store: URL or ``URL@VERSION``, else its latest version as of now.
    snapshots
        Where to publish: a URL without a version.
    options, cluster
        How to fit, and where the work runs.
    listener
        Called after every round.
    resume
        Go on where an earlier run of this fit was broken off, if it was; it ends as that one
        would have.
    warm
        Start from the latest snapshot there, if there is one.
    anchor
        Put the fit on the scale of this version of the snapshots.
    deweight
        Fit twice: the second time a group of models that answered alike counts as one.

    Raises
    ------
    InputError
        If an option, a URL or the responses are not fit for it; before any work where it can be
        known.
    StorageError, ClusterError
        If a store is out of reach or damaged, or a cluster is out of reach or lost. Nothing is
        published then.
    """
    began = time.perf_counter()
    if deweight and options.estimator not in HIERARCHICAL:
        raise InputError(
            f"deweight-clones: estimator {options.estimator!r} knows no weights of models; leave "
            f"it out, or take {' or '.join(HIERARCHICAL)}"
        )
    root, manifest = open_version(responses, kind="responses")
    target = snapshot_root(snapshots)
    from_version = max(target.versions(), default=None) if warm else None
    earlier = None if from_version is None else load(snapshots, from_version)
    started: list[JsonValue] = [str(manifest.run_id), from_version]
    scale = None if anchor is None else load(snapshots, anchor)
    stages = [started, [*started, "deweighted"]] if deweight else [started]
    checkpoints = [Checkpoint.of(target, stage, options) for stage in stages]
    with open_client(cluster) as client:
        threads = cluster.threads if client is None else None
        here = replace(options, threads=threads, memory_limit=cluster.memory_limit)
        read = open_responses(root.url, manifest.version)
        for checkpoint in checkpoints:
            last = checkpoint is checkpoints[-1]
            kept = checkpoint.load() if resume else None
            if resume:
                listener(ResumeEvent(None if kept is None else len(kept.get("history", ()))))
            fitted = fit_by(
                read,
                here,
                client,
                listener,
                earlier,
                scale if last else None,
                kept=kept,
                keep=checkpoint.save,
            )
            if not last:
                read = deweight_clones(fitted, read)
    inputs: dict[str, JsonValue] = {
        "responses": root.location,
        "version": manifest.version,
        "run_id": str(manifest.run_id),
    }
    if from_version is not None:
        inputs["warm_start"] = from_version
    if anchor is not None:
        inputs["anchor"] = anchor
    if deweight:
        inputs["deweight_clones"] = True
    version = publish(fitted, snapshots, inputs=inputs)
    for checkpoint in checkpoints:
        checkpoint.remove()
    seconds = time.perf_counter() - began
    return Refit(fitted, root.location, manifest.version, snapshots, version, seconds)
