"""All replications of a study as one table, and what is made of it."""

from __future__ import annotations

from collections.abc import Sequence

import pyarrow as pa

from mtlirt.storage.errors import StorageError
from mtlirt.storage.root import Root
from mtlirt.storage.tables import from_parquet, to_parquet
from mtlirt.studies.figures import draw_figures
from mtlirt.studies.replicate import RESULTS
from mtlirt.studies.summary import summarise
from mtlirt.studies.table import markdown


def collect(root: Root, names: Sequence[str]) -> list[str]:
    """Make the tables and figures of a study from the files of its replications.

    Returns
    -------
    list of str
        The names of the files made, in the root; the same bytes from the same replications.
    """
    results = pa.concat_tables([read_table(root, name, RESULTS) for name in names])
    frame = results.to_pandas()
    summary = summarise(frame)
    files = {
        "results.parquet": to_parquet(results),
        "summary.parquet": to_parquet(pa.Table.from_pandas(summary, preserve_index=False)),
        "table.md": markdown(frame, summary).encode(),
        **draw_figures(summary),
    }
    for name, content in files.items():
        root.put(name, content)
    return list(files)


def read_table(root: Root, name: str, schema: pa.Schema) -> pa.Table:
    """The results of one part of a study."""
    try:
        table = from_parquet(root.read_bytes(name))
    except pa.ArrowInvalid as error:
        raise StorageError(
            f"{root.url}: {name}: is damaged: {error}; remove it, run again"
        ) from None
    if not table.schema.equals(schema):
        raise StorageError(
            f"{root.url}: {name}: has other columns than results have; remove it, run again"
        )
    return table
