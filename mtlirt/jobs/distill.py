"""A distillation: a sparse benchmark made from the responses of a store, and published."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass

from pydantic import JsonValue

from mtlirt.cluster.launch import ClusterOptions, open_client
from mtlirt.distill.distil import distill_by
from mtlirt.distill.distilled import Distilled
from mtlirt.distill.options import DistillOptions
from mtlirt.distill.stored import distilled_root, publish_distilled
from mtlirt.responses.store import open_responses
from mtlirt.storage.root import open_version


@dataclass(frozen=True)
class Distillation:
    """A distillation that is done.

    Attributes
    ----------
    distilled
        What it came to.
    options
        What was asked for.
    url, version
        Where it was published.
    """

    distilled: Distilled
    options: DistillOptions
    url: str
    version: int


def distillation(
    responses: str,
    out: str,
    options: DistillOptions,
    cluster: ClusterOptions,
    listener: Callable[[str], None],
) -> Distillation:
    """Distil the responses of a store and publish what it comes to.

    Parameters
    ----------
    responses
        A response store: URL or ``URL@VERSION``, else its latest version as of now.
    out
        Where to publish: a URL without a version.
    options, cluster
        How, and where the work runs.
    listener
        Told what is being done.

    Raises
    ------
    InputError
        If an option, a URL or the responses are not fit for it.
    StorageError, ClusterError
        If a store is out of reach or damaged, or a cluster is out of reach or lost. Nothing is
        published then.
    """
    distilled_root(out)
    root, manifest = open_version(responses, kind="responses")
    read = open_responses(root.url, manifest.version)
    with open_client(cluster) as client:
        threads = cluster.threads if client is None else None
        found = distill_by(read, options, client, threads, listener)
    inputs: dict[str, JsonValue] = {
        "responses": root.location,
        "version": manifest.version,
        "run_id": str(manifest.run_id),
    }
    version = publish_distilled(found, out, inputs=inputs)
    return Distillation(found, options, out, version)
