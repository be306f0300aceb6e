"""Add files to a store: a new version that takes over what does not change."""

from __future__ import annotations

import os
from collections.abc import Mapping, Sequence
from typing import Any

from mtlirt.ingest.files import ingest
from mtlirt.ingest.report import IngestReport
from mtlirt.ingest.stored import Before
from mtlirt.responses.append import append_version
from mtlirt.responses.growth import GrownResponses
from mtlirt.responses.store import open_stored


def append(
    sources: Sequence[str | os.PathLike[str]],
    store: str | os.PathLike[str],
    history: Mapping[str, Any],
    **options: Any,
) -> tuple[int | None, IngestReport]:
    """Add what files hold to the latest version of a store.

    The new version is what reading all files at once would have given, those of the store first,
    but that models and items of the store stay where they are and new ones follow. Only chunks of
    arrays that change are written. Files whose content the store has are passed over.

    Parameters
    ----------
    sources, options
        As for `mtlirt.ingest.files.ingest`.
    store
        A local path or URL, with a version.
    history
        What else the history of the version is to say, as JSON.

    Returns
    -------
    version, report
        The new version, None where the files hold nothing that is new; and what was read.

    Raises
    ------
    InputError
        As for `mtlirt.ingest.files.ingest`; or there is no store.
    StorageError
        If another version was written meanwhile.
    """
    stored = open_stored(store)
    grown, report = ingest(sources, before=Before.of(stored), **options)
    assert isinstance(grown, GrownResponses)
    old = stored.responses
    if not report.taken and grown.models.equals(old.models) and grown.items.equals(old.items):
        return None, report
    return append_version(grown, {**history, "report": report.to_dict()}), report
