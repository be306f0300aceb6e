"""The report of real results names what is known to be odd in them."""

from pathlib import Path

import numpy as np
import pandas as pd
import pytest

from mtlirt.cli.app import run
from mtlirt.responses.store import open_responses

pytestmark = [pytest.mark.data, pytest.mark.slow]

DATA = Path(__file__).parents[3] / "shared" / "data"


def findings_of(name, folder, data_of):
    """What the report of a folder of real results lists, and the responses."""
    if not (DATA / name).exists():
        pytest.skip("../shared/data is absent")
    store, snapshots = str(folder / "store"), str(folder / "snapshots")
    out = folder / "report.html"
    assert run(["ingest", str(DATA / name / "responses.parquet"), "--out", store]) == 0
    assert run(["fit", store, "--snapshots", snapshots]) == 0
    assert run(["report", snapshots, "--out", str(out), "--responses", store]) == 0
    given = data_of(out.read_text())["given"]
    table = pd.DataFrame(
        {
            "kind": np.array(given["kind"]["names"])[given["kind"]["codes"]],
            "domain": np.array(given["domain"]["names"])[given["domain"]["codes"]],
            "id": given["id"],
        }
    )
    return table, open_responses(store)


def item_rest_correlations(values):
    """Of each item with the successes on the others, over the models that took the domain."""
    taken = values[(values >= 0).any(axis=1)]
    right = np.maximum(taken, 0).astype(float)
    total = right.sum(axis=1)
    out = []
    for j in range(taken.shape[1]):
        answered = taken[:, j] >= 0
        rest = (total - right[:, j])[answered]
        own = right[answered, j]
        out.append(np.corrcoef(own, rest)[0, 1] if own.std() > 0 else 0.0)
    return np.array(out)


def test_openllm_v1(tmp_path, data_of):
    found, responses = findings_of("openllm_v1", tmp_path, data_of)
    turned = found[found["kind"].isin(["negative", "miskeyed"])]
    clones = found.query("kind == 'clone'")
    for domain, known in {"arc": 28, "winogrande": 33}.items():
        named = set(turned.query("domain == @domain")["id"])
        correlation = item_rest_correlations(np.asarray(responses.domains[domain].array))
        ids = responses.item_ids(domain)
        clear = set(ids[correlation < -0.05])
        assert len(clear) >= 15
        assert len(clear & named) >= 0.85 * len(clear)
        assert len(named & set(ids[correlation > 0.05])) <= 0.15 * len(named)
        assert abs(len(named) - known) <= 3  # the source counts so many by item-rest correlation
    whole = pd.DataFrame(
        np.hstack([np.asarray(part.array) for part in responses.domains.values()]),
        responses.models.index,
    )
    copies = whole.index[whole.duplicated(keep=False)]
    assert whole.duplicated().sum() == 76  # the source counts so many exact repeats
    assert len(clones) == 2000  # all are counted, so many of a kind are listed
    assert len(copies) > 100


def test_mmlu_pro(tmp_path, data_of):
    found, responses = findings_of("mmlu_pro", tmp_path, data_of)
    kinds = found["kind"].value_counts()
    assert kinds["constant"] == 236 + 640
    negative = found.query("kind == 'negative'")
    assert len(negative) > 0
    for domain, ids in negative.groupby("domain")["id"]:
        correlation = item_rest_correlations(np.asarray(responses.domains[domain].array))
        assert (correlation[responses.item_ids(domain).get_indexer(ids)] < 0.0).all()
    few = set(found.query("kind == 'few'")["id"])
    assert any("deepseek" in model.lower() for model in few) == (len(few) > 0)
