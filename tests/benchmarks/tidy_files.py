"""A complete tidy table in random order, written row group after row group.

``python tidy_files.py FOLDER MODELS ITEMS DOMAINS FILES`` writes it.
"""

import hashlib
import sys
from pathlib import Path

import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq

ROW_GROUP = 1 << 20


def write_tidy_files(folder, models, items, domains, files, seed=1):
    """Write Parquet files of plain strings and 0/1, as pyarrow writes them by default."""
    rng = np.random.default_rng(seed)
    model_ids = [f"org-{k % 17}/model-name-{k:04d}" for k in range(models)]
    names = [f"subject-of-domain-{k:02d}" for k in range(domains)]
    owners = np.sort(np.append(np.arange(domains), rng.integers(0, domains, items - domains)))
    item_ids = [
        f"{names[owner]}/{hashlib.sha1(str(k).encode()).hexdigest()[:12]}-{k:05d}"
        for k, owner in enumerate(owners)
    ]
    model_ids, names, item_ids = (pa.array(ids) for ids in (model_ids, names, item_ids))
    cells = rng.permutation(np.arange(models * items, dtype=np.int32))
    for number, part in enumerate(np.array_split(cells, files)):
        with pq.ParquetWriter(Path(folder) / f"part-{number}.parquet", _schema()) as writer:
            for begin in range(0, len(part), ROW_GROUP):
                model, item = np.divmod(part[begin : begin + ROW_GROUP], items)
                columns = [
                    model_ids.take(pa.array(model)),
                    item_ids.take(pa.array(item)),
                    names.take(pa.array(owners[item])),
                    pa.array(rng.integers(0, 2, len(model))),
                ]
                writer.write_table(pa.table(columns, schema=_schema()), row_group_size=ROW_GROUP)


def _schema():
    text = dict.fromkeys(("model_id", "item_id", "domain"), pa.string())
    return pa.schema(text | {"correct": pa.int64()})


if __name__ == "__main__":
    write_tidy_files(sys.argv[1], *map(int, sys.argv[2:]))
