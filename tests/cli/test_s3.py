"""From results in S3 to scores, all of it there, on a cluster whose workers read S3 themselves."""

import json

import pandas as pd
import pytest
import s3fs

from mtlirt.cli.app import run
from mtlirt.responses import load as loading
from mtlirt.responses.store import open_responses
from mtlirt.snapshots.load import load


@pytest.fixture
def results(bucket, store):
    """The responses of `store` as a tidy table in S3, and those of two of its models."""
    responses = open_responses(store)
    rows = []
    for domain, part in responses.domains.items():
        cells = pd.DataFrame(
            part.array.compute(), responses.models.index, responses.item_ids(domain)
        )
        rows.append(cells.stack().rename("correct").reset_index().assign(domain=domain))
    tidy = pd.concat(rows).query("correct >= 0")
    filesystem = s3fs.S3FileSystem(skip_instance_cache=True)
    for name, part in {"all": tidy, "few": tidy[tidy["model_id"].isin(["m00", "m05"])]}.items():
        filesystem.pipe_file(f"{bucket}/raw/{name}.parquet", part.to_parquet())
    return bucket


def test_everything_in_s3(results, s3_access, monkeypatch, capfd, tmp_path):
    store, snapshots = f"{results}/a/responses", f"{results}/b/snapshots"
    assert run(["ingest", f"{results}/raw/all.parquet", "--out", store]) == 0

    def read_here(*_):
        raise AssertionError("a block was read in the client's process")

    with monkeypatch.context() as patch:
        patch.setattr(loading, "decode_chunk", read_here)
        options = ["--workers", "2", "--rank", "1", "--snapshots", snapshots]
        assert run(["fit", store, *options]) == 0
    assert run(["snapshots", "verify", snapshots]) == 0
    assert run(["snapshots", "list", snapshots, "--json"]) == 0
    assert run(["snapshots", "show", f"{snapshots}@1"]) == 0
    assert run(["leaderboard", f"{snapshots}@1", "--top", "3"]) == 0

    new = f"{results}/new"
    few = ["ingest", f"{results}/raw/few.parquet", "--out", new, "--poor-domains", "keep"]
    assert run(few) == 0
    out = tmp_path / "scores.parquet"
    assert run(["score", new, "--snapshots", snapshots, "--out", str(out)]) == 0
    scores = pd.read_parquet(out).query("model_id == 'm05'").set_index("domain")["mean"]
    published = load(snapshots).traits.loc["m05", "mean"]
    assert scores.loc[published.index].to_numpy() == pytest.approx(published.to_numpy(), abs=1e-8)

    told = capfd.readouterr()
    secret = s3_access["AWS_SECRET_ACCESS_KEY"]
    assert secret not in told.out + told.err
    filesystem = s3fs.S3FileSystem(skip_instance_cache=True)
    files = filesystem.find(results)
    assert len([name for name in files if "/manifests/" in name]) == 3
    assert not [name for name in files if secret.encode() in filesystem.cat_file(name)]
    manifest = json.loads(filesystem.cat_file(f"{snapshots}/manifests/000000000001.json"))
    assert manifest["info"]["inputs"]["responses"] == store
