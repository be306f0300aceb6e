"""The study of held-out items, on simulated responses."""

import re
import runpy
from pathlib import Path

import dask.array as da
import numpy as np
import pytest
from scipy.stats import spearmanr

from mtlirt.errors import InputError
from mtlirt.responses.arrays import from_arrays
from mtlirt.responses.store import write_responses
from mtlirt.studies.held_out import (
    HELD_OUT_METHODS,
    HeldOutOptions,
    held_out_study,
    held_out_table,
)

PROGRAM = Path(__file__).parents[2] / "jobs" / "held_out_study.py"


@pytest.fixture(scope="module")
def responses():
    """Four domains; of the last 40 of 120 models half lack one, half another."""
    rng = np.random.default_rng(3)
    shared = rng.normal(size=120)
    blocks = {}
    for name in ("mmlu", "arc", "gsm", "other"):
        trait = 0.8 * shared + 0.6 * rng.normal(size=120)
        p = 1 / (1 + np.exp(-(trait[:, None] + rng.normal(0, 0.7, 25))))
        blocks[name] = (rng.random(p.shape) < p).astype(np.int8)
    blocks["arc"][80:100] = -1
    blocks["gsm"][100:] = -1
    return from_arrays({name: da.from_array(block) for name, block in blocks.items()})


FEW = ("accuracy", "marginal")


def test_accuracy_is_correlated_with_the_remaining_items(responses):
    options = HeldOutOptions(items=(8,), splits=2, methods=FEW)
    found = held_out_study(responses, options, None)
    assert len(found) == 2 * 2 * 4
    block = np.asarray(responses.domains["gsm"].array)[:80]
    for split in range(2):
        rng = np.random.default_rng(np.random.SeedSequence([0, 8, split]))
        drawn = [rng.permutation(25)[:8] for _ in range(3)][2]
        rest = np.delete(block, drawn, axis=1).mean(axis=1)
        expected = spearmanr(block[:, drawn].mean(axis=1), rest).statistic
        row = found.query("method == 'accuracy' and domain == 'gsm' and split == @split")
        np.testing.assert_allclose(row["spearman"], expected)
    assert found.query("method == 'marginal'")["spearman"].mean() > 0.5


def test_partial_models_take_the_anchor_and_two_more(responses):
    options = HeldOutOptions(items=(8,), splits=1, models="partial", methods=FEW)
    found = held_out_study(responses, options, None)
    assert len(found) == 2 * 4
    assert found["spearman"].between(0.0, 1.0).all()
    block = np.asarray(responses.domains["arc"].array)[80:]
    drawn = np.random.default_rng(np.random.SeedSequence([0, 8, 0]))
    drawn = [drawn.permutation(25)[:8] for _ in range(2)][1]
    takers = block[20:]  # the models that lack another domain
    rest = np.delete(takers, drawn, axis=1).mean(axis=1)
    expected = spearmanr(takers[:, drawn].mean(axis=1), rest).statistic
    row = found.query("method == 'accuracy' and domain == 'arc'")
    np.testing.assert_allclose(row["spearman"], expected)
    assert set(found["method"]) == {"accuracy", "marginal"}


def test_the_table_shows_means(responses):
    found = held_out_study(responses, HeldOutOptions(items=(5, 8), splits=2, methods=FEW), None)
    lines = held_out_table(found, ["mmlu", "arc", "gsm", "other"]).splitlines()
    assert lines[0] == "| items | method | mmlu | arc | gsm | other |"
    mean = found.query("items == 8 and method == 'marginal' and domain == 'arc'")["spearman"].mean()
    cells = next(line for line in lines if line.startswith("| 8 | marginal")).split(" | ")
    assert cells[3] == f"{mean:.3f}"


@pytest.mark.parametrize(
    ("changes", "message"),
    [
        ({"items": (25,)}, "25 leave none out"),
        ({"items": (0,)}, "expected numbers from 1 up"),
        ({"items": (8, 8)}, "items (8, 8): name each once"),
        ({"methods": ("separate", "separate")}, "name each once"),
        ({"models": "partial", "anchor": "maths"}, "domain 'maths': there is none"),
        ({"models": "partial", "items": (8,), "anchor": "law"}, "domain 'law': there is none"),
    ],
)
def test_what_cannot_be_studied_is_an_error(responses, changes, message):
    with pytest.raises(InputError, match=re.escape(message)):
        held_out_study(responses, HeldOutOptions(**changes), None)


def test_the_program_writes_results_once(responses, tmp_path, capsys):
    write_responses(responses, str(tmp_path / "store"), history={})
    run = runpy.run_path(str(PROGRAM))["run"]
    arguments = [str(tmp_path / "store"), "--out", str(tmp_path / "out"), "--items", "6"]
    arguments += ["--methods", "accuracy,marginal"]
    assert run([*arguments, "--splits", "1"]) == 0
    assert (tmp_path / "out" / "table.md").read_text() == capsys.readouterr().out
    assert run([*arguments, "--splits", "1"]) == 2
    assert "exists already" in capsys.readouterr().err
    assert run([*arguments[:2], "s3://bucket/out", *arguments[3:]]) == 2
    assert "results go to a folder of this machine" in capsys.readouterr().err
    assert run([*arguments[:2], "/proc/out", *arguments[3:], "--splits", "1"]) == 1
    assert "/proc/out" in capsys.readouterr().err
    assert run(["nowhere", "--out", str(tmp_path / "other")]) == 2
    assert run([arguments[0], "--out", str(tmp_path / "other"), "--methods", "pool"]) == 2
    assert "method 'pool': there is none; known are accuracy" in capsys.readouterr().err
    assert run([arguments[0], "--out", str(tmp_path / "other"), "--items", "6,x"]) == 2
    assert capsys.readouterr().err.endswith("items '6,x': expected whole numbers, by commas\n")
    assert run([*arguments[:2], str(tmp_path / "other"), "--items", "25"]) == 2
    assert "25 leave none out" in capsys.readouterr().err
    assert not (tmp_path / "other").exists()
    (tmp_path / "empty").mkdir()
    assert run([*arguments[:2], str(tmp_path / "empty"), "--items", "25"]) == 2
    assert not any((tmp_path / "empty").iterdir())


def test_joint_needs_complete_models(responses):
    assert HeldOutOptions().asked == tuple(HELD_OUT_METHODS)
    assert set(HELD_OUT_METHODS) - set(HeldOutOptions(models="partial").asked) == {"joint"}
    with pytest.raises(InputError, match=r"method 'joint' needs every model in every domain"):
        HeldOutOptions(models="partial", methods=("joint",))


@pytest.mark.parametrize(
    ("asked", "message"),
    [
        ({"items": (4, 10)}, "items 4: method 'joint' is cross-validated and needs 5 or more"),
        ({"anchor": "arc"}, "anchor 'arc': is for partial models, these are complete"),
    ],
)
def test_what_does_not_go_together(asked, message):
    with pytest.raises(InputError, match=message):
        HeldOutOptions(**asked)
