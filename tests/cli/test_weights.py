"""``--deweight-clones``, and weights in the model table."""

import json

import numpy as np
import pandas as pd
import pytest

import mtlirt
from mtlirt.cli.app import run

MODELS, CLONES = 40, 60
THREADS = ["--threads", "1"]


@pytest.fixture(scope="module")
def stores(tmp_path_factory):
    """A store of models, and one with many copies of the first besides."""
    folder = tmp_path_factory.mktemp("weights")
    rng = np.random.default_rng(6)
    factor, parts = rng.normal(size=MODELS), []
    for domain, items in {"algebra": 30, "law": 25, "physics": 35}.items():
        trait = 0.8 * factor + 0.6 * rng.normal(size=MODELS)
        logits = np.outer(trait, rng.uniform(0.5, 2.0, items)) + rng.normal(size=items)
        right = (rng.random(logits.shape) < 1.0 / (1.0 + np.exp(-logits))).astype(int)
        ids = [f"{domain}-{j}" for j in range(items)]
        table = pd.DataFrame(right, [f"m{i:02d}" for i in range(MODELS)], ids)
        parts.append(table.rename_axis("model_id").melt(ignore_index=False, var_name="item_id"))
        parts[-1]["domain"] = domain
    tidy = pd.concat(parts).reset_index().rename(columns={"value": "correct"})
    first = tidy.query("model_id == 'm00'")
    copies = [first.assign(model_id=f"copy{k:02d}") for k in range(CLONES)]
    urls = []
    for name, frame in (("few", tidy), ("many", pd.concat([tidy, *copies]))):
        frame.to_parquet(folder / f"{name}.parquet", index=False)
        urls.append(str(folder / name))
        assert run(["ingest", str(folder / f"{name}.parquet"), "--out", urls[-1]]) == 0
    return urls


def items_of(url):
    return mtlirt.load(url).items[["slope", "intercept", "slope_se", "intercept_se"]]


def test_a_group_counts_as_one_model(stores, tmp_path, capsys):
    few, many = stores
    plain, light = str(tmp_path / "plain"), str(tmp_path / "light")
    assert run(["fit", few, "--snapshots", plain, *THREADS]) == 0
    capsys.readouterr()
    assert run(["fit", many, "--snapshots", light, "--deweight-clones", *THREADS]) == 0
    told = capsys.readouterr().out
    assert "61 of 100 models have a weight other than 1; all count as 40" in told
    pd.testing.assert_frame_equal(items_of(light), items_of(plain), rtol=1e-6, atol=1e-6)
    weight = mtlirt.load(light).models["weight"]
    assert weight["m00"] == weight["copy07"] == pytest.approx(1 / 61)
    assert weight["m01"] == 1.0
    assert run(["snapshots", "show", light, "--json"]) == 0
    assert json.loads(capsys.readouterr().out)["inputs"]["deweight_clones"] is True


def test_a_job_file_and_resume_end_alike(stores, tmp_path, capsys):
    _, many = stores
    url = str(tmp_path / "snapshots")
    job = tmp_path / "job.toml"
    job.write_text(
        f'kind = "refit"\n[responses]\nurl = "{many}"\ndeweight_clones = true\n'
        f'[cluster]\nthreads = 1\n[snapshots]\nurl = "{url}"\n'
    )
    assert run(["run", str(job)]) == 0
    first = items_of(url)
    assert run(["run", str(job), "--resume"]) == 0
    pd.testing.assert_frame_equal(items_of(url), first, check_exact=True)
    assert not list((tmp_path / "snapshots").glob("checkpoints/*/*"))


def test_weights_come_with_the_model_table(stores, tmp_path, capsys):
    few, many = stores
    table = tmp_path / "models.csv"
    lines = [f"copy{k:02d},0" for k in range(CLONES)] + ["m00,1", "m01,"]
    table.write_text("\n".join(["model_id,weight", *lines]) + "\n")
    plain, light = str(tmp_path / "plain"), str(tmp_path / "light")
    store = str(tmp_path / "store")
    assert run(["ingest", f"{many}.parquet", "--models", str(table), "--out", store]) == 0
    assert run(["fit", few, "--snapshots", plain, *THREADS]) == 0
    assert run(["fit", store, "--snapshots", light, *THREADS]) == 0
    assert "60 of 100 models have a weight other than 1; all count as 40" in capsys.readouterr().out
    pd.testing.assert_frame_equal(items_of(light), items_of(plain), rtol=1e-6, atol=1e-6)


def test_other_estimators_refuse(stores, tmp_path, capsys):
    few, _ = stores
    place = str(tmp_path / "snapshots")
    options = ["--snapshots", place, "--estimator", "local", "--deweight-clones"]
    assert run(["fit", few, *options]) == 2
    (line,) = capsys.readouterr().err.splitlines()
    assert "'local' knows no weights of models" in line
    assert not (tmp_path / "snapshots").exists()
